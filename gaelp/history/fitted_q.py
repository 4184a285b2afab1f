"""Fitted Q evaluation: the value of a policy by regression on reward plus its own prediction of the next state."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_columns
from gaelp.history.policy_value import PolicyValue, mean_value

__all__ = ["FittedQ", "fitted_q_evaluation"]

_SETTLED = 1e-8  # largest change of a coefficient, relative to the largest coefficient


@dataclass(frozen=True, slots=True)
class FittedQ:
    """Coefficients of Q(s, a) = features(s, a) @ coefficients, the value at the start, and how the fit ended."""

    coefficients: Floats
    value: PolicyValue
    iterations: int
    settled: bool


def fitted_q_evaluation(
    features: npt.ArrayLike,
    reward: npt.ArrayLike,
    next_features: npt.ArrayLike,
    done: npt.ArrayLike,
    initial_features: npt.ArrayLike,
    *,
    discount: float = 1.0,
    ridge: float = 1e-3,
    iterations: int = 200,
) -> FittedQ:
    """FQE with linear features (Le, Voloshin and Yue 2019, "Batch policy learning under constraints", algorithm 3).

    `features` (n, d) describe each logged state and action, `next_features` (n, d) the next state with the *target's*
    action, `initial_features` (k, d) the first states with the target's action. Repeats

        beta <- (X'X + ridge n I)^-1 X' (r + discount (1 - done) X_next beta)

    until it settles. No density is needed and no randomness is used. Its error is the model's: an interval over initial
    states does not contain it, so it claims no coverage and serves as DM does, beside estimators with weights.
    """
    design, following, first = (np.asarray(x, dtype=np.float64) for x in (features, next_features, initial_features))
    rewards, ended = checked_columns(reward=reward, done=done)
    _check_designs(design, following, first, len(rewards))
    if not 0 <= discount <= 1:
        raise DataError(f"discount is {discount}: it must be between 0 and 1")
    if ridge <= 0:
        raise DataError(f"ridge is {ridge}: it must be above 0")
    gram = design.T @ design + ridge * len(design) * np.eye(design.shape[1])
    projection = np.linalg.solve(gram, design.T)
    constant, carried = projection @ rewards, projection @ (discount * (1 - ended)[:, None] * following)
    coefficients, settled, rounds = np.zeros_like(constant), False, 0
    while rounds < iterations and not settled:
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, with a remedy
            updated = constant + carried @ coefficients
        rounds += 1
        if not np.isfinite(updated).all():
            raise DataError("fitted Q diverges: lower the discount, raise the ridge, or mark the ends of episodes")
        settled = bool(np.max(np.abs(updated - coefficients)) <= _SETTLED * max(1e-12, float(np.max(np.abs(updated)))))
        coefficients = updated
    return FittedQ(coefficients, mean_value("fqe", first @ coefficients), rounds, settled)


def _check_designs(design: Floats, following: Floats, first: Floats, count: int) -> None:
    if design.ndim != 2 or design.shape != following.shape or len(design) != count:
        raise DataError(
            f"features have shape {design.shape} and next_features {following.shape}: both need one row for each of the"
            f" {count} rewards and the same columns"
        )
    if first.ndim != 2 or first.shape[1] != design.shape[1] or len(first) == 0:
        raise DataError(f"initial_features have shape {first.shape}: at least one row of {design.shape[1]} columns")
    for name, matrix in (("features", design), ("next_features", following), ("initial_features", first)):
        if not np.isfinite(matrix).all():
            raise DataError(f"{name} hold NaN or infinity: only finite numbers can be used")
