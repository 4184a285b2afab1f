"""How much log gate 2 needs: weeks until a true lift is shown, by how much logged bids vary, and what that costs.

Errors are measured on the given log, for a policy that bids as far from the logged one as it is judged, up or down.
They are those of realised value alone: the model of a click's value that makes them smaller may turn out not to hold.
They shrink with the square root of the weeks. With another spread of bids they change with the effective share of the
sample, exp(-(shift / spread)^2) for a shifted normal factor.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.intervals import student_interval
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import LiftOptions, LoggedPolicy, logging_sd, policy_lift
from gaelp.history.value_per_dollar import lift_of, logged_dollars, realised_dollars
from gaelp.history.weights import normal_log_density

__all__ = ["LogPlan", "SpreadPlan", "plan_log"]

SPREADS = (0.2, 0.3, 0.4, 0.5)
LIFTS = (0.1, 0.15, 0.2, 0.3)
_POWER = 0.8
_NARROWER = 0.7  # of the log's own spread: from there, costs are extrapolated
_DAYS_A_WEEK = 7


class SpreadPlan(Frozen):
    """What one spread of bids would need and cost."""

    bid_log_sd: float
    weeks: tuple[float, ...]  # for each of the plan's lifts
    cost: float  # share of value per dollar that the random factor costs, against bids without it


class LogPlan(Frozen):
    """Weeks of a log like this one until gate 2 shows a true lift, four times in five."""

    campaigns: int
    days: int
    own_spread: float
    standard_error: float  # of the log of the lift, on the given days
    confidence: float
    reach: float
    lifts: tuple[float, ...]
    spreads: tuple[SpreadPlan, ...]


def plan_log(
    logged: LoggedDecisions,
    rng: np.random.Generator,
    *,
    reach: float,
    confidence: float,
    lifts: Sequence[float] = LIFTS,
) -> LogPlan:
    """Measure the error of a lift on a log and say how much of such a log would settle the gate."""
    own = logging_sd(logged)
    shift = math.log(reach)
    error = _error(logged, shift, rng)
    days = len(np.unique(logged.account_day))
    wanted = float(stats.norm.ppf(0.5 + confidence / 2) + stats.norm.ppf(_POWER))
    cost = _cost(logged, own)
    spreads = []
    for spread in SPREADS:
        worse = math.exp(0.5 * (shift / spread) ** 2 - 0.5 * (shift / own) ** 2)  # of the error, by effective sample
        weeks = [days / _DAYS_A_WEEK * (wanted * error * worse / math.log1p(lift)) ** 2 for lift in lifts]
        spreads.append(SpreadPlan(bid_log_sd=spread, weeks=tuple(weeks), cost=cost * (spread / own) ** 2))
    return LogPlan(
        campaigns=len(np.unique(logged.campaign)),
        days=days,
        own_spread=own,
        standard_error=error,
        confidence=confidence,
        reach=reach,
        lifts=tuple(lifts),
        spreads=tuple(spreads),
    )


def _error(logged: LoggedDecisions, shift: float, rng: np.random.Generator) -> float:
    """Standard error of log(1 + lift): the mean of a policy at the upper and one at the lower end of the reach."""
    everywhere = np.ones(len(logged), bool)
    errors = []
    for sign in (-1.0, 1.0):
        policy = LoggedPolicy("at the end of the reach", np.full(len(logged), sign * shift), everywhere)
        report = policy_lift(logged, policy, rng, LiftOptions(replicates=100)).realised
        if report.lift is None or report.lift_lower is None or report.lift_upper is None:
            raise DataError(f"the log is too small to plan with: {'; '.join(report.inconclusive)}")
        width = math.log1p(report.lift_upper) - math.log1p(report.lift_lower)
        errors.append(width / (2 * float(stats.norm.ppf(0.975))))
    return float(np.mean(errors))


def _cost(logged: LoggedDecisions, own: float) -> float:
    """Share of value per dollar that a random factor of the log's own spread costs; not below 0.

    Value per dollar with a narrower factor is estimated by weights; the cost grows with the square of the spread.
    """
    narrow = _NARROWER * own
    weight: Floats = np.exp(
        normal_log_density(logged.action, 0.0, narrow) - normal_log_density(logged.action, 0.0, own)
    )
    value, spend = logged.value_micros / 1e6, logged.spend_micros / 1e6
    gain = lift_of(realised_dollars(value, spend, weight), logged_dollars(value, spend))
    interval = student_interval(gain, logged.campaign_day, log_offset=1.0)
    return max(interval.value / (1 - _NARROWER**2), 0.0)
