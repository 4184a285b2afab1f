"""The metrics that gates can use, each with its unit and the range of possible values.

A figure outside its range cannot have been measured and proves nothing. A metric without a range cannot be judged: a
phase that reports a new metric declares it here.
"""

import math
from typing import NamedTuple

from gaelp.config.suggest import nearest

__all__ = ["RANGES", "MetricRange", "problem_of_figure", "problem_of_interval", "replaced", "undeclared"]


class MetricRange(NamedTuple):
    """The least and the largest value that a metric can have, and its unit; a count is whole as well."""

    lowest: float
    highest: float
    whole: bool = False
    unit: str = ""

    @property
    def words(self) -> str:
        """The range as part of a sentence."""
        return f"{'a whole number ' if self.whole else ''}from {self.lowest:g} to {self.highest:g}"

    def contains(self, figure: float) -> bool:
        """Return whether the figure is possible; NaN and infinity are not."""
        return self.lowest <= figure <= self.highest and (not self.whole or float(figure).is_integer())


def _count(unit: str) -> MetricRange:
    return MetricRange(0, 1e9, whole=True, unit=unit)


def _share(unit: str) -> MetricRange:
    return MetricRange(0, 1, unit=unit)


def _of_the_optimum(unit: str) -> MetricRange:
    return MetricRange(-1000, 1.05, unit=unit)  # the optimum is an upper bound, found to within 0.5% of the money


def _relative(unit: str) -> MetricRange:
    return MetricRange(-100, 100, unit=unit)  # a lead or a lift over something: 100 is a hundred times as much


RANGES: dict[str, MetricRange] = {
    # Samples
    "campaign_days": _count("campaign days"),
    "campaign_flights": _count("flights of campaigns, each long enough to be judged"),
    "campaigns": _count("campaigns"),
    "checked_rows": _count("stored rows"),
    "effective_sample": MetricRange(0, 1e9, unit="observations, after weighting"),
    "episodes": _count("episodes"),
    "paired_observations": _count("pairs"),
    "posterior_draws": _count("draws of the market's parameters"),
    "roi_spans": _count("spans of account-days, each with the expected conversions that a rule states"),
    "shadow_hours": _count("campaign hours in which the agent decided without acting"),
    "transfer_observations": _count("observations"),
    # Stored data, of every phase
    "budget_breaches": _count("breaches"),
    "failed_expectations": _count("expectations"),
    # Simulation
    "budget_used": MetricRange(0, 10, unit="share of the budget"),
    "headroom_share": _of_the_optimum("share of the way from a constant bid to the optimum"),
    "last_50_z": MetricRange(0, 1e6, unit="standard errors between the last 50 episodes and those before"),
    "lead_over_best_rule": _relative("share of the best rule's reward; 0.01 is 1%"),
    "lead_over_constant": _relative("share of the constant bid's reward; 0.01 is 1%"),
    "lead_over_informed_rule": _relative("share of the informed rule's reward; 0.01 is 1%"),
    "reward": _of_the_optimum("share of the optimum in hindsight"),
    "reward_p10": _of_the_optimum("share of the optimum in hindsight; one episode in ten is below"),
    "ruined_share": _share("share of the campaigns with less than 0.7 of the best rule's outcome"),
    "shifted_lead_over_best_rule": _relative("share of the best rule's reward on the shifted market; 0.01 is 1%"),
    "shifted_ruined_share": _share("share of the campaigns on the shifted market"),
    "success_rate": _share("share of the campaigns with at least 0.97 of the best rule's outcome"),
    "worst_group_lead": _relative("share of the best rule's reward in the worst of fifty groups; 0.01 is 1%"),
    # History
    "bid_variation": MetricRange(0, 100, unit="standard deviation of the log bid of a segment"),
    "harmed_groups": _count("campaigns and segments"),
    "correlation_with_actuals": MetricRange(-1, 1, unit="correlation"),
    "lift_over_incumbent": _relative("share of the incumbent's result; 0.01 is 1%"),
    "lift_over_logging": _relative("share of the logged result; 0.01 is 1%"),
    "model_based_harmed_groups": _count("campaigns and segments, by the market"),
    "model_based_lift": _relative("share of the logged bids' result in the market; 0.01 is 1%"),
    "model_based_lift_over_incumbent": _relative("share of the incumbent's result in the market; 0.01 is 1%"),
    "prediction_accuracy": _share("share; 1 is perfect"),
    "simulator_match": _share("share; 1 is a perfect match"),
    # Pilot
    "budget_efficiency": MetricRange(0, 100, unit="share of what the plan wanted to spend"),
    "platform_roi": MetricRange(-1, 1000, unit="return for each unit spent, by the platform's count"),
    "positive_roi_streak": _count("spans of account-days in a row"),
    "roi": MetricRange(-1, 1000, unit="return for each unit spent; 0.01 is 1%"),  # no more than the money can be lost
    "safety_violations": _count("violations"),
    "skewed_features": _count("features of observations that differ between training and serving"),
    # Scale
    "campaign_success_rate": _share("share of the campaigns' flights"),
    "improvement": _relative("share of the control's value per dollar; 0.01 is 1%"),
    "improvement_estimate": _relative("share of the control's value per dollar, by the point estimate; 0.01 is 1%"),
    "transfer_gain_share": _relative("share of the gain at the source"),
}


# Stored verdicts hold these, and are judged again with them; new evidence has none.
_REPLACED = {"last_50_z": "worst_group_lead, at_least -0.02"}


def replaced(metric: str) -> str | None:
    """Return why a metric of an older release can no longer be asked for, and what replaced it; None if it can."""
    if metric not in _REPLACED:
        return None
    return f"{metric} is no longer measured: remove this rule, or ask for {_REPLACED[metric]}"


def undeclared(metric: str) -> str | None:
    """Return why a metric cannot be judged; None if its range is declared."""
    if metric in RANGES:
        return None
    guess = nearest(metric, RANGES)
    return f"{metric} has no declared range, so it cannot be judged: declare one in gaelp/gates/metrics.py.{guess}"


def problem_of_figure(metric: str, figure: float | None) -> str | None:
    """Return why a figure of a metric proves nothing; None if it is a possible measurement."""
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
    """Return why the bounds of a metric do not fit its value; None if they enclose it or are missing.

    A bound that is not compared may be infinite: a one-sided test has no other.
    """
    for end, bound, encloses in (
        ("lower_95", lower, lower is None or lower <= value),
        ("upper_95", upper, upper is None or upper >= value),
    ):
        if not encloses:
            return f"{metric}_{end} is {bound} and {metric} {value}: bounds enclose their value. Measure again"
    return None
