"""SLOPE: choose a hyperparameter of an estimator from the data, trading its bias against its variance."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gaelp.errors import DataError
from gaelp.history.intervals import student_interval
from gaelp.history.policy_value import PolicyValue

__all__ = ["choose_by_slope"]

_IMPROVED = float(np.sqrt(6)) - 1


def choose_by_slope(
    estimates: Sequence[PolicyValue],
    clusters: npt.ArrayLike | None = None,
    *,
    confidence: float = 0.9,
    improved: bool = False,
) -> int:
    """Index of the estimate to use, out of candidates with different hyperparameters.

    Su, Srinath and Krishnamurthy 2020, "Adaptive estimator selection for off-policy evaluation": sort by the half width
    c_i of the interval, widest (least biased) first; keep the last one whose interval value +- 2 c_i still shares a
    point with those of all before it. `improved` uses the test of Tucker and Lee 2021, "Improved estimator selection
    for off-policy evaluation": |v_i - v_j| <= c_i + (sqrt(6) - 1) c_j for all j before i.
    """
    if not estimates:
        raise DataError("there is no estimate to choose from: give at least one value of the hyperparameter")
    intervals = [student_interval(estimate, clusters, confidence=confidence) for estimate in estimates]
    values = np.array([interval.value for interval in intervals])
    widths = np.array([(interval.upper - interval.lower) / 2 for interval in intervals])
    order = np.argsort(-widths, kind="stable")
    chosen = order[0]
    for place in range(1, len(order)):
        here, before = order[place], order[:place]
        if improved:
            agrees = np.all(np.abs(values[before] - values[here]) <= widths[here] + _IMPROVED * widths[before])
        else:
            upto = order[: place + 1]
            agrees = np.max(values[upto] - 2 * widths[upto]) <= np.min(values[upto] + 2 * widths[upto])
        if not agrees:
            break
        chosen = here
    return int(chosen)
