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
from gaelp.market.compiled import compiled
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
        self._excess = spec.invalid_share / (1.0 - spec.invalid_share)  # invalid clicks for each valid one
        self._no_opportunities = np.zeros_like(state.opportunities)
        pair = state.clicks.shape
        revised = (spec.revised_after_hours if spec.invalid_share else 0, *pair)
        self._invalid = _Invalid(
            np.zeros(revised, np.int32),
            np.zeros(revised, np.int64),
            np.zeros(pair, np.int32),
            np.zeros(pair, np.int64),
            np.zeros(pair[0], np.int64),
        )
        # Until the first report the price forecast follows the hour of day: slot 0 is read last, slot 1 first.
        for slot in range(spec.lag_hours + 1):
            self._rows["price_level_log"][slot] += self._profile_change_log(0, (slot - 1) % (spec.lag_hours + 1))

    def _profile_change_log(self, first: int, last: int) -> Floats32:
        """How the mean log price moves between two hours since launch, (N, 1)."""
        start = self._world.start_hour_of_week
        profile_log = self._profile_log
        return np.asarray(profile_log[(start + last) % DAY_HOURS] - profile_log[(start + first) % DAY_HOURS])[:, None]

    def file(self, hour: int, state: MarketState) -> None:
        """Take in what hour `hour` brought; it is published `lag_hours` later."""
        hours_run = hour + 1
        slot = hours_run % (self._lag + 1)
        for name in _REPORTED:
            self._rows[name][slot] = getattr(state, name)
        if len(self._invalid.clicks):
            report = _Report(*(self._rows[name][slot] for name in _Report._fields))
            _overstate(hour, self._world.key, self._excess, self._invalid, report)
        if not self._lag:
            return
        read_at = hours_run + self._lag
        self._rows["price_level_log"][slot] += self._profile_change_log(hours_run, read_at)
        if read_at // DAY_HOURS > hours_run // DAY_HOURS:  # by then it is another day, of which nothing is reported
            cap_micros, left_micros = self._world.daily_cap_micros, self._rows["left_micros"][slot]
            np.minimum(cap_micros, left_micros, out=self._rows["day_left_micros"][slot])

    def visible(self, hours_run: int) -> Mapping[str, npt.NDArray[np.generic]]:
        """The arrays published by now, by their name in an observation."""
        published = hours_run - self._lag
        opportunities = self._world.volume[published - 1] if published > 0 else self._no_opportunities
        return {name: rows[published % (self._lag + 1)] for name, rows in self._rows.items()} | {
            "opportunities": opportunities
        }

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
def _overstate(hour: int, key: Uints, excess: float, invalid: _Invalid, report: _Report) -> None:
    """Draw the invalid traffic of an hour in place of that of the hour revised now, and add all that is still open."""
    came_clicks, came_cost, open_clicks, open_cost, day_cost = invalid
    clicks, cost_micros, total_clicks, total_cost_micros, left_micros, day_left_micros = report
    place = hour % len(came_clicks)
    campaigns, segments = clicks.shape
    for n in range(campaigns):
        came, still_open = 0, 0
        for s in range(segments):
            if clicks[n, s] > 0 or came_clicks[place, n, s] > 0:
                more_clicks, more_cost = 0, 0
                mean, draw = excess * clicks[n, s], keyed(key[n], _INVALID, hour, s)
                if uniform(draw) > 1.0 - mean:  # never more than the chance of none, and most draws end here
                    more_clicks = poisson(mean, draw)
                    more_cost = int(cost_micros[n, s] * (more_clicks / clicks[n, s]))
                open_clicks[n, s] += more_clicks - came_clicks[place, n, s]
                open_cost[n, s] += more_cost - came_cost[place, n, s]
                came_clicks[place, n, s], came_cost[place, n, s] = more_clicks, more_cost
                clicks[n, s] += more_clicks
                cost_micros[n, s] += more_cost
                came += more_cost
            total_clicks[n, s] += open_clicks[n, s]
            total_cost_micros[n, s] += open_cost[n, s]
            still_open += open_cost[n, s]
        day_cost[n] = 0 if (hour + 1) % DAY_HOURS == 0 else day_cost[n] + came
        left_micros[n] = max(left_micros[n] - still_open, 0)
        day_left_micros[n] = min(max(day_left_micros[n] - day_cost[n], 0), left_micros[n])
