"""What the platform has reported so far: the numbers of each hour some hours late, and at first too high.

Without lag and revision a bidder sees the market's own state, and nothing here runs. With them it sees copies: each
hour is published `lag_hours` after its end. Invalid clicks and their cost are part of a report at first and are taken
back `revised_after_hours` after the hour in which they came. Budgets are charged for valid traffic only, so revision
changes what is seen, not what is bought.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats32, Ints, Ints32, Uints
from gaelp.market.compiled import compiled, inlined
from gaelp.market.random import keyed, poisson, uniform
from gaelp.market.spec import ReportSpec
from gaelp.market.state import MarketState
from gaelp.market.world import DAY_HOURS, World

__all__ = ["Reports"]

_INVALID = 12  # random stream
# What a bidder knows of its own doing is never late: bids, pace and creatives.
_REPORTED = (
    "left_micros",
    "day_left_micros",
    "impressions",
    "clicks",
    "conversions",
    "cost_micros",
    "in_market",
    "total_impressions",
    "total_clicks",
    "total_conversions",
    "total_cost_micros",
    "maturing_clicks",
    "exposure",
    "price_level_log",
    "price_signal_log",
    "creative_impressions",
    "creative_clicks",
)
_BLOCK = 64  # campaigns whose arrays stay in the processor's cache
_SAVED_AS = "reported_"


class _Invalid(NamedTuple):
    """Clicks and cost that are reported now and taken back later."""

    clicks: Ints32  # (R, N, S) by the hour in which they came
    cost_micros: Ints  # (R, N, S)
    open_clicks: Ints32  # (N, S) of all hours that are not yet revised
    open_cost_micros: Ints  # (N, S)
    day_cost_micros: Ints  # (N,) of the current day


class _Report(NamedTuple):
    """The parts of one hour's report that are revised later."""

    clicks: Ints32  # (N, S)
    cost_micros: Ints  # (N, S)
    total_clicks: Ints32  # (N, S)
    total_cost_micros: Ints  # (N, S)
    left_micros: Ints  # (N,)
    day_left_micros: Ints  # (N,)


class Reports:
    """The reports of N campaigns; `file` after each hour, `visible` for what is published."""

    def __init__(self, spec: ReportSpec, world: World, state: MarketState, price_profile_log: Floats32) -> None:
        self._lag, self._world, self._profile_log = spec.lag_hours, world, price_profile_log
        self._rows = {name: np.repeat(getattr(state, name)[None], spec.lag_hours + 1, axis=0) for name in _REPORTED}
        self._slots = [{name: rows[slot] for name, rows in self._rows.items()} for slot in range(spec.lag_hours + 1)]
        self._excess = spec.invalid_share / (1.0 - spec.invalid_share)  # invalid clicks for each valid one
        self._no_opportunities = np.zeros_like(state.opportunities)
        self._start_hour_of_day = world.start_hour_of_week % DAY_HOURS
        pair = state.clicks.shape
        revised = (spec.revised_after_hours if spec.invalid_share else 0, *pair)
        self._invalid = _Invalid(
            np.zeros(revised, np.int32),
            np.zeros(revised, np.int64),
            np.zeros(pair, np.int32),
            np.zeros(pair, np.int64),
            np.zeros(pair[0], np.int64),
        )
        computed = (*(_Report._fields if spec.invalid_share else ()), *(("price_level_log",) if spec.lag_hours else ()))
        self._copied = [name for name in _REPORTED if name not in computed]
        # Until the first report the price forecast follows the hour of day: slot 0 is read last, slot 1 first.
        for slot, rows in enumerate(self._slots):
            self._forecast(0, (slot - 1) % (spec.lag_hours + 1), state.price_level_log, rows["price_level_log"])

    def _forecast(self, first: int, last: int, level_log: Floats32, out: Floats32) -> None:
        """Move price levels as the mean log price moves between two hours since launch."""
        hour = np.arange(DAY_HOURS)
        change_log = self._profile_log[(hour + last) % DAY_HOURS] - self._profile_log[(hour + first) % DAY_HOURS]
        _add_by_hour(change_log, self._start_hour_of_day, level_log, out)

    def file(self, hour: int, state: MarketState) -> None:
        """Take in what hour `hour` brought; it is published `lag_hours` later."""
        hours_run = hour + 1
        rows = self._slots[hours_run % (self._lag + 1)]
        for name in self._copied:
            rows[name][...] = getattr(state, name)
        if len(self._invalid.clicks):
            valid = _Report(*(getattr(state, name) for name in _Report._fields))
            report = _Report(*(rows[name] for name in _Report._fields))
            _overstate(hour, self._world.key, self._excess, self._invalid, valid, report)
        if not self._lag:
            return
        read_at = hours_run + self._lag
        self._forecast(hours_run, read_at, state.price_level_log, rows["price_level_log"])
        if read_at // DAY_HOURS > hours_run // DAY_HOURS:  # by then it is another day, of which nothing is reported
            np.minimum(self._world.daily_cap_micros, rows["left_micros"], out=rows["day_left_micros"])

    def visible(self, hours_run: int) -> Mapping[str, npt.NDArray[np.generic]]:
        """The arrays published by now, by their name in an observation."""
        published = hours_run - self._lag
        opportunities = self._world.volume[published - 1] if published > 0 else self._no_opportunities
        return {**self._slots[published % (self._lag + 1)], "opportunities": opportunities}

    def save(self) -> dict[str, npt.NDArray[np.generic]]:
        """Everything needed to continue."""
        return {_SAVED_AS + name: array.copy() for name, array in self._arrays().items()}

    def restore(self, saved: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from `save`."""
        for name, array in self._arrays().items():
            array[:] = saved[_SAVED_AS + name]

    def _arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        invalid = {f"invalid_{name}": array for name, array in self._invalid._asdict().items()}
        return {**self._rows, **invalid}


@compiled
def _add_by_hour(change_log: Floats32, hour_of_day: Ints32, level_log: Floats32, out: Floats32) -> None:
    """Add to the levels of each campaign the change that its hour of day at launch has."""
    campaigns, segments = level_log.shape
    for n in range(campaigns):
        change = change_log[hour_of_day[n]]
        for s in range(segments):
            out[n, s] = level_log[n, s] + change


@compiled
def _overstate(hour: int, key: Uints, excess: float, invalid: _Invalid, valid: _Report, report: _Report) -> None:
    """Draw the invalid traffic of an hour in place of that of the hour revised now, and report all that is still open.

    Most segments have none, so copies and sums have loops of their own, over blocks that stay in the cache.
    """
    place, day_ends = hour % len(invalid.clicks), (hour + 1) % DAY_HOURS == 0
    campaigns, segments = valid.clicks.shape
    todo, day_cost_micros = np.empty(_BLOCK * segments, np.int64), invalid.day_cost_micros
    width = np.uint32(segments)  # 32 bits are divided faster than 64
    for first in range(0, campaigns, _BLOCK):
        last = min(first + _BLOCK, campaigns)
        came_clicks = invalid.clicks[place, first:last].reshape(-1)
        came_cost = invalid.cost_micros[place, first:last].reshape(-1)
        open_clicks, open_cost = (
            invalid.open_clicks[first:last].reshape(-1),
            invalid.open_cost_micros[first:last].reshape(-1),
        )
        clicks, cost_micros = valid.clicks[first:last].reshape(-1), valid.cost_micros[first:last].reshape(-1)
        seen_clicks, seen_cost = report.clicks[first:last].reshape(-1), report.cost_micros[first:last].reshape(-1)
        places = 0
        for i in range(len(clicks)):
            todo[places] = i
            places += (clicks[i] > 0) | (came_clicks[i] > 0)
        _copy(clicks, seen_clicks)
        _copy(cost_micros, seen_cost)
        for j in range(places):
            i = int(todo[j])
            row, segment = np.uint32(i) // width, np.uint32(i) % width
            n, more_clicks, more_cost = first + int(row), 0, 0
            mean, draw = excess * clicks[i], keyed(key[n], _INVALID, hour, int(segment))
            if uniform(draw) > 1.0 - mean:  # never more than the chance of none, and most draws end here
                more_clicks = poisson(mean, draw)
                more_cost = int(cost_micros[i] * (more_clicks / clicks[i]))
            open_clicks[i] += more_clicks - came_clicks[i]
            open_cost[i] += more_cost - came_cost[i]
            came_clicks[i], came_cost[i] = more_clicks, more_cost
            seen_clicks[i] += more_clicks
            seen_cost[i] += more_cost
            day_cost_micros[n] += more_cost
        _sum(valid.total_clicks[first:last].reshape(-1), open_clicks, report.total_clicks[first:last].reshape(-1))
        _sum(
            valid.total_cost_micros[first:last].reshape(-1), open_cost, report.total_cost_micros[first:last].reshape(-1)
        )
    for n in range(campaigns):
        still_open = 0
        for s in range(segments):
            still_open += invalid.open_cost_micros[n, s]
        if day_ends:
            invalid.day_cost_micros[n] = 0
        left = max(valid.left_micros[n] - still_open, 0)
        report.left_micros[n] = left
        report.day_left_micros[n] = min(max(valid.day_left_micros[n] - invalid.day_cost_micros[n], 0), left)


@inlined
def _copy(row: Ints | Ints32, out: Ints | Ints32) -> None:
    for i in range(len(row)):
        out[i] = row[i]


@inlined
def _sum(row: Ints | Ints32, more: Ints | Ints32, out: Ints | Ints32) -> None:
    for i in range(len(row)):
        out[i] = row[i] + more[i]
