"""What a bidder may know: the brief at launch and one observation an hour, the same for rules and agents.

| quantity                             | known at launch  | learned while running      | never given         |
|--------------------------------------|------------------|----------------------------|---------------------|
| budget, daily cap, conversion value  | exactly          |                            |                     |
| volume per segment and hour          | with an error    | last hour's opportunities  |                     |
| price level per segment              | with an error    | from win rates, hourly     | drift, jumps, pauses|
| shape of the price distribution      | the average one  |                            | each segment's own  |
| mean price by hour of day            | exactly          |                            |                     |
| click and conversion rates           | market averages  | clicks, late conversions   | each segment's own  |
| how value moves with hour and price  | personas' traits | by learning                | how strongly        |
| personas' activity by hour of week   | exactly          |                            |                     |
| lag of reports, mean delay           | exactly          |                            | share taken back    |
| what the personas make of a creative |                  | clicks by creative         | their affinities    |
"""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Floats32, Ints, Ints8, Ints32
from gaelp.config.objective import VALUE, Objective
from gaelp.market.landscape import Landscapes

__all__ = ["Action", "Brief", "Observation", "Outcome"]


@dataclass(frozen=True, slots=True)
class Brief:
    """What the advertiser knows at launch; N campaigns, S segments (in replay: hours are auctions, S = 1)."""

    hours: Ints  # (N,) length of the flight
    hours_per_day: int
    first_price: bool
    landscapes: Landscapes  # only its pooled row is public
    budget_micros: Ints  # (N,)
    daily_cap_micros: Ints  # (N,)
    conversion_value_micros: Ints  # (N,)
    click_rate: float  # market average
    conversion_rate: float  # market average
    delay_mean_hours: Floats32  # (N, S); 0 where conversions are reported at once
    start_hour_of_week: Ints32  # (N,)
    persona: Ints32  # (N, S)
    persona_traits: Floats32  # (P, F) public traits, see personas.TRAITS
    activity: Floats32  # (P, 168) relative volume by hour of week, mean 1
    intent_log: Floats32  # (P, 24) shape of conversion intent by hour, zero mean; only informed rules may use it
    price_profile_log: Floats32  # (hours_per_day,) mean log price by hour of day
    volume_forecast: Floats32  # (N, S) opportunities in an hour of average activity
    price_forecast_log: Floats32  # (N, S) log micros, without the profile
    budget_share: Floats32  # (N,) budget over the forecast cost of winning everything
    creatives: int
    values_known: bool
    objective: Objective = VALUE
    report_lag_hours: int = 0  # an hour is reported so many hours after its end

    @property
    def campaigns(self) -> int:
        """How many campaigns run side by side."""
        return len(self.budget_micros)

    def hour_of_day(self, hour: Ints | int) -> Ints:
        """Hour of day, (N,) or (..., N), so many hours after launch."""
        return np.asarray((self.start_hour_of_week + hour) % self.hours_per_day, dtype=np.int64)

    @property
    def segments(self) -> int:
        """How many segments each campaign bids on."""
        return int(self.persona.shape[1])


@dataclass(slots=True)
class Observation:
    """What a bidder sees before it bids for the coming hour; arrays are views into the market and change with it."""

    hour: Ints  # (N,) hours since launch, 0 before the first
    left_micros: Ints  # (N,) of the total budget
    day_left_micros: Ints  # (N,) of today's cap
    opportunities: Ints32  # (N, S) last hour
    impressions: Ints32  # (N, S) last hour
    clicks: Ints32  # (N, S) last hour
    conversions: Ints32  # (N, S) reported last hour
    cost_micros: Ints  # (N, S) last hour
    in_market: Floats32  # (N,) share of the last hour before the money ran out
    total_impressions: Ints32  # (N, S) since launch
    total_clicks: Ints32  # (N, S)
    total_conversions: Ints32  # (N, S) reported
    total_cost_micros: Ints  # (N, S)
    maturing_clicks: Floats32  # (N, S) clicks whose conversion may still be reported, weighted by its chance
    exposure: Floats32  # (N, S) recent impressions per member of the audience
    price_level_log: Floats32  # (N, S) running estimate for this hour, log micros
    price_signal_log: Floats32  # (N, S) last hour's estimate alone
    bid_log: Floats32  # (N, S) last bid, log micros
    pace: Floats32  # (N,) last pacing rate
    creative: Ints8  # (N, S) last creative, -1 before the first
    creative_impressions: Ints32  # (N, S, C) since launch
    creative_clicks: Ints32  # (N, S, C) since launch
    known_value_log: Floats32 | Floats | None  # (N, S) log micros an impression is worth now, where values are known


@dataclass(frozen=True, slots=True)
class Action:
    """One decision for the coming hour."""

    bid_micros: Ints  # (N, S) an impression
    pace: Floats32 | None = None  # (N,) share of opportunities to enter, 0..1; None enters all
    creative: Ints8 | None = None  # (N, S) index; None serves creative 0


@dataclass(slots=True)
class Outcome:
    """What an hour brought; `value_micros` is expected value, which the reward counts."""

    value_micros: Floats  # (N, S)
    reward: Floats32  # (N,) what the objective counts over the hindsight optimum, see reward.py
    clipped: int  # action entries pulled back into bounds
    unsupported: Bools | None = None  # (N, S) replay: bid above what the log can answer
