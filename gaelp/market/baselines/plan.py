"""How much of the budget each hour should spend: in proportion to the volume it is forecast to hold."""

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.market.baselines.forecasts import calendar_by_price
from gaelp.market.campaign_rows import rows_by_value, take
from gaelp.market.compiled import compiled
from gaelp.market.view import Brief, Observation

__all__ = ["SpendPlan", "day_end", "day_left_micros"]


_LEAST_SHARE = 1e-9
_NO_VOLUME = 1e-300


class SpendPlan:
    """Share of the budget planned before each hour, (longest flight + 1, N), from 0 to 1.

    An hour's share is its forecast volume x exp(price_response x log price of the hour): a negative response saves
    money for cheap hours. What a day's cap does not allow is planned for the other days.
    """

    def __init__(self, brief: Brief, price_response: float) -> None:
        self._brief = brief
        self._rows = np.arange(brief.campaigns)
        self.before = np.empty((int(brief.hours.max()) + 1, brief.campaigns))
        for hours, rows in rows_by_value(brief.hours):
            shares = _planned_shares(take(brief, rows), hours, price_response)
            self.before[: hours + 1, rows] = shares
            self.before[hours + 1 :, rows] = shares[-1]

    def share_before(self, hour: Ints) -> Floats:
        """Share of the budget planned before each campaign's hour, (N,)."""
        return self.before[hour, self._rows]

    def share(self, hour: Ints) -> Floats:
        """Share of the budget planned for this hour, (N,)."""
        return self._planned(hour, hour + 1)

    def rest(self, hour: Ints) -> Floats:
        """Share planned from this hour on, (N,)."""
        return self._planned(hour, self._brief.hours)

    def rest_of_day(self, hour: Ints) -> Floats:
        """Share planned from this hour to the end of its day, (N,)."""
        return self._planned(hour, day_end(self._brief, hour))

    def _planned(self, first: Ints, last: Ints) -> Floats:
        planned = self.share_before(last) - self.share_before(first)
        return np.asarray(np.maximum(planned, _LEAST_SHARE), dtype=np.float64)

    def target_micros(self, obs: Observation) -> Floats:
        """What to spend in the coming hour so that neither the budget nor today's cap runs out early, (N,)."""
        share = self.share(obs.hour)
        of_budget = obs.left_micros * share / self.rest(obs.hour)
        of_day = day_left_micros(self._brief, obs) * share / self.rest_of_day(obs.hour)
        return np.minimum(of_budget, of_day)


def _planned_shares(brief: Brief, hours: int, price_response: float) -> Floats:
    """Share planned before each hour, (T + 1, N), for flights of the same length."""
    calendar = calendar_by_price(brief)
    weight = np.exp(price_response * calendar.price_log)
    by_persona = np.einsum("pjh,j->ph", calendar.cumulative, weight)
    before = _planned_before(by_persona, brief.persona, brief.start_hour_of_week, brief.volume_forecast, hours)
    return _within_caps(brief, hours, before)


@compiled
def _planned_before(cumulative: Floats, persona: Ints32, start: Ints32, volume: Floats32, hours: int) -> Floats:
    campaigns, segments = persona.shape
    planned = np.zeros((hours + 1, campaigns))
    for n in range(campaigns):
        for s in range(segments):
            row = cumulative[persona[n, s], start[n] :]
            for t in range(1, hours + 1):
                planned[t, n] += volume[n, s] * (row[t] - row[0])
        planned[:, n] /= max(planned[hours, n], _NO_VOLUME)
    return planned


def _within_caps(brief: Brief, hours: int, before: Floats) -> Floats:
    """Fill the days up to their caps like communicating vessels, leaving the proportions within each day."""
    first_hours = np.arange(0, hours, brief.hours_per_day)
    planned = np.add.reduceat(np.diff(before, axis=0), first_hours, axis=0)
    cap = brief.daily_cap_micros / brief.budget_micros
    filled = planned
    for _ in first_hours:
        open_share = _over_days(np.where(filled < cap, filled, 0.0))
        missing = 1.0 - _over_days(np.minimum(filled, cap))
        factor = 1.0 + np.divide(missing, open_share, out=np.zeros_like(missing), where=open_share > 0.0)
        filled = np.where(filled < cap, filled * factor, cap)
    scale = np.divide(np.minimum(filled, cap), planned, out=np.ones_like(planned), where=planned > 0.0)
    by_hour = np.diff(before, axis=0) * np.repeat(scale, brief.hours_per_day, axis=0)[:hours]
    return np.concatenate([before[:1], np.cumsum(by_hour, axis=0)])


def _over_days(shares: Floats) -> Floats:
    """Sums over the first axis, term by term: numpy's `sum` rounds those of a single campaign in another order."""
    return np.asarray(np.cumsum(shares, axis=0)[-1], dtype=np.float64)


def day_end(brief: Brief, hour: Ints) -> Ints:
    """First hour after the day to which each campaign's hour belongs, or the end of the flight, (N,)."""
    return np.minimum((hour // brief.hours_per_day + 1) * brief.hours_per_day, brief.hours)


def day_left_micros(brief: Brief, obs: Observation) -> Ints:
    """What today's cap still allows, (N,); in a day's first hour the observation is still that of the day before."""
    first_hour = obs.hour % brief.hours_per_day == 0
    return np.minimum(np.where(first_hour, brief.daily_cap_micros, obs.day_left_micros), obs.left_micros)
