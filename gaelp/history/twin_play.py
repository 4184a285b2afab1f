"""Play the bids of a log in the twin and collect what they bring there, hour by hour."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints
from gaelp.history.twin_market import TwinMarket
from gaelp.history.twin_sales import TwinSales
from gaelp.history.twin_world import DAYS_MAX
from gaelp.history.window_figures import DAY_HOURS, WindowFigures
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action

__all__ = ["PlayedHours", "play_logged_bids"]


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
    sales = TwinSales(twin)
    nothing = np.zeros((campaigns, segments))
    for hour in range(twin.hours):
        bids = window.click_bid_micros[:, :, hour] if hour < hours else nothing
        sales.note()
        twin.step(Action(twin.impression_bids(bids)))
        if hour < hours:
            for name, array in played.items():
                array[..., hour] = getattr(twin.market.state, name).reshape(shape)
            sales.add(hour)
    value = np.stack([each.conversion_value_micros for each in draws])
    events = sales.events()
    events = events.some(events.hour + events.wait + 0.5 <= window.known_hours)
    copy, campaign = np.divmod(events.row, campaigns)
    conversions = np.zeros((*shape, hours), np.float32)
    np.add.at(conversions, (copy, campaign, events.segment, events.hour), events.count)
    conversions *= window.compared
    return PlayedHours(
        impressions=played["impressions"] * window.compared,
        clicks=played["clicks"] * window.compared,
        spend_micros=played["cost_micros"] * window.compared,
        conversions=conversions,
        value_micros=(conversions * value[:, :, None, None]).astype(np.float32),
        opportunities=played["opportunities"] * window.compared,
        delay_hours=np.repeat(events.wait + 0.5, events.count).astype(float),
        delay_copy=np.repeat(copy, events.count),
    )


def _played_days(window: WindowFigures) -> int:
    """The window, and the days on which its conversions could still be reported."""
    return min(max(window.days, int(window.known_hours // DAY_HOURS)), DAYS_MAX)
