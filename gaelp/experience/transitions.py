"""Named tensors that belong together row by row, and their split into shuffled minibatches."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from gaelp.errors import BadInput

__all__ = ["Batch"]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Tensors under names, all with the same first dimension: the rows.

    Freshly collected experience is time-major, (T, N, ...); `flatten` makes its T * N steps the rows.
    """

    tensors: Mapping[str, Tensor]

    def __post_init__(self) -> None:
        """Copy the mapping, make it read-only, and refuse tensors with different numbers of rows."""
        if not self.tensors:
            raise BadInput("a batch without tensors has no rows: give at least one")
        counts = {name: tensor.shape[0] if tensor.ndim else 0 for name, tensor in self.tensors.items()}
        if len(set(counts.values())) > 1 or any(not tensor.ndim for tensor in self.tensors.values()):
            raise BadInput(f"rows differ between tensors: {counts}; every tensor needs the same first dimension")
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of that name; BadInput lists the names there are."""
        try:
            return self.tensors[name]
        except KeyError:
            raise BadInput(f"the batch holds no {name!r}; it holds {', '.join(self.tensors)}") from None

    @property
    def rows(self) -> int:
        """Size of the first dimension."""
        return int(next(iter(self.tensors.values())).shape[0])

    def flatten(self, dimensions: int = 2) -> "Batch":
        """Merge the leading dimensions into rows, in memory order: (T, N, ...) becomes (T * N, ...)."""
        leading = {name: tuple(tensor.shape[:dimensions]) for name, tensor in self.tensors.items()}
        if len(set(leading.values())) > 1 or any(len(shape) < dimensions for shape in leading.values()):
            raise BadInput(f"leading {dimensions} dimensions differ: {leading}; expand the smaller tensors first")
        return Batch({name: tensor.flatten(0, dimensions - 1) for name, tensor in self.tensors.items()})

    def select(self, indices: Tensor) -> "Batch":
        """The rows at `indices`, in that order, as copies."""
        return Batch({name: tensor.index_select(0, indices) for name, tensor in self.tensors.items()})

    def shares(self, minibatches: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """Indices of rows, every one exactly once, in an order drawn from `generator`; sizes differ by at most one."""
        if not 1 <= minibatches <= self.rows:
            raise BadInput(f"minibatches={minibatches} cannot share {self.rows} rows: allowed is 1..{self.rows}")
        order = torch.randperm(self.rows, generator=generator)
        return torch.tensor_split(order, minibatches)
