"""The exchange: the same spec and calls give the same events, budgets hold, and reports say what happened."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from gaelp.errors import BadInput, DataError
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.exchange_events import ExchangeEvents, join_events
from gaelp.sandbox.serving import MaximizeConversions, ServedCampaign, ServedGroup, TargetCpa, TargetRoas
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec

DAY = 1440
SPEC = load_sandbox_spec()
BUSY = SPEC.model_copy(update={"searches": SPEC.searches.model_copy(update={"per_hour": 3000.0})})


def campaign(number: int = 1, product: str = "shop.example/shoes", **changes: object) -> ServedCampaign:
    bids = Exchange(SPEC).price_levels(product)
    groups = tuple(ServedGroup(number * 100 + topic, (topic,), int(1.35 * bids[topic])) for topic in range(8))
    served = ServedCampaign(
        id=number,
        account="1000000001",
        product=product,
        enabled=True,
        groups=groups,
        overdelivery=SPEC.overdelivery.google.limits(),
        daily_micros=25_000_000,
    )
    return replace(served, **changes)  # type: ignore[arg-type]


def serving(*campaigns: ServedCampaign, spec: SandboxSpec = SPEC) -> Exchange:
    exchange = Exchange(spec)
    for served in campaigns:
        exchange.serve(served)
    return exchange


def same(one: ExchangeEvents, other: ExchangeEvents) -> bool:
    """Whether two stretches of events are the same once the hours they share are summed."""
    return (
        np.array_equal(summed(one), summed(other))
        and np.array_equal(one.clicks, other.clicks)
        and np.array_equal(one.conversions, other.conversions)
        and np.array_equal(one.credits, other.credits)
    )


def summed(events: ExchangeEvents) -> np.ndarray:
    keys = events.hours[["hour_tick", "campaign", "group", "device"]]
    kinds, place = np.unique(keys, return_inverse=True)
    totals = np.zeros((len(kinds), 6), np.int64)
    measures = ("eligible", "impressions", "clicks", "cost_micros", "hides", "complaints")
    np.add.at(totals, place, np.stack([events.hours[name] for name in measures], 1))
    return totals


def spent(events: ExchangeEvents, number: int = 1) -> int:
    return int(events.clicks["cost_micros"][events.clicks["campaign"] == number].sum())


def test_time_may_be_advanced_in_any_steps():
    whole = serving(campaign()).advance(3 * DAY)
    stepwise = serving(campaign())
    parts = [stepwise.advance(tick) for tick in (1, 17, 60, 61, DAY - 1, DAY, DAY + 700, 2 * DAY, 3 * DAY)]
    assert len(whole.clicks) > 20
    assert same(whole, join_events(parts))


def test_a_snapshot_continues_where_it_was_taken_whatever_the_strategy():
    exchange = serving(campaign(), campaign(2, strategy=MaximizeConversions(), account="2"))
    exchange.advance(DAY + 333)
    restored = Exchange.restore(SPEC, exchange.snapshot())
    assert restored.snapshot() == exchange.snapshot()
    assert same(exchange.advance(3 * DAY), restored.advance(3 * DAY))
    assert exchange.bid_points(1, 101, [900_000], 0, DAY) == restored.bid_points(1, 101, [900_000], 0, DAY)


def test_a_snapshot_of_another_world_or_a_damaged_one_is_refused():
    data = serving(campaign()).snapshot()
    with pytest.raises(DataError, match="use that of the snapshot, or reset"):
        Exchange.restore(SPEC.model_copy(update={"seed": 2}), data)
    with pytest.raises(DataError, match="damaged"):
        Exchange.restore(SPEC, data[: len(data) // 2])


def test_other_products_do_not_change_a_campaign():
    alone = serving(campaign()).advance(2 * DAY)
    beside = serving(campaign(2, "shop.example/hats"), campaign(), campaign(3, "other.example")).advance(2 * DAY)
    tables = (beside.hours, beside.clicks, beside.conversions, beside.credits)
    assert same(alone, ExchangeEvents(*(rows[rows["campaign"] == 1] for rows in tables)))


def test_another_seed_is_another_world():
    other = serving(campaign(), spec=SPEC.model_copy(update={"seed": 2})).advance(DAY)
    assert not same(serving(campaign()).advance(DAY), other)


def test_a_change_holds_from_its_tick_on():
    exchange = serving(campaign(enabled=False), spec=BUSY)
    exchange.advance(DAY // 2 + 7)
    exchange.serve(campaign())
    assert exchange.advance(DAY // 2 + 17).hours["impressions"].sum() > 0
    exchange.serve(campaign(enabled=False))
    assert exchange.advance(DAY // 2 + 60).hours["impressions"].sum() == 0


def test_late_clicks_are_billed_after_a_pause_and_then_no_more():
    exchange = serving(campaign(daily_micros=10**9), spec=BUSY)
    exchange.advance(DAY - 600)
    exchange.serve(campaign(daily_micros=10**9, enabled=False))
    after = exchange.advance(DAY + 600)
    assert len(after.clicks) > 0
    assert after.hours["impressions"].sum() == 0
    assert after.clicks["tick"].max() <= DAY - 600 + SPEC.clicks.late_max_minutes
    assert len(exchange.advance(2 * DAY).clicks) == 0


def test_a_campaign_serves_from_its_first_to_its_last_day():
    days = {"first_day": date(2026, 9, 8), "last_day": date(2026, 9, 9)}  # the world begins on the 7th
    hours = serving(campaign(**days)).advance(5 * DAY).hours
    shown = hours["hour_tick"][hours["impressions"] > 0] // DAY
    assert set(shown) == {1, 2}


def test_a_total_budget_is_never_passed_and_is_spread_over_the_flight():
    flight = {"daily_micros": None, "total_micros": 60_000_000, "last_day": date(2026, 9, 10)}
    exchange = serving(campaign(**flight))
    by_day = [spent(exchange.advance(day * DAY)) for day in range(1, 7)]
    assert 50_000_000 < sum(by_day) <= 60_000_000
    assert max(by_day) < 30_000_000


def test_a_lowered_budget_limits_the_next_day_but_the_highest_of_the_day_limits_this_one():
    exchange = serving(campaign(daily_micros=40_000_000))
    first = spent(exchange.advance(DAY // 2))
    exchange.serve(campaign(daily_micros=1_000_000))
    rest = spent(exchange.advance(DAY))
    assert first > 5_000_000
    assert first + rest <= 2 * 40_000_000
    assert rest < 4_000_000, "the platform aims at the new budget"
    assert spent(exchange.advance(2 * DAY)) <= 2_000_000


def test_of_one_account_the_better_rank_enters_and_two_accounts_compete():
    weak = campaign(2, groups=tuple(ServedGroup(200 + t, (t,), 400_000) for t in range(8)))
    alone = serving(weak).advance(DAY).hours["impressions"].sum()
    strong = campaign(daily_micros=10**9)
    beside = serving(strong, weak).advance(DAY).hours
    assert alone > 100
    assert beside["impressions"][beside["campaign"] == 2].sum() == 0
    other = serving(strong, replace(weak, account="1000000002")).advance(DAY).hours
    assert other["impressions"][other["campaign"] == 2].sum() > 0


def test_the_arms_of_an_experiment_split_the_users():
    arms = [campaign(1, users_to=0.5), campaign(2, users_from=0.5)]
    hours = serving(*arms).advance(4 * DAY).hours
    eligible = [int(hours["eligible"][hours["campaign"] == arm].sum()) for arm in (1, 2)]
    whole = int(serving(campaign()).advance(4 * DAY).hours["eligible"].sum())
    assert sum(eligible) == whole
    assert 0.45 < eligible[0] / whole < 0.55


def test_bids_by_device_and_hour_apply():
    groups = tuple(
        replace(group, device_factors=(0.0, 1.0), hour_factors=(1.0,) * 12 + (0.0,) * 156)
        for group in campaign().groups
    )
    hours = serving(campaign(groups=groups)).advance(DAY).hours
    assert set(hours["device"]) == {1}
    assert hours["hour_tick"].max() == 11 * 60


def test_an_hour_that_the_clocks_repeat_is_two_hours_of_the_report():
    spec = SPEC.model_copy(update={"start": datetime(2026, 11, 1, 4, tzinfo=UTC)})  # midnight in New York
    hours = serving(campaign(), spec=spec).advance(25 * 60).hours
    assert len(set(hours["hour_tick"])) == 25


def test_the_same_bid_simulated_is_what_happened_if_the_budget_did_not_limit_it():
    exchange = serving(campaign(daily_micros=10**9))
    hours = exchange.advance(9 * DAY).hours
    window = hours[(hours["group"] == 103) & (hours["hour_tick"] >= DAY) & (hours["hour_tick"] < 8 * DAY)]
    before = exchange.snapshot()
    bid = campaign().groups[3].bid_micros
    low, same_bid, high = exchange.bid_points(1, 103, [bid // 2, bid, 2 * bid], DAY, 8 * DAY)
    assert (same_bid.impressions, same_bid.clicks, same_bid.cost_micros) == tuple(
        int(window[name].sum()) for name in ("impressions", "clicks", "cost_micros")
    )
    assert low.impressions < same_bid.impressions < high.impressions
    assert exchange.snapshot() == before, "a simulation changes nothing"


def test_bid_points_include_bids_changed_in_the_window():
    exchange = serving(campaign(daily_micros=10**9))
    exchange.advance(2 * DAY)
    exchange.serve(campaign(daily_micros=10**9, enabled=False))
    exchange.advance(8 * DAY)
    (point,) = exchange.bid_points(1, 103, [10**6], DAY, 8 * DAY)
    (day,) = exchange.bid_points(1, 103, [10**6], DAY, 2 * DAY)
    assert 0 < day.impressions == point.impressions


@pytest.mark.parametrize("strategy", [TargetCpa(18_000_000), TargetRoas(1.2), MaximizeConversions()])
def test_automated_bidding_spends_the_budget_without_manual_bids(strategy):
    groups = tuple(replace(group, bid_micros=0) for group in campaign().groups)
    events = serving(campaign(groups=groups, strategy=strategy)).advance(21 * DAY)
    assert 0.2 < spent(events) / (21 * 25_000_000) <= 2
    assert len(events.conversions) > 5


def test_a_campaign_keeps_what_it_spent_when_its_landing_page_changes():
    exchange = serving(campaign(daily_micros=None, total_micros=20_000_000, last_day=date(2026, 9, 8)))
    first = exchange.advance(DAY)
    groups = campaign(product="shop.example/hats").groups
    exchange.serve(
        campaign(
            product="shop.example/hats",
            groups=groups,
            daily_micros=None,
            total_micros=20_000_000,
            last_day=date(2026, 9, 8),
        )
    )
    second = exchange.advance(3 * DAY)
    assert spent(first) > 0 < spent(second)
    assert spent(first) + spent(second) <= 20_000_000
    assert Exchange.restore(SPEC, exchange.snapshot()).snapshot() == exchange.snapshot()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"daily_micros": None}, "has 0 budgets"),
        ({"daily_micros": -1}, "allowed: 0 to"),
        ({"users_from": 0.6, "users_to": 0.5}, "allowed: 0 to 1, rising"),
        ({"groups": (ServedGroup(1, (8,), 1),)}, "allowed: 0 to 7"),
        ({"groups": (ServedGroup(1, (0,), 1), ServedGroup(1, (1,), 1))}, "an id of its own"),
        ({"groups": (ServedGroup(1, (0,), 1, hour_factors=(1.0,)),)}, "168"),
        ({"strategy": TargetRoas(0.0)}, "allowed: 0.01"),
        ({"product": ""}, "landing page"),
    ],
)
def test_a_campaign_that_cannot_be_served_is_refused(changes, message):
    with pytest.raises(BadInput, match=message):
        serving(campaign(**changes))


def test_impossible_requests_are_refused():
    exchange = serving(campaign(), campaign(2, strategy=MaximizeConversions()))
    exchange.advance(DAY)
    with pytest.raises(BadInput, match="back to 5"):
        exchange.advance(5)
    with pytest.raises(BadInput, match="is not served"):
        exchange.bid_points(1, 999, [1], 0, DAY)
    with pytest.raises(BadInput, match="automated bidding"):
        exchange.bid_points(2, 201, [1], 0, DAY)
    with pytest.raises(BadInput, match="up to the current one"):
        exchange.bid_points(1, 101, [1], 0, 2 * DAY)
