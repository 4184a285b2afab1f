"""Separate states for the global random generators of torch and NumPy, for code that draws only from those."""

from types import TracebackType
from typing import Any

import numpy as np
import torch

from gaelp.errors import BadInput
from gaelp.experience.saved import SavedState, integer_of, number_of, tensor_of

__all__ = ["OwnRandom"]

_MERSENNE_WORDS = 624


class OwnRandom:
    """Inside its `with` block the global generators continue from where the last such block left them.

    Outside of it they are as if nothing had been drawn.
    """

    def __init__(self, seed: int) -> None:
        word = int(np.random.SeedSequence(seed).generate_state(1, np.uint32)[0])
        self._torch = torch.Generator().manual_seed(word).get_state()
        self._numpy: Any = np.random.RandomState(word).get_state(legacy=False)  # of the same kind as the global one
        self._outer: list[tuple[torch.Tensor, Any]] = []

    def __enter__(self) -> None:
        """Install the own states."""
        self._outer.append(_global())
        _set_global(self._torch, self._numpy)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keep the own states, and restore the outer ones."""
        self._torch, self._numpy = _global()
        _set_global(*self._outer.pop())

    def state(self) -> SavedState:
        """Both states, as copies."""
        inner = self._numpy["state"]
        return {
            "torch": self._torch.clone(),
            "numpy_key": torch.from_numpy(inner["key"].astype(np.int64)),
            "numpy_position": int(inner["pos"]),
            "numpy_has_gauss": int(self._numpy["has_gauss"]),
            "numpy_gauss": float(self._numpy["gauss"]),
        }

    def checked(self, state: SavedState) -> tuple[torch.Tensor, Any]:
        """The states in `state`, checked and copied; nothing is changed yet."""
        key = tensor_of(state, "numpy_key", torch.zeros(_MERSENNE_WORDS, dtype=torch.int64))
        if not bool(((key >= 0) & (key < 2**32)).all()):
            raise BadInput("saved numpy_key holds words beyond 32 bits: the state is damaged")
        inner = {
            "key": key.numpy().astype(np.uint32),
            "pos": integer_of(state, "numpy_position", at_most=_MERSENNE_WORDS),
        }
        numpy_state = {
            "bit_generator": "MT19937",
            "state": inner,
            "has_gauss": integer_of(state, "numpy_has_gauss", at_most=1),
            "gauss": number_of(state, "numpy_gauss"),
        }
        return tensor_of(state, "torch", self._torch).clone(), numpy_state

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`."""
        self._torch, self._numpy = self.checked(state)


def _global() -> tuple[torch.Tensor, Any]:
    return torch.get_rng_state(), np.random.get_state(legacy=False)  # noqa: NPY002 - the global one is what is meant


def _set_global(torch_state: torch.Tensor, numpy_state: Any) -> None:
    torch.set_rng_state(torch_state)
    np.random.set_state(numpy_state)  # noqa: NPY002 - the global one is what is meant
