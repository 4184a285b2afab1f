"""Learn the value of a click by ridge regression that never predicts rows it was fitted on.

It serves as control variate (`value_per_dollar.recalibrated_dollars`), never as the estimate itself: a policy that
moves to clicks which the model overrates looks better than it is.
"""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_codes, checked_columns

__all__ = ["campaign_time_folds", "cross_fitted_value_per_click", "indicator_features"]


def campaign_time_folds(campaign: npt.ArrayLike, day: npt.ArrayLike, *, folds: int = 3, block_days: int = 7) -> Ints:
    """The fold of each row, shape (n,): blocks of consecutive days of a campaign, dealt in turn to the folds.

    Days of one block share luck (a strong week, a slow landing page), so a block is never split between fitting and
    prediction. Campaigns begin with different folds, so that no fold holds the same weeks of all campaigns.
    """
    if folds < 2:
        raise DataError(f"folds is {folds}: at least 2 are needed, or rows are predicted by a model that has seen them")
    if block_days < 1:
        raise DataError(f"block_days is {block_days}: a block has at least one day")
    days = np.asarray(day, dtype=np.int64)
    campaigns, _ = checked_codes(campaign, len(days), "campaign")
    assigned = ((days - days.min()) // block_days + campaigns) % folds
    used = len(np.unique(assigned))
    if used < folds:
        raise DataError(f"only {used} of {folds} folds have rows: use fewer folds or shorter blocks")
    return np.asarray(assigned, dtype=np.int64)


def indicator_features(*labels: npt.ArrayLike) -> Floats:
    """One column for each value of each label, 1 where a row has it; shape (n, values)."""
    blocks = []
    for number, label in enumerate(labels):
        codes, count = checked_codes(label, len(np.asarray(labels[0])), f"label {number}")
        blocks.append(np.eye(count)[codes])
    return np.hstack(blocks)


def cross_fitted_value_per_click(
    features: npt.ArrayLike, clicks: npt.ArrayLike, value: npt.ArrayLike, folds: npt.ArrayLike, *, ridge: float = 50.0
) -> Floats:
    """Predicted value per click of each row, shape (n,), by a model fitted on the other folds only.

    Ridge regression (Hoerl and Kennard 1970, "Ridge regression") of value per click on features (n, d), weighted by
    clicks, around the mean value per click: beta = (X' C X + ridge I)^-1 X' (V - C m). With indicator features `ridge`
    is in clicks: a group with as many clicks is moved half of the way to its own mean. Predictions below 0 become 0.
    Chernozhukov et al. 2018, "Double/debiased machine learning", for cross-fitting.
    """
    if ridge <= 0:
        raise DataError(f"ridge is {ridge}: it must be above 0, in clicks")
    counts, values = checked_columns(clicks=clicks, value=value)
    design = np.asarray(features, dtype=np.float64)
    if design.ndim != 2 or len(design) != len(counts) or not np.isfinite(design).all():
        raise DataError(f"features have shape {design.shape}: a finite row for each of the {len(counts)} decisions")
    numbers, folds_count = checked_codes(folds, len(counts), "folds")
    if folds_count < 2:
        raise DataError("there is one fold: rows would be predicted by a model that was fitted on them")
    predicted = np.empty_like(values)
    for fold in range(folds_count):
        fitted, held_out = numbers != fold, numbers == fold
        mean, slopes = _fit(design[fitted], counts[fitted], values[fitted], ridge)
        predicted[held_out] = np.maximum(mean + design[held_out] @ slopes, 0)
    return predicted


def _fit(design: Floats, clicks: Floats, value: Floats, ridge: float) -> tuple[float, Floats]:
    total = float(clicks.sum())
    if total <= 0:
        raise DataError("a fold has no clicks to learn the value of a click from: use more days or fewer folds")
    mean = float(value.sum()) / total
    weighted = design * clicks[:, None]
    gram = weighted.T @ design + ridge * np.eye(design.shape[1])
    return mean, np.asarray(np.linalg.solve(gram, design.T @ (value - clicks * mean)))
