"""What an impression is worth: empirical-Bayes click and conversion rates, from the market down to a segment."""

import numpy as np
import numpy.typing as npt
from pydantic import Field

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.market.baselines.forecasts import PriceLevelForecast
from gaelp.market.baselines.worth import prior_value_log
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["SignalWeights", "ValueParameters", "Values", "shrunken_rate"]


_INTENT_HOURS = 24
_KNOWN_PRIOR_SHARE = 0.05  # of the flight: what the market's average weighs beside the known values seen so far


class ValueParameters(Frozen):
    """How far rates are drawn towards the average; weights count clicks (or conversions) worth of evidence."""

    click_prior: float = Field(default=4.0, ge=0.5, le=12, description="of the campaign's rate, on a segment's clicks")
    conversion_prior: float = Field(default=3.0, ge=0.5, le=12, description="the same for conversions")
    campaign_prior: float = Field(default=8.0, ge=1, le=40, description="of the market's rates, on the campaign's")
    maturing_correction: float = Field(default=1.0, ge=0, le=1, description="share of the maturing clicks set aside")
    optimism: float = Field(default=0.2, ge=-0.8, le=2, description="standard deviations added to the log value")


class SignalWeights(Frozen):
    """What an informed rule knows about the market: how strongly value follows the hour and the price level."""

    daypart: float = Field(default=0.0, ge=0, le=1.5, description="log value per unit of the persona's intent")
    price: float = Field(default=0.0, ge=-0.5, le=2, description="log click rate expected per log price level")


class Values(KeptState):
    """Log micros an impression is worth, learned from the clicks and conversions of the campaigns it was begun with.

    A campaign's rate is drawn towards the market's, a segment's towards its campaign's (gamma-Poisson, two levels).
    With signals, a segment dearer than its campaign's mean is expected to be clicked more, and value follows the hour.
    Where values are known they are passed on. A belief from earlier campaigns is weighed with what this one shows, each
    by its precision.
    """

    _kept = ("levels", "known_sum", "known_weight", "belief_log", "belief_precision")

    def __init__(self, parameters: ValueParameters, signals: SignalWeights | None = None) -> None:
        self._parameters = parameters
        self._signals = signals or SignalWeights()

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Forget all campaigns but those of this brief, and remember what is believed of their segments."""
        self._brief = brief
        self._levels = PriceLevelForecast(brief)
        self._worth_log = np.log(brief.conversion_value_micros.astype(np.float64))[:, None]
        self._known_weight = _KNOWN_PRIOR_SHARE * brief.hours[:, None]
        self._known_sum = np.repeat(self._known_weight * np.exp(prior_value_log(brief)), brief.segments, axis=1)
        nothing = np.zeros(brief.persona.shape)
        self._belief_log = nothing if belief is None else np.asarray(belief.value_log, np.float64)
        self._belief_precision = nothing if belief is None else 1 / np.square(belief.value_log_sd, dtype=np.float64)

    def log_value(self, obs: Observation, /) -> tuple[Floats, Floats]:
        """Log micros an impression of the coming hour is worth and its standard deviation, (N, S); once an hour."""
        lasting_log, sd_log = self.lasting(obs)
        return self.at_hour(obs, lasting_log), sd_log

    def lasting(self, obs: Observation) -> tuple[Floats, Floats]:
        """The same for an hour of average intent: what to expect of the rest of the flight; once an hour."""
        if self._brief.values_known and obs.known_value_log is not None:
            return self._mean_known(obs.known_value_log), np.zeros(self._brief.persona.shape)
        value_log, sd_log = self._with_belief(*self._estimate(obs))
        return value_log + self._parameters.optimism * sd_log, sd_log

    def at_hour(self, obs: Observation, lasting_log: Floats) -> Floats:
        """A lasting value turned into that of the coming hour."""
        if self._brief.values_known and obs.known_value_log is not None:
            return np.asarray(obs.known_value_log, dtype=np.float64)
        if self._signals.daypart == 0.0:
            return lasting_log
        factor_log = self.daypart_log()[self._brief.persona, _intent_hour(self._brief, obs.hour)[:, None]]
        return np.asarray(lasting_log + factor_log, dtype=np.float64)

    def daypart_log(self) -> Floats:
        """Log factor on a persona's value by hour of day, (P, 24)."""
        return self._signals.daypart * self._brief.intent_log.astype(np.float64)

    def _mean_known(self, known_log: npt.NDArray[np.floating]) -> Floats:
        self._known_sum = self._known_sum + np.exp(known_log, dtype=np.float64)
        self._known_weight = self._known_weight + 1
        return np.asarray(np.log(self._known_sum / self._known_weight), dtype=np.float64)

    def _with_belief(self, value_log: Floats, sd_log: Floats) -> tuple[Floats, Floats]:
        """Weigh the estimate with the belief; without one it stays as it is, to the bit."""
        if not self._belief_precision.any():
            return value_log, sd_log
        own = 1 / sd_log**2
        precision = own + self._belief_precision
        return (own * value_log + self._belief_precision * self._belief_log) / precision, 1 / np.sqrt(precision)

    def _estimate(self, obs: Observation) -> tuple[Floats, Floats]:
        brief, given = self._brief, self._parameters
        clicks = obs.total_clicks.astype(np.float64)
        click_rate = shrunken_rate(
            clicks,
            obs.total_impressions.astype(np.float64),
            market_rate=brief.click_rate,
            weights=(given.campaign_prior, given.click_prior),
            expected=self._expected_by_price(obs),
        )
        mature = np.maximum(clicks - given.maturing_correction * obs.maturing_clicks, 0.0)
        conversions = obs.total_conversions.astype(np.float64)
        conversion_rate = shrunken_rate(
            conversions,
            mature,
            market_rate=brief.conversion_rate,
            weights=(given.campaign_prior, given.conversion_prior),
        )
        sd_log = np.sqrt(1 / (clicks + given.click_prior) + 1 / (conversions + given.conversion_prior))
        return np.log(click_rate * conversion_rate) + self._worth_log, sd_log

    def _expected_by_price(self, obs: Observation) -> Floats | float:
        if self._signals.price == 0.0:
            return 1.0
        _, usual_log = self._levels.update(obs)
        dearer_log = usual_log - usual_log.mean(axis=1, keepdims=True)
        return np.asarray(np.exp(self._signals.price * dearer_log), dtype=np.float64)


def shrunken_rate(
    events: Floats,
    trials: Floats,
    *,
    market_rate: float,
    weights: tuple[float, float],
    expected: Floats | float = 1.0,
) -> Floats:
    """Events per trial of each segment, (N, S), drawn towards its campaign's rate and that towards the market's.

    `weights` are the events that the market's rate and the campaign's rate count for; `expected` says by how much each
    segment's rate is thought to differ from its campaign's before anything was seen.
    """
    market_weight, campaign_weight = weights
    all_events = events.sum(axis=1, keepdims=True) + market_weight
    all_trials = (expected * trials).sum(axis=1, keepdims=True) + market_weight / market_rate
    prior = expected * (all_events / all_trials)
    return np.asarray((events + campaign_weight) / (trials + campaign_weight / prior), dtype=np.float64)


def _intent_hour(brief: Brief, hour: Ints) -> Ints:
    return brief.hour_of_day(hour) * _INTENT_HOURS // brief.hours_per_day
