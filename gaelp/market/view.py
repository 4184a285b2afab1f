"""What a bidder may know: the brief at launch and one observation an hour, the same for rules and agents.

| quantity                             | known at launch  | learned while running      | never told          |
|--------------------------------------|------------------|----------------------------|---------------------|
| budget, daily cap, conversion value  | exactly          |                            |                     |
| volume per segment and hour          | with an error    | last hour's opportunities  |                     |
| price level per segment              | with an error    | from win rates, hourly     | drift, jumps, pauses|
| shape of the price distribution      | the average one  |                            | each segment's own  |
| mean price by hour of day            | exactly          |                            |                     |
| click and conversion rates           | market averages  | clicks, late conversions   | each segment's own  |
| how value moves with hour and price  | personas' traits | by learning                | how strongly        |
| personas' activity by hour of week   | exactly          |                            |                     |
| what the personas make of a creative |                  | clicks by creative         | their affinities    |
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaelp.market.landscape import Landscapes

__all__ = ["Action", "Brief", "Observation", "Outcome"]

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Brief:
    """What the advertiser knows at launch; N campaigns, S segments, T hours (in replay: T auctions, S = 1)."""

    hours: int
    hours_per_day: int
    first_price: bool
    landscapes: Landscapes  # only its pooled row is public
    budget_micros: Ints  # (N,)
    daily_cap_micros: Ints  # (N,)
    conversion_value_micros: Ints  # (N,)
    click_rate: float  # market average
    conversion_rate: float  # market average
    delay_mean_hours: Singles  # (N, S); 0 where conversions are reported at once
    start_hour_of_week: npt.NDArray[np.int32]  # (N,)
    persona: npt.NDArray[np.int32]  # (N, S)
    persona_traits: Singles  # (P, F) public traits, see personas.TRAITS
    activity: Singles  # (P, 168) relative volume by hour of week, mean 1
    intent_log: Singles  # (P, 24) shape of conversion intent by hour, zero mean; only informed rules may use it
    price_profile_log: Singles  # (hours_per_day,) mean log price by hour of day
    volume_forecast: Singles  # (N, S) opportunities in an hour of average activity
    price_forecast_log: Singles  # (N, S) log micros, without the profile
    budget_share: Singles  # (N,) budget over the forecast cost of winning everything
    creatives: int
    values_known: bool

    @property
    def campaigns(self) -> int:
        """How many campaigns run side by side."""
        return len(self.budget_micros)

    @property
    def segments(self) -> int:
        """How many segments each campaign bids on."""
        return int(self.persona.shape[1])


@dataclass(slots=True)
class Observation:
    """What a bidder sees before it bids for hour `hour`; arrays are views into the market and change with it."""

    hour: int
    left_micros: Ints  # (N,) of the total budget
    day_left_micros: Ints  # (N,) of today's cap
    opportunities: Counts  # (N, S) last hour
    impressions: Counts  # (N, S) last hour
    clicks: Counts  # (N, S) last hour
    conversions: Counts  # (N, S) reported last hour
    cost_micros: Ints  # (N, S) last hour
    in_market: Singles  # (N,) share of the last hour before the money ran out
    total_impressions: Counts  # (N, S) since launch
    total_clicks: Counts  # (N, S)
    total_conversions: Counts  # (N, S) reported
    total_cost_micros: Ints  # (N, S)
    maturing_clicks: Singles  # (N, S) clicks whose conversion may still be reported, weighted by its chance
    exposure: Singles  # (N, S) recent impressions per member of the audience
    price_level_log: Singles  # (N, S) running estimate for this hour, log micros
    price_signal_log: Singles  # (N, S) last hour's estimate alone
    bid_log: Singles  # (N, S) last bid, log micros
    pace: Singles  # (N,) last pacing rate
    creative: npt.NDArray[np.int8]  # (N, S) last creative, -1 before the first
    creative_impressions: Counts  # (N, S, C) since launch
    creative_clicks: Counts  # (N, S, C) since launch
    known_value_log: Singles | Floats | None  # (N, S) log micros an impression is worth now, where values are known


@dataclass(frozen=True, slots=True)
class Action:
    """One decision for the coming hour."""

    bid_micros: Ints  # (N, S) an impression
    pace: Singles | None = None  # (N,) share of opportunities to enter, 0..1; None enters all
    creative: npt.NDArray[np.int8] | None = None  # (N, S) index; None serves creative 0


@dataclass(slots=True)
class Outcome:
    """What an hour brought; `value_micros` is expected value, which the reward counts."""

    value_micros: Floats  # (N, S)
    reward: Singles  # (N,) value over the hindsight optimum
    clipped: int  # action entries pulled back into bounds
    unsupported: npt.NDArray[np.bool_] | None = None  # (N, S) replay: bid above what the log can answer
