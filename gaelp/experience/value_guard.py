"""Guard against poisoned experience: keep out NaN, infinity and values outside a declared range."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from gaelp.errors import BadInput, PoisonedExperience
from gaelp.experience.saved import SavedState, integer_of, text_of

__all__ = ["FieldSpec", "OnRefused", "ValueGuard"]

OnRefused = Literal["raise", "skip"]

_WAY_OUT = (
    "fix the environment, declare a wider range, or choose on_refused='skip' to leave such rows out and count them"
)


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One named tensor of a transition: shape and type of a row, and the values that may occur, both ends included.

    Without a range every finite value is allowed.
    """

    shape: tuple[int, ...] = ()
    dtype: torch.dtype = torch.float32
    value_low: float = -math.inf
    value_high: float = math.inf
    limits: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Round the range to the field's precision, so that its ends are allowed."""
        if not self.value_low <= self.value_high:
            raise BadInput(f"value_low={self.value_low} must not exceed value_high={self.value_high}: swap them")
        object.__setattr__(self, "limits", (self._limit(self.value_low), self._limit(self.value_high)))

    def _limit(self, value: float) -> float:
        if self.dtype == torch.bool or not self.dtype.is_floating_point:
            return value
        largest = torch.finfo(self.dtype).max
        return float(torch.tensor(max(-largest, min(value, largest)), dtype=self.dtype).item())


class ValueGuard:
    """Checks rows of named tensors; refuses them all with an error, or leaves the bad ones out and counts them."""

    def __init__(self, fields: Mapping[str, FieldSpec], on_refused: OnRefused) -> None:
        if on_refused not in ("raise", "skip"):
            raise BadInput(f"on_refused={on_refused!r} is unknown: choose 'raise' or 'skip'")
        self._fields = dict(fields)
        self._on_refused = on_refused
        self.refused_rows = 0
        self.last_refusal = ""

    def check(self, rows: Mapping[str, Tensor]) -> Tensor | None:
        """Flags (N,) of the rows to leave out; None if all are good, which is the usual case.

        With on_refused='raise' a bad value raises `PoisonedExperience` instead; a wrong shape or type raises BadInput.
        """
        suspects = [name for name in self._fields if not self._all_allowed(name, rows[name])]
        if not suspects:
            return None
        bad = torch.stack(
            [self._bad_values(name, rows[name]).reshape(len(rows[name]), -1).any(1) for name in suspects]
        ).any(0)
        self.last_refusal = self._describe(suspects[0], rows[suspects[0]])
        if self._on_refused == "raise":
            raise PoisonedExperience(f"{self.last_refusal}: {_WAY_OUT}")
        self.refused_rows += int(bad.sum())
        return bad

    def state(self) -> SavedState:
        """The count so far and the last reason."""
        return {"refused_rows": self.refused_rows, "last_refusal": self.last_refusal}

    def load_state(self, state: SavedState) -> None:
        """Continue counting from `state`."""
        self.refused_rows, self.last_refusal = integer_of(state, "refused_rows"), text_of(state, "last_refusal")

    def _all_allowed(self, name: str, values: Tensor) -> bool:
        spec = self._fields[name]
        if values.dtype != spec.dtype or values.shape[1:] != spec.shape:
            raise BadInput(
                f"{name} is {values.dtype} of shape {tuple(values.shape)};"
                f" declared is {spec.dtype} with rows of shape {spec.shape}: convert it or declare it so"
            )
        if values.dtype == torch.bool or not values.numel():
            return True
        lowest, highest = torch.aminmax(values)
        # NaN passes through aminmax, and every comparison with it is false.
        return bool(spec.limits[0] <= lowest.item() and highest.item() <= spec.limits[1])

    def _bad_values(self, name: str, values: Tensor) -> Tensor:
        low, high = self._fields[name].limits
        return ~((values >= low) & (values <= high))

    def _describe(self, name: str, values: Tensor) -> str:
        index = self._bad_values(name, values).nonzero()[0].tolist()
        low, high = self._fields[name].limits
        place = ", ".join(map(str, index))
        return f"{name}[{place}] is {values[tuple(index)].item()}, allowed is {low}..{high}"
