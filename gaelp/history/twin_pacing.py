"""How a platform spends a daily budget on average: it enters a share of auctions so that the money lasts the day.

A training market stops when the day's cap is spent. A platform slows down beforehand, spends more than the budget on
busy weekdays and less on others, and is right only on average. Which share of the budget it delivers is taken from the
calibration window (`SegmentEstimates.delivery`).
"""

import numpy as np

from gaelp.arrays import Floats, Floats32, Ints
from gaelp.market.calibration.segment_estimates import SegmentEstimates

__all__ = ["BudgetPacing"]

_MEMORY_HOURS = 6.0
_LOWEST_SHARE = 0.02  # of auctions, while money is left
_DAY_HOURS = 24
_TINY = 1e-9


class BudgetPacing:
    """The share of auctions that each of R x N campaigns may enter, hour by hour."""

    def __init__(self, estimates: SegmentEstimates, copies: int, start_hour_of_week: int, hours: int) -> None:
        week = np.tile(estimates.week, (copies, 1))
        self._activity = week[:, (start_hour_of_week + np.arange(hours)) % week.shape[1]].T  # (T, R x N)
        day = np.arange(hours) // _DAY_HOURS
        busy = np.stack([self._activity[day == each].mean(axis=0) for each in np.unique(day)])
        budget = np.tile(estimates.daily_budget_micros, copies)
        self._allowed_micros = busy * budget * estimates.delivery  # (D, R x N)
        self._spent_micros = np.zeros(len(budget))  # today
        self._hours = hours
        # Before anything is known, a campaign is taken to want what its budget allows.
        self._recent_activity = np.full(len(budget), _MEMORY_HOURS)
        self._recent_micros = self._recent_activity * np.minimum(budget, 1e15) / _DAY_HOURS

    def share(self, hour: int) -> Floats32:
        """Share of auctions to enter in the coming hour, (R x N,)."""
        if hour % _DAY_HOURS == 0:
            self._spent_micros[:] = 0.0
        day_end = min(hour - hour % _DAY_HOURS + _DAY_HOURS, self._hours)
        left_micros = np.maximum(self._allowed_micros[hour // _DAY_HOURS] - self._spent_micros, 0.0)
        wanted_micros = self._recent_micros / self._recent_activity * self._activity[hour:day_end].sum(axis=0)
        share = np.clip(left_micros / np.maximum(wanted_micros, _TINY), _LOWEST_SHARE, 1.0)
        return np.asarray(share, np.float32)

    def learn(self, hour: int, share: Floats32, cost_micros: Ints | Floats) -> None:
        """Take in what an hour cost, (R x N,), given the share of auctions that was entered."""
        self._spent_micros += cost_micros
        kept = np.exp(-1 / _MEMORY_HOURS)
        entered = np.asarray(share, np.float64) * self._activity[hour]
        self._recent_activity = kept * self._recent_activity + entered
        self._recent_micros = kept * self._recent_micros + cost_micros
