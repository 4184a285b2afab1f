"""What an impression is worth next to the average one, and the bid that an amount of worth calls for."""

from typing import Protocol

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Brief, Observation
from gaelp.types import PolicyState, SegmentBelief

__all__ = ["AverageValue", "PriorValues", "ValueSource", "bid_for", "mean_price_micros", "prior_value_log"]

_ROUNDING = 1e-12

Real = Floats32 | Floats


class ValueSource(Protocol):
    """Estimates what an impression is worth; it learns from the observations of the campaigns it was begun with."""

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Start afresh with what is known at launch, and what is believed of the segments."""
        ...

    def log_value(self, obs: Observation, /) -> tuple[Real, Real]:
        """Log micros an impression is worth, and the standard deviation of that, both (N, S)."""
        ...

    def state(self) -> PolicyState:
        """What it has learned, one row a campaign."""
        ...

    def restore(self, state: PolicyState) -> None:
        """Put back what `state` returned."""
        ...


class PriorValues(KeptState):
    """Known values where the market gives them, else the market's average for every segment."""

    def begin(self, brief: Brief, _belief: SegmentBelief | None = None, /) -> None:
        """Remember the average."""
        self._prior_log = np.repeat(prior_value_log(brief), brief.segments, axis=1)

    def log_value(self, obs: Observation, /) -> tuple[Real, Real]:
        """Log micros an impression is worth, without any uncertainty."""
        value_log: Real = self._prior_log if obs.known_value_log is None else obs.known_value_log
        return value_log, np.zeros_like(value_log)


class AverageValue(KeptState):
    """What the average impression of each campaign is worth, so that values can be given relative to it.

    Fixed, that is the market's average known at launch. Learned, it is the mean over segments by forecast volume, as
    estimated now: a campaign all of whose segments are worth twice the market's average must not pay twice for that.
    A single segment is compared to its mean over the hours so far, where the market's average counts as a twentieth of
    the episode.
    """

    _PRIOR_SHARE = 0.05
    _kept = ("sum", "hours_counted")

    def __init__(self, brief: Brief, *, learned: bool) -> None:
        self._learned = learned
        self._prior_log = prior_value_log(brief)
        self._volume = brief.volume_forecast / brief.volume_forecast.sum(axis=1, keepdims=True, dtype=np.float64)
        self._hours_counted = self._PRIOR_SHARE * brief.hours[:, None]
        self._sum = self._hours_counted * np.exp(self._prior_log)

    def relative(self, value_log: Real) -> Floats:
        """Values over the average, (N, S); called once an hour."""
        if not self._learned:
            return np.exp(value_log - self._prior_log)
        value = np.exp(np.asarray(value_log, dtype=np.float64))
        return np.asarray(value / self._mean(value), dtype=np.float64)

    def _mean(self, value: Floats) -> Floats:
        if value.shape[1] > 1:
            return np.asarray((self._volume * value).sum(axis=1, keepdims=True), dtype=np.float64)
        self._sum = self._sum + value
        self._hours_counted = self._hours_counted + 1
        return self._sum / self._hours_counted


def prior_value_log(brief: Brief) -> Floats:
    """Log micros an average impression is worth to each campaign, (N, 1)."""
    chance = brief.click_rate * brief.conversion_rate
    return np.asarray(np.log(chance * brief.conversion_value_micros)[:, None], dtype=np.float64)


def mean_price_micros(brief: Brief, level_log: Real) -> Floats:
    """Mean price of each campaign's impressions, (N,), over segments of the given log price levels."""
    volume = brief.volume_forecast.astype(np.float64)
    return np.asarray((volume * np.exp(level_log)).sum(axis=1) / volume.sum(axis=1), dtype=np.float64)


def bid_for(brief: Brief, obs: Observation, worth_micros: Floats) -> Ints:
    """Whole micros to bid, (N, S): the worth itself with second prices, less with first prices."""
    if brief.first_price:
        worth_log = np.log(np.maximum(worth_micros, 1e-9)).astype(np.float32)
        shaded = np.exp(brief.landscapes.shaded_bid_log(worth_log, obs.price_level_log))
        worth_micros = np.where(worth_micros > 0, np.minimum(shaded, worth_micros), 0.0)
    # A whole amount that was carried as a logarithm may have come back a hair too small.
    return np.floor(worth_micros * (1.0 + _ROUNDING)).astype(np.int64)
