"""Split and join what belongs to campaigns, row by row: briefs, observations, actions and policy states."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Ints
from gaelp.errors import BadInput
from gaelp.types import PolicyState

__all__ = ["join", "join_states", "rows_by_value", "take", "take_state"]

BatchT = TypeVar("BatchT")  # Brief, Observation or Action

# Tables that all campaigns of a brief share; every other array has one row a campaign.
_SHARED_TABLES = frozenset({"activity", "intent_log", "persona_traits", "price_profile_log"})


def take(batch: BatchT, rows: npt.ArrayLike) -> BatchT:
    """The same brief, observation or action for some of its campaigns, copied, in the order of `rows`."""
    chosen = np.asarray(rows, dtype=np.int64)
    return _replaced(batch, {name: array[chosen] for name, array in _arrays(batch).items()})


def take_state(state: PolicyState, rows: npt.ArrayLike) -> PolicyState:
    """A policy's state for some of its campaigns, copied, in the order of `rows`."""
    chosen = np.asarray(rows, dtype=np.int64)
    return {name: array[chosen] for name, array in state.items()}


def join(batches: Sequence[BatchT]) -> BatchT:
    """One batch of all campaigns, in order; what campaigns share must be equal in all of them."""
    first = _first(batches)
    arrays = [_arrays(batch) for batch in batches]
    for batch, own in zip(batches[1:], arrays[1:], strict=True):
        _refuse_other_names(arrays[0], own)
        for field in _fields(first):
            if field not in own and not _equal(getattr(first, field), getattr(batch, field)):
                raise BadInput(
                    f"{type(first).__name__}.{field} differs between the batches, and all campaigns of a batch share"
                    " it: join campaigns of one market or account"
                )
    return _replaced(first, {name: _joined(name, [own[name] for own in arrays]) for name in arrays[0]})


def join_states(states: Sequence[PolicyState]) -> PolicyState:
    """The state of all campaigns, in order; the states must be of the same policy."""
    first = _first(states)
    for state in states[1:]:
        _refuse_other_names(first, state)
    return {name: _joined(name, [state[name] for state in states]) for name in first}


def rows_by_value(values: Ints) -> Iterator[tuple[int, Ints]]:
    """Each distinct value and the rows that hold it.

    What is summed over a flight is computed for one length at a time: with hours appended that hold nothing, numpy
    groups the terms of a sum differently, and its last bits change.
    """
    for value in np.unique(values):
        yield int(value), np.flatnonzero(values == value)


def _first(batches: Sequence[BatchT]) -> BatchT:
    if not batches:
        raise BadInput("0 batches to join, 1 or more allowed: there is no campaign in them")
    return batches[0]


def _fields(batch: object) -> list[str]:
    return [field.name for field in fields(cast("Any", batch))]


def _arrays(batch: object) -> dict[str, npt.NDArray[Any]]:
    held = {name: getattr(batch, name) for name in _fields(batch) if name not in _SHARED_TABLES}
    return {name: value for name, value in held.items() if isinstance(value, np.ndarray)}


def _replaced(batch: BatchT, arrays: Mapping[str, npt.NDArray[Any]]) -> BatchT:
    return cast("BatchT", replace(cast("Any", batch), **arrays))


def _joined(name: str, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    kinds = sorted({f"{part.dtype} of shape (campaigns, {', '.join(map(str, part.shape[1:]))})" for part in parts})
    if len(kinds) > 1:
        raise BadInput(f"{name} is {' and '.join(kinds)}: join campaigns with the same segments and creatives")
    return np.concatenate(parts)


def _refuse_other_names(first: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    if different := sorted(first.keys() ^ other.keys()):
        raise BadInput(f"only some of the batches have {', '.join(different)}: join those of the same kind")


def _equal(left: object, right: object) -> bool:
    if left is right:
        return True
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    if is_dataclass(left) and type(left) is type(right):
        return all(_equal(getattr(left, name), getattr(right, name)) for name in _fields(left))
    return bool(left == right)
