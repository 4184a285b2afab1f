"""Run a product's compiled loop over any stretch of ticks: day by day, with room made where it is short."""

import numpy as np

from gaelp.sandbox.auctions.account_calendar import AccountDay
from gaelp.sandbox.auctions.auction_loop import run_day
from gaelp.sandbox.auctions.exchange_arrays import ProductOutput, ProductState, new_output, with_room
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules
from gaelp.sandbox.auctions.product import ProductTraits
from gaelp.sandbox.exchange_events import HOUR_TOTAL, MEASURES, ExchangeEvents

__all__ = ["run_ticks"]

_ROWS = 512


def run_ticks(
    traits: ProductTraits,
    rules: ExchangeRules,
    state: ProductState,
    day: AccountDay,
    ticks: tuple[int, int],
) -> tuple[ProductState, list[ExchangeEvents], int]:
    """Run ticks of one day; returns the state after them, what happened in parts, and how many searches there were."""
    tick, last = ticks
    parts: list[ExchangeEvents] = []
    searches, rows = 0, _ROWS
    while tick < last:
        out = new_output(state, len(day.hours), rows)
        reached = run_day(traits, rules, state, day, (tick, last), out)
        if reached == tick:  # not even one tick fits
            rows *= 2
        if reached < last:
            state = with_room(state, campaigns=0, groups=0, late=2 * len(state.late), due=2 * len(state.due))
        parts.append(_events(state, day, out))
        searches += int(out.counts[3])
        tick = reached
    return state, parts, searches


def _events(state: ProductState, day: AccountDay, out: ProductOutput) -> ExchangeEvents:
    clicks, conversions, credited, _ = (int(count) for count in out.counts)
    return ExchangeEvents(
        _hour_rows(state, day, out), out.clicks[:clicks], out.conversions[:conversions], out.credits[:credited]
    )


def _hour_rows(state: ProductState, day: AccountDay, out: ProductOutput) -> np.ndarray:
    h, c, g, d = np.nonzero(out.hours.any(-1))
    rows = np.empty(len(h), HOUR_TOTAL)
    rows["hour_tick"], rows["device"] = day.ticks[h], d
    rows["campaign"], rows["group"] = state.campaigns["id"][c], state.groups["id"][c, g]
    for n, measure in enumerate(MEASURES):
        rows[measure] = out.hours[h, c, g, d, n]
    return rows
