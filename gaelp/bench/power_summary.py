"""Counts over many histories: how often a policy passes, whether intervals hold the truth, and whether plans do."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import stats

from gaelp.bench.history_power import VERSIONS, JudgedCase, WorldResult

__all__ = ["summarise_worlds"]

BETTER_RULE = "lift_over_logging"


def summarise_worlds(worlds: Sequence[WorldResult]) -> dict[str, object]:
    """By case and by days judged, and what plans said."""
    first = worlds[0].judged
    groups: dict[tuple[str, int], list[JudgedCase]] = {(each.case, each.days): [] for each in first}
    for world in worlds:
        for each in world.judged:
            groups[each.case, each.days].append(each)
    return {
        "histories": len(worlds),
        "planned_weeks_for_15_percent": _spread([world.plan.weeks for world in worlds if world.plan]),
        "planned_error_of_log_lift": _spread([world.plan.error for world in worlds if world.plan]),
        "cases": {f"{case}, {days} days": _case(judged) for (case, days), judged in groups.items()},
    }


def _case(judged: Sequence[JudgedCase]) -> dict[str, object]:
    truth = [each.true_lift for each in judged]
    return {
        "true_lift": _spread(truth),
        "worlds_truly_no_better": sum(each <= 0 for each in truth),
        "predicted_passes_by_realised_value": _spread(
            [each.predicted for each in judged if each.predicted is not None]
        ),
        **{version: _version(judged, version) for version in VERSIONS},
    }


def _version(judged: Sequence[JudgedCase], version: str) -> dict[str, object]:
    read = [(each.true_lift, each.versions[version]) for each in judged]
    passes = sum(not each.failed for _, each in read)
    better = [(truth, BETTER_RULE not in each.failed) for truth, each in read]
    failed = Counter(rule for _, each in read for rule in each.failed)
    estimates = [
        (truth, each.lift, each.lower, each.upper)
        for truth, each in read
        if each.lift is not None and each.lower is not None and each.upper is not None
    ]
    errors = np.array([math.log1p(lift) - math.log1p(truth) for truth, lift, _, _ in estimates])
    held = sum(lower <= truth <= upper for truth, _, lower, upper in estimates)
    return {
        "passes": _share(passes, len(read)),
        "better_than_rule_passes": _share(sum(passed for _, passed in better), len(read)),
        "better_than_rule_passes_where_truly_no_better": sum(passed for truth, passed in better if truth <= 0),
        "refused_by": dict(failed),
        "inconclusive": len(read) - len(estimates),
        "intervals_that_hold_the_truth": _share(held, len(estimates)),
        "lift": _spread([lift for _, lift, _, _ in estimates]),
        "mean_error_of_log_lift": round(float(errors.mean()), 4) if len(errors) else None,
        "spread_of_errors_of_log_lift": round(float(errors.std(ddof=1)), 4) if len(errors) > 1 else None,
    }


def _share(count: int, of: int) -> dict[str, object]:
    """With its exact 95% interval (Clopper and Pearson, 1934, "The use of confidence or fiducial limits")."""
    if not of:
        return {"count": count, "of": of}
    ends = stats.binomtest(count, of).proportion_ci(0.95, "exact")
    return {"count": count, "of": of, "share": count / of, "interval_95": [round(ends.low, 4), round(ends.high, 4)]}


def _spread(values: Sequence[float]) -> dict[str, float]:
    each = np.array(values)
    if not len(each):
        return {}
    figures = {"mean": each.mean(), "sd": each.std(), "lowest": each.min(), "highest": each.max()}
    return {name: round(float(figure), 4) for name, figure in figures.items()}
