"""What the rest of the flight will look like: price levels and volumes by hour, corrected by what was seen."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.market.policy_state import KeptState
from gaelp.market.view import Brief, Observation

__all__ = ["Calendar", "PriceLevelForecast", "VolumeForecast", "calendar_by_intent", "calendar_by_price"]


_WEEK_HOURS = 168
_DAY_PARTS = 24
_PRICE_BINS = 6
_FIRST_WEIGHT, _LAST_WEIGHT = 4.0, 24.0  # hours that the usual price level looks back on: at launch, and at most


class PriceLevelForecast(KeptState):
    """Log price level of every segment without the hour of day, (N, S): the newest estimate and the usual one."""

    _kept = ("usual_log", "weight")

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._usual_log = brief.price_forecast_log.astype(np.float64)
        self._weight = np.full(brief.campaigns, _FIRST_WEIGHT)

    def update(self, obs: Observation) -> tuple[Floats, Floats]:
        """Take in the newest estimates; returns them and the usual levels. Call it once an hour."""
        profile_log = self._brief.price_profile_log[self._brief.hour_of_day(obs.hour)]
        now_log = obs.price_level_log.astype(np.float64) - profile_log[:, None]
        started = obs.hour > 0
        self._weight = np.where(started, np.minimum(self._weight + 1.0, _LAST_WEIGHT), self._weight)
        moved_log = self._usual_log + (now_log - self._usual_log) / self._weight[:, None]
        self._usual_log = np.where(started[:, None], moved_log, self._usual_log)
        return now_log, self._usual_log


class VolumeForecast(KeptState):
    """Opportunities of every segment in an hour of average activity, (N, S): the forecast, corrected by what came."""

    _kept = ("seen", "activity")

    def __init__(self, brief: Brief, prior_hours: float) -> None:
        """`prior_hours` is how many hours of observation the forecast at launch is worth."""
        self._brief = brief
        self._seen = prior_hours * brief.volume_forecast.astype(np.float64)
        self._activity = np.full(brief.persona.shape, float(prior_hours))

    def update(self, obs: Observation) -> Floats:
        """Take in the last hour's opportunities; returns the corrected forecast. Call it once an hour."""
        reported = obs.hour - 1 - self._brief.report_lag_hours
        hour_of_week = (self._brief.start_hour_of_week + reported) % _WEEK_HOURS
        started = (reported >= 0)[:, None]
        self._activity = self._activity + self._brief.activity[self._brief.persona, hour_of_week[:, None]] * started
        self._seen = self._seen + obs.opportunities * started
        return np.asarray(self._seen / self._activity, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Activity summed over time, so that what any span of hours holds is one subtraction.

    Time runs from the Monday before launch, so that campaigns which start at different hours share the table. Hours of
    day that are alike fall into one of J bins, each with its log price.
    """

    cumulative: Floats  # (P, J, H + 1) activity before each hour
    price_log: Floats  # (J,) of the bin's hours
    bin_of_hour: Ints  # (hours_per_day,)


def calendar_by_price(brief: Brief, bins: int = _PRICE_BINS) -> Calendar:
    """Hours of day binned by their mean price: enough where nothing else sets hours apart."""
    levels = np.unique(brief.price_profile_log)
    edges = (
        np.quantile(brief.price_profile_log, np.linspace(0, 1, bins + 1)[1:-1]) if len(levels) > bins else levels[1:]
    )
    return _calendar(brief, np.searchsorted(edges, brief.price_profile_log, side="right"))


def calendar_by_intent(brief: Brief) -> Calendar:
    """Hours of day, which differ in personas' intent: 24 parts of the day."""
    return _calendar(brief, np.arange(brief.hours_per_day) * _DAY_PARTS // brief.hours_per_day)


def _calendar(brief: Brief, bin_of_hour: Ints) -> Calendar:
    used, bin_of_hour = np.unique(bin_of_hour, return_inverse=True)
    hours = np.arange(int((brief.start_hour_of_week + brief.hours).max()))
    in_bin = bin_of_hour[hours % brief.hours_per_day] == np.arange(len(used))[:, None]
    activity = brief.activity[:, None, hours % _WEEK_HOURS] * in_bin
    cumulative = np.zeros((*activity.shape[:2], len(hours) + 1))
    np.cumsum(activity, axis=2, out=cumulative[:, :, 1:])
    counts = np.bincount(bin_of_hour)
    return Calendar(
        cumulative=cumulative,
        price_log=np.bincount(bin_of_hour, weights=brief.price_profile_log) / counts,
        bin_of_hour=bin_of_hour,
    )
