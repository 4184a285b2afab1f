"""Importance weights: how much more often the target policy would take a logged action than the logging policy."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns

__all__ = ["clipped_actions", "importance_weights", "normal_log_density", "shifted_normal_weights"]


def importance_weights(target_density: npt.ArrayLike, logging_density: npt.ArrayLike) -> Floats:
    """w = pi(a|x) / mu(a|x), shape as given (Horvitz and Thompson 1952, "A generalization of sampling ...").

    The logging policy's density of the action that it took cannot be 0. The target's may be: that decision counts 0.
    """
    for name, density in (("target_density", target_density), ("logging_density", logging_density)):
        missing = int(np.count_nonzero(np.isnan(np.asarray(density, dtype=np.float64))))
        if missing:
            raise DataError(
                f"{name} is missing for {missing} decisions: off-policy estimates need the density of every logged"
                " action; without any, compare in the calibrated market instead"
            )
    target, logging = checked_columns(target_density=target_density, logging_density=logging_density)
    for name, density, lowest in (("target_density", target, target < 0), ("logging_density", logging, logging <= 0)):
        wrong = int(np.count_nonzero(lowest))
        if wrong:
            limit = "below 0" if name == "target_density" else "0 or below"
            raise DataError(
                f"{name} is {limit} for {wrong} decisions of {density.size}: an action that was taken has a density"
                " above 0; the log is wrong or its policy was not random"
            )
    return target / logging


def normal_log_density(action: Floats, mean: Floats | float, sd: Floats | float) -> Floats:
    """Logarithm of the normal density of `action`, all arrays of one shape."""
    return np.asarray(-0.5 * ((action - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def shifted_normal_weights(action: npt.ArrayLike, shift: npt.ArrayLike, *, sd: float) -> Floats:
    """Weights of a target that bids exp(shift) times the logging policy's usual bid, with the same random factor.

    Logged actions are log factors, normal around 0 with standard deviation `sd`; the target's are normal around
    `shift` with the same `sd`, so w = exp((a shift - shift^2 / 2) / sd^2). A target without any randomness has no
    density to compare: either it keeps the random factor (as the pilot does at its start), or see `kernel.py`.
    """
    if sd <= 0:
        raise DataError(f"sd is {sd}: the log's bids must vary at random; without that no other bid can be judged")
    actions, shifts = checked_columns(action=action, shift=shift)
    return np.asarray(np.exp((actions * shifts - shifts**2 / 2) / sd**2))


def clipped_actions(shift: npt.ArrayLike, *, reach: float = 1.5) -> tuple[Floats, float]:
    """Log bid factors clipped to the log's support, and the share of decisions that lay inside unclipped.

    `reach` is the largest factor between a target bid and the usual logged bid, up or down. The effective share of the
    sample falls steeply with it: with a log sd of 0.4 it is about .79, .52 and .22 for a reach of 1.25, 1.5 and 2.
    """
    if reach <= 1:
        raise DataError(f"reach is {reach}: it is a factor above 1, such as 1.5")
    (shifts,) = checked_columns(shift=shift)
    edge = np.log(reach)
    return np.clip(shifts, -edge, edge), float(np.mean(np.abs(shifts) <= edge))
