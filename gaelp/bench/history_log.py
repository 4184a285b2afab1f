"""A large synthetic log for `gaelp bench history`: segment-hours of campaign-days, with what every estimator needs."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.history.weights import normal_log_density, shifted_normal_weights

__all__ = ["HOURS", "HistoryLog", "draw_history"]

HOURS = 24
_SEGMENTS, _SD, _STATES = 4, 0.4, 6


@dataclass(frozen=True, slots=True)
class HistoryLog:
    """Arrays of shape (n,), in order of campaign-day, segment and hour, so that 24 rows are one segment's day."""

    action: Floats
    shift: Floats
    density: Floats
    weight: Floats
    clicks: Floats
    spend: Floats
    value: Floats
    model: Floats  # predicted value per click
    predicted: Floats  # value of the logged action
    predicted_target: Floats
    state: Ints  # tenths of the budget left, from 0
    cells: Ints
    clusters: Ints

    def first(self, count: int) -> "HistoryLog":
        """Only the first rows."""
        return HistoryLog(*(getattr(self, name)[:count] for name in self.__slots__))


def draw_history(rows: int, rng: np.random.Generator) -> HistoryLog:
    """Whole campaign-days of 96 decisions, at most `rows` in all."""
    days = rows // (_SEGMENTS * HOURS)
    count = days * _SEGMENTS * HOURS
    place = np.arange(count)
    clusters, segment, hour = place // (_SEGMENTS * HOURS), place // HOURS % _SEGMENTS, place % HOURS
    worth = np.array([3.0, 2.0, 1.5, 1.0])[segment]
    shift = np.log(np.array([1.4, 1.1, 0.9, 0.7]))[segment]
    action = _SD * rng.standard_normal(count)
    clicks = rng.poisson(1.5 * np.exp(0.8 * action)).astype(np.float64)
    return HistoryLog(
        action=action,
        shift=shift,
        density=np.exp(normal_log_density(action, 0.0, _SD)),
        weight=shifted_normal_weights(action, shift, sd=_SD),
        clicks=clicks,
        spend=clicks * np.exp(0.5 * action),
        value=25.0 * rng.poisson(clicks * worth / 25),
        model=1.1 * worth,
        predicted=1.5 * worth * np.exp(0.8 * action),
        predicted_target=1.5 * worth * np.exp(0.8 * shift + 0.8**2 * _SD**2 / 2),
        state=np.clip(_STATES - 1 - hour // 5 + rng.integers(-1, 2, count), 0, _STATES - 1),
        cells=clusters // 42 * _SEGMENTS + segment,
        clusters=clusters,
    )
