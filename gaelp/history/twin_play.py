"""Play the bids of a log in the twin and collect what they bring there, hour by hour."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.history.twin_market import TwinMarket
from gaelp.history.twin_world import DAYS_MAX
from gaelp.history.window_figures import DAY_HOURS, WindowFigures
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action

__all__ = ["PlayedHours", "play_logged_bids"]

Waiting = npt.NDArray[np.int16]  # (hours, R x N, S) conversions by the hour of their report


@dataclass(frozen=True, slots=True)
class PlayedHours:
    """R copies of the window, each with a draw of the estimates of its own; hours without a report are 0."""

    impressions: Floats32  # (R, N, S, T) this and the next five
    clicks: Floats32
    spend_micros: Floats32
    conversions: Floats32  # by the hour of the click, as far as known when the log was read
    value_micros: Floats32
    opportunities: Floats32
    delay_hours: Floats  # (n,) from click to report, of the conversions that are known
    delay_copy: Ints  # (n,) which copy each belongs to

    @property
    def copies(self) -> int:
        """How often the window was played."""
        return len(self.impressions)


def play_logged_bids(
    window: WindowFigures,
    spec: MarketSpec,
    personas: PersonaTable,
    estimates: SegmentEstimates,
    draws: Sequence[SegmentEstimates],
    *,
    seed: int,
) -> PlayedHours:
    """The logging policy's own bids; nothing that they brought is read. Same seed and draws: same random numbers."""
    twin = TwinMarket(
        spec,
        personas,
        estimates,
        draws,
        days=_played_days(window),
        start_hour_of_week=window.start_hour_of_week,
        seed=seed,
    )
    campaigns, segments, hours = window.impressions.shape
    shape = (len(draws), campaigns, segments)
    names = ("impressions", "clicks", "cost_micros", "opportunities")
    played = {name: np.zeros((*shape, hours), np.float32) for name in names}
    sales = _Sales(shape, hours, window.known_hours)
    nothing = np.zeros((campaigns, segments))
    for hour in range(twin.hours):
        bids = window.click_bid_micros[:, :, hour] if hour < hours else nothing
        before = sales.before(twin)
        twin.step(Action(twin.impression_bids(bids)))
        if hour < hours:
            for name, array in played.items():
                array[..., hour] = getattr(twin.market.state, name).reshape(shape)
            sales.add(hour, twin, before)
    value = np.stack([each.conversion_value_micros for each in draws])
    conversions = sales.conversions * window.compared
    return PlayedHours(
        impressions=played["impressions"] * window.compared,
        clicks=played["clicks"] * window.compared,
        spend_micros=played["cost_micros"] * window.compared,
        conversions=conversions,
        value_micros=(conversions * value[:, :, None, None]).astype(np.float32),
        opportunities=played["opportunities"] * window.compared,
        delay_hours=np.concatenate(sales.delay),
        delay_copy=np.concatenate(sales.copy),
    )


def _played_days(window: WindowFigures) -> int:
    """The window, and the days on which its conversions could still be reported."""
    return min(max(window.days, int(window.known_hours // DAY_HOURS)), DAYS_MAX)


class _Sales:
    """Conversions by the hour of their click; the market's own state says when each is reported."""

    def __init__(self, shape: tuple[int, int, int], hours: int, known_hours: float) -> None:
        self.conversions = np.zeros((*shape, hours), np.float32)
        self.delay: list[Floats] = [np.empty(0)]
        self.copy: list[Ints] = [np.empty(0, np.int64)]
        self._shape, self._known_hours = shape, known_hours

    def before(self, twin: TwinMarket) -> tuple[Waiting, Ints32]:
        """What waits to be reported before an hour."""
        return twin.market.state.arriving.copy(), twin.market.state.pending.copy()

    def add(self, hour: int, twin: TwinMarket, before: tuple[Waiting, Ints32]) -> None:
        """Take in the conversions of an hour's clicks, from what waits after it and before it."""
        state, (waiting, pending) = twin.market.state, before
        row, segment = np.nonzero(state.pending - pending + state.conversions)
        new = state.arriving[:, row, segment].astype(np.int64) - waiting[:, row, segment]
        now = hour % len(waiting)
        new[now] = state.conversions[row, segment] - waiting[now, row, segment]  # what is due waits no longer
        slot, place = np.nonzero(new)
        wait, count = (slot - hour) % len(waiting), new[slot, place]
        known = hour + wait + 0.5 <= self._known_hours
        wait, count, row, segment = wait[known], count[known], row[place[known]], segment[place[known]]
        copy, campaign = np.divmod(row, self._shape[1])
        np.add.at(self.conversions[..., hour], (copy, campaign, segment), count)
        self.delay.append(np.repeat(wait + 0.5, count).astype(float))
        self.copy.append(np.repeat(copy, count))
