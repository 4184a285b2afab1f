"""Whether a model's predicted value is right: predicted and realised by tenths of the prediction, with intervals."""

import numpy as np
import numpy.typing as npt

from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns
from gaelp.history.intervals import student_interval
from gaelp.history.policy_value import RATIO, PolicyValue

__all__ = ["CalibrationBin", "calibration_bins"]


class CalibrationBin(Frozen):
    """Clicks whose predicted value lies between two quantiles; a right model has `realised_over_predicted` 1."""

    lowest_prediction: float
    highest_prediction: float
    clicks: float
    predicted_value: float
    realised_value: float
    realised_over_predicted: float
    lower_95: float
    upper_95: float


def calibration_bins(
    predicted_value_per_click: npt.ArrayLike,
    clicks: npt.ArrayLike,
    value: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    bins: int = 10,
) -> tuple[CalibrationBin, ...]:
    """Rows in `bins` groups of about equal clicks, by prediction; equal predictions stay together, so it may be fewer.

    The intervals are Student t over the clusters of the group, for the ratio of realised to predicted value.
    """
    model, counts, values = checked_columns(predicted=predicted_value_per_click, clicks=clicks, value=value)
    labels = np.asarray(clusters)
    if labels.shape != values.shape:
        raise DataError(f"clusters have shape {labels.shape}: one label for each of the {len(values)} decisions")
    if not counts.sum() > 0:
        raise DataError("there are no clicks: nothing was predicted that could be compared")
    order = np.argsort(model, kind="stable")
    reached = np.cumsum(counts[order]) / counts.sum()
    inner = model[order][np.searchsorted(reached, np.arange(1, bins) / bins)]
    group = np.searchsorted(np.unique(inner), model, side="right")
    return tuple(
        _bin(model[rows], counts[rows], values[rows], labels[rows])
        for number in np.unique(group)
        if counts[rows := group == number].sum() > 0
    )


def _bin(
    model: npt.NDArray[np.float64],
    clicks: npt.NDArray[np.float64],
    value: npt.NDArray[np.float64],
    clusters: npt.NDArray[np.generic],
) -> CalibrationBin:
    expected = model * clicks
    if not expected.sum() > 0:
        raise DataError("a tenth of the clicks has a predicted value of 0: the model cannot be compared there")
    ratio = PolicyValue("realised over predicted", np.column_stack((value, expected)), RATIO)
    interval = student_interval(ratio, clusters)
    return CalibrationBin(
        lowest_prediction=float(model.min()),
        highest_prediction=float(model.max()),
        clicks=float(clicks.sum()),
        predicted_value=float(expected.sum()),
        realised_value=float(value.sum()),
        realised_over_predicted=interval.value,
        lower_95=interval.lower,
        upper_95=interval.upper,
    )
