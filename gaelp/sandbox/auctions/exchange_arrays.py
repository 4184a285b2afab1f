"""The arrays of one product that compiled loops change: campaigns, rivals' spending, users' memory, what is pending."""

from typing import NamedTuple

import numpy as np

from gaelp.arrays import Bools, Floats, Floats32, Ints, Ints32
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.exchange_events import CLICK, CONVERSION, CREDIT, MEASURES, Rows
from gaelp.sandbox.topics import TOPICS

__all__ = [
    "CAMPAIGN",
    "CLOCK",
    "DAYPARTS",
    "DUE",
    "GROUP",
    "LATE",
    "NO_LIMIT",
    "UNPLANNED",
    "ProductOutput",
    "ProductState",
    "new_output",
    "new_state",
    "with_room",
]

NO_LIMIT = -1  # of a budget
UNPLANNED = -1  # an aim after a change of the campaign
_NOT_BEGUN = -(2**62)  # before any tick
DAYPARTS = 6
_I, _F = np.int64, np.float64

CLOCK = np.dtype(
    [
        ("day", _I),  # ordinal of the account's day
        ("hour_tick", _I),  # when its hour began
        ("price_log", _F),  # today's shock of rivals' bids
        ("size", _F),  # of the day, in searches relative to an ordinary day
        ("searches_today", _I),
        ("searches_hour", _I),
        ("expected_today", _F),  # searches until the current hour on an ordinary day
        ("late", _I),  # how many late clicks are pending
        ("due", _I),  # how many conversions are not reported yet
    ]
)
CAMPAIGN = np.dtype(
    [
        ("id", _I),
        ("account", _I),
        ("enabled", _I),
        ("daily", _I),  # micros, or NO_LIMIT
        ("total", _I),  # likewise
        ("first_day", _I),  # ordinals
        ("last_day", _I),
        ("day_percent", _I),
        ("monthly", _I),  # 1: the period is a month, 0: a week
        ("period_percent", _I),
        ("strategy", _I),
        ("goal", _F),  # target CPA in micros, or target value per cost
        ("users_from", _F),
        ("users_to", _F),
        ("groups", _I),
        # what happened, in micros; the budgets are the highest that held on this day and in this period
        ("day", _I),
        ("day_budget", _I),
        ("spent_day", _I),
        ("period", _I),
        ("period_budget", _I),
        ("spent_period", _I),
        ("spent_total", _I),
        ("entitled_day", _I),  # the last day whose share of the period's budget was added
        ("entitled", _F),  # micros of the period up to and including that day
        # pacing
        ("aim", _I),  # what to spend today, or UNPLANNED
        ("pace", _F),  # share of auctions entered
        ("spent_hour", _I),
        ("rate_cost", _F),  # recent cost, and the searches entered for it
        ("rate_searches", _F),
        # automated bidding
        ("margin", _F),
        ("recent_cost", _F),
        ("recent_worth", _F),  # what that cost should have bought at the goal, by the learned rates
        # truth, for measurements: expected value of the billed clicks
        ("expected_value", _F),
    ]
)
GROUP = np.dtype([("id", _I), ("bid", _I), ("appeal", _F)])
LATE = np.dtype(
    [
        ("tick", _I),
        ("campaign", _I),
        ("group", _I),
        ("device", _I),
        ("topic", _I),
        ("price", _I),
        ("chance", _F),
        ("word", np.uint64),
    ]
)
DUE = np.dtype([("tick", _I), ("campaign", _I), ("group", _I), ("device", _I), ("daypart", _I), ("value", _I)])


class ProductState(NamedTuple):
    """C campaigns with up to G groups, R rivals, N users, T topics; all of it is in a snapshot."""

    clock: Rows  # (1,) of CLOCK
    campaigns: Rows  # (C,) of CAMPAIGN
    groups: Rows  # (C, G) of GROUP
    reach: Bools  # (C, G, T)
    device_factor: Floats  # (C, G, 2)
    hour_factor: Floats  # (C, G, 168)
    evidence: Floats  # (C, G, 2, 5): clicks, of those with fast and slow conversions to come, conversions, value
    dayparts: Floats  # (C, 6, 4): clicks, with fast and slow conversions to come, conversions
    hour_clicks: Ints  # (C, G, 2) of the current hour
    rates: Floats  # (C, G, 2) worth of a click as learned, in micros
    rival_spent: Ints  # (R,) micros today
    rival_pace: Floats  # (R,)
    views: Floats32  # (N,) of the product's adverts, not yet forgotten
    viewed: Ints32  # (N,) tick of the last view
    late: Rows  # of LATE
    due: Rows  # of DUE


class ProductOutput(NamedTuple):
    """What one run of the loop adds; counts are the rows used of clicks, conversions and credits, and searches."""

    hours: Ints  # (H, C, G, 2, measures)
    clicks: Rows
    conversions: Rows
    credits: Rows
    counts: Ints  # (4,)


def new_state(traits: ProductTraits, users: int) -> ProductState:
    """A product without campaigns, whose users have seen nothing."""
    rivals = len(traits.rival_budget)
    clock = np.zeros(1, CLOCK)
    clock["hour_tick"] = _NOT_BEGUN
    return ProductState(
        clock=clock,
        campaigns=np.zeros(0, CAMPAIGN),
        groups=np.zeros((0, 0), GROUP),
        reach=np.zeros((0, 0, TOPICS), np.bool_),
        device_factor=np.ones((0, 0, 2)),
        hour_factor=np.ones((0, 0, 168)),
        evidence=np.zeros((0, 0, 2, 5)),
        dayparts=np.zeros((0, DAYPARTS, 4)),
        hour_clicks=np.zeros((0, 0, 2), np.int64),
        rates=np.zeros((0, 0, 2)),
        rival_spent=np.zeros(rivals, np.int64),
        rival_pace=np.ones(rivals),
        views=np.zeros(users, np.float32),
        viewed=np.zeros(users, np.int32),
        late=np.zeros(64, LATE),
        due=np.zeros(64, DUE),
    )


def with_room(state: ProductState, *, campaigns: int, groups: int, late: int, due: int) -> ProductState:
    """The same state with arrays of at least these sizes; new places are empty."""
    wanted = {name: list(array.shape) for name, array in state._asdict().items()}
    for name in ("campaigns", "groups", "reach", "device_factor", "hour_factor", "evidence", "hour_clicks", "rates"):
        wanted[name][0] = max(campaigns, wanted[name][0])
        if name != "campaigns":
            wanted[name][1] = max(groups, wanted[name][1])
    wanted["dayparts"][0] = max(campaigns, wanted["dayparts"][0])
    wanted["late"][0] = max(late, wanted["late"][0])
    wanted["due"][0] = max(due, wanted["due"][0])
    return ProductState(**{name: _padded(array, tuple(wanted[name])) for name, array in state._asdict().items()})


def _padded(array: Rows, shape: tuple[int, ...]) -> Rows:
    if array.shape == shape:
        return array
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(size) for size in array.shape)] = array
    return larger


def new_output(state: ProductState, hours: int, rows: int) -> ProductOutput:
    """Room for a day."""
    return ProductOutput(
        hours=np.zeros((hours, *state.groups.shape, 2, len(MEASURES)), np.int64),
        clicks=np.zeros(rows, CLICK),
        conversions=np.zeros(rows, CONVERSION),
        credits=np.zeros(rows, CREDIT),
        counts=np.zeros(4, np.int64),
    )
