"""Refuse arrays that no estimate can be made from: empty, of different shapes, not finite, negative."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError

__all__ = ["checked_codes", "checked_columns", "checked_share", "checked_weights"]


def checked_columns(**columns: npt.ArrayLike) -> tuple[Floats, ...]:
    """The named arrays as floats, in the order given: not empty, of one shape, all finite."""
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise DataError(f"shapes differ: {_listed(shapes)}; every column needs one entry for each logged decision")
    for name, array in arrays.items():
        if array.size == 0:
            raise DataError(
                f"{name} is empty: an estimate needs logged decisions; widen the window or check the filter"
            )
        missing = int(np.count_nonzero(np.isnan(array)))
        if missing:
            raise DataError(
                f"{name} has {missing} missing or NaN entries of {array.size}: drop these rows or fill them"
            )
        infinite = int(np.count_nonzero(np.isinf(array)))
        if infinite:
            raise DataError(f"{name} has {infinite} infinite entries of {array.size}: only finite numbers can be used")
    return tuple(arrays.values())


def checked_weights(weight: npt.ArrayLike, name: str = "weight") -> Floats:
    """Importance weights: finite, none negative, not all zero."""
    (weights,) = checked_columns(**{name: weight})
    negative = int(np.count_nonzero(weights < 0))
    if negative:
        raise DataError(
            f"{name} has {negative} negative entries of {weights.size}: a ratio of densities is never below 0"
        )
    if not weights.any():
        raise DataError(f"{name} is 0 everywhere: the log holds no decision that this policy would take")
    return weights


def checked_codes(codes: npt.ArrayLike, count: int, name: str) -> tuple[Ints, int]:
    """Labels of `count` rows, of any type, as numbers 0..G-1 in order of first label value, and G."""
    labels = np.asarray(codes)
    if labels.shape != (count,):
        raise DataError(f"{name} has shape {labels.shape}: it needs one label for each of the {count} decisions")
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.int64), len(names)


def checked_share(share: float, name: str) -> float:
    """A share strictly between 0 and 1, such as a confidence level."""
    if not 0 < share < 1:
        raise DataError(f"{name} is {share}: it must be between 0 and 1, such as 0.95")
    return share


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {shape}" for name, shape in shapes.items())
