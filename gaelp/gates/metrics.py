"""The metrics that gates can ask for, each with the range of figures that can be measured at all.

A figure outside its range was not measured, whatever produced it, and proves nothing. A metric without a range cannot
be judged: whoever adds one to a phase declares it here.
"""

import math
from typing import NamedTuple

from gaelp.config.suggest import nearest

__all__ = ["RANGES", "MetricRange", "problem_of_figure", "problem_of_interval", "undeclared"]


class MetricRange(NamedTuple):
    """The least and the largest value that a metric can have; a count is whole as well."""

    lowest: float
    highest: float
    whole: bool = False

    @property
    def words(self) -> str:
        """What is possible, to be put into a sentence."""
        return f"{'a whole number ' if self.whole else ''}from {self.lowest:g} to {self.highest:g}"

    def contains(self, figure: float) -> bool:
        """Whether the figure is possible; NaN and infinity are not."""
        return self.lowest <= figure <= self.highest and (not self.whole or float(figure).is_integer())


_COUNT = MetricRange(0, 1e9, whole=True)
_SHARE = MetricRange(0, 1)
_OF_THE_OPTIMUM = MetricRange(-1000, 1.05)  # the optimum is an upper bound, found to within half a percent of the money
_RELATIVE = MetricRange(-100, 100)  # a lead or a lift over something: 100 is a hundred times as much

RANGES: dict[str, MetricRange] = {
    # Samples
    "campaign_days": _COUNT,
    "campaigns": _COUNT,
    "effective_sample": MetricRange(0, 1e9),
    "episodes": _COUNT,
    "paired_observations": _COUNT,
    "transfer_observations": _COUNT,
    # Simulation
    "budget_used": MetricRange(0, 10),
    "headroom_share": _OF_THE_OPTIMUM,
    "last_50_z": MetricRange(0, 1e6),
    "lead_over_best_rule": _RELATIVE,
    "lead_over_constant": _RELATIVE,
    "lead_over_informed_rule": _RELATIVE,
    "reward": _OF_THE_OPTIMUM,
    "reward_p10": _OF_THE_OPTIMUM,
    "success_rate": _SHARE,
    # History
    "correlation_with_actuals": MetricRange(-1, 1),
    "lift_over_incumbent": _RELATIVE,
    "lift_over_logging": _RELATIVE,
    "prediction_accuracy": _SHARE,
    "simulator_match": _SHARE,
    # Pilot
    "budget_efficiency": MetricRange(0, 10),  # platforms overdeliver
    "positive_roi_streak": _COUNT,
    "roi": MetricRange(-1, 1000),  # no more than the money can be lost
    "safety_violations": _COUNT,
    # Scale
    "campaign_success_rate": _SHARE,
    "improvement": _RELATIVE,
    "transfer_gain_share": _RELATIVE,
}


def undeclared(metric: str) -> str | None:
    """Why a metric cannot be judged; None if its range is declared."""
    if metric in RANGES:
        return None
    guess = nearest(metric, RANGES)
    return f"{metric} has no declared range, so it cannot be judged: declare one in gaelp/gates/metrics.py.{guess}"


def problem_of_figure(metric: str, figure: float | None) -> str | None:
    """Why a figure of a metric proves nothing; None if it is a possible measurement."""
    if figure is None:
        return f"{metric} is missing: no evidence, no graduation"
    if not math.isfinite(figure):
        return f"{metric} is {'NaN' if math.isnan(figure) else 'infinite'}: what was not measured proves nothing"
    if problem := undeclared(metric):
        return problem
    if not RANGES[metric].contains(figure):
        return f"{metric} is {figure}; possible: {RANGES[metric].words}. Find out what reported it"
    return None


def problem_of_interval(metric: str, value: float, lower: float | None, upper: float | None) -> str | None:
    """Why the bounds of a metric cannot be those of its value; None if they enclose it, or are not there.

    A bound that is not compared may be infinite: a test for one side has no other.
    """
    for end, bound, encloses in (
        ("lower_95", lower, lower is None or lower <= value),
        ("upper_95", upper, upper is None or upper >= value),
    ):
        if not encloses:
            return f"{metric}_{end} is {bound} and {metric} {value}: bounds enclose their value. Measure again"
    return None
