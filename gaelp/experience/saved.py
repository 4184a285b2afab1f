"""Saved state: flat dictionaries of tensors, numbers and strings, which a checkpoint can store without pickle."""

import math
from collections.abc import Mapping

from torch import Tensor

from gaelp.errors import BadInput

__all__ = [
    "SavedState",
    "below",
    "copies",
    "expect_same",
    "integer_of",
    "number_of",
    "prefixed",
    "tensor_of",
    "tensors_of",
    "text_of",
]

SavedState = dict[str, Tensor | int | float | str]

_OTHER = "the state is damaged or belongs to another object"


def prefixed(prefix: str, state: Mapping[str, Tensor | int | float | str]) -> SavedState:
    """The state of a part, ready to be merged into that of the whole."""
    return {f"{prefix}.{name}": value for name, value in state.items()}


def below(prefix: str, state: SavedState) -> SavedState:
    """The state of a part, out of that of the whole."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}


def tensor_of(state: SavedState, name: str, like: Tensor) -> Tensor:
    """A saved tensor that has the type and the shape of `like`."""
    value = _value_of(state, name)
    if not isinstance(value, Tensor) or value.dtype != like.dtype or value.shape != like.shape:
        actual = f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise BadInput(
            f"saved {name} is {actual}, wanted is {like.dtype} {tuple(like.shape)}: load into an object built alike"
        )
    return value


def tensors_of(state: SavedState, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The saved tensors of these names, each with the type and shape of the one in `like`."""
    return {name: tensor_of(state, name, tensor) for name, tensor in like.items()}


def copies(tensors: Mapping[str, Tensor]) -> SavedState:
    """Tensors as they are now, to be saved."""
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def integer_of(state: SavedState, name: str, at_most: float = math.inf) -> int:
    """A saved integer between 0 and `at_most`."""
    value = _value_of(state, name)
    if not isinstance(value, int) or not 0 <= value <= at_most:
        raise BadInput(f"saved {name} is {value!r}, wanted is an integer in 0..{at_most}: {_OTHER}")
    return value


def number_of(state: SavedState, name: str) -> float:
    """A saved number."""
    value = _value_of(state, name)
    if not isinstance(value, int | float):
        raise BadInput(f"saved {name} is {value!r}, wanted is a number: {_OTHER}")
    return float(value)


def text_of(state: SavedState, name: str) -> str:
    """A saved string."""
    value = _value_of(state, name)
    if not isinstance(value, str):
        raise BadInput(f"saved {name} is {value!r}, wanted is a string: {_OTHER}")
    return value


def expect_same(state: SavedState, **wanted: float) -> None:
    """Refuse a state that was saved with other settings."""
    for name, value in wanted.items():
        if (saved := number_of(state, name)) != value:
            raise BadInput(f"saved {name} is {saved}, here it is {value}: load into one built with {name}={saved}")


def _value_of(state: SavedState, name: str) -> Tensor | int | float | str:
    if name not in state:
        raise BadInput(f"the saved state has no {name!r}; it has {', '.join(sorted(state)) or 'nothing'}")
    return state[name]
