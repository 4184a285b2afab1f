"""A binary tree of sums over non-negative numbers: change and draw by share, whole batches at once, in O(log n)."""

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import BadInput

__all__ = ["SumTree"]


class SumTree:
    """Node 1 is the root, node i has the children 2i and 2i + 1; the second half are the leaves.

    Each sum is recomputed from its two children, never by adding a difference, so rounding errors do not accumulate
    and the leaves alone determine every node bit for bit.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise BadInput(f"capacity={capacity} leaves no leaf: give at least 1")
        self.capacity = capacity
        self.levels = (capacity - 1).bit_length()
        self._first_leaf = 1 << self.levels
        self.nodes: Floats = np.zeros(2 * self._first_leaf)

    @property
    def total(self) -> float:
        """The sum of all leaves."""
        return float(self.nodes[1])

    def get(self, indices: Ints) -> Floats:
        """The numbers at `indices`."""
        return self.nodes[self._first_leaf + indices]

    def set(self, indices: Ints, values: Floats) -> None:
        """Write numbers; if an index is given twice, the last value counts."""
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.capacity:
            raise BadInput(f"index {indices.min()}..{indices.max()} is outside 0..{self.capacity - 1}")
        allowed = np.isfinite(values) & (values >= 0)
        if not allowed.all():
            raise BadInput(f"{values[~allowed][0]} is no weight: give finite numbers of at least 0")
        nodes = self._first_leaf + indices
        self.nodes[nodes] = values
        for _ in range(self.levels):
            nodes = nodes >> 1
            self.nodes[nodes] = self.nodes[2 * nodes] + self.nodes[2 * nodes + 1]

    def find(self, heights: Floats) -> Ints:
        """For each height in [0, total) the index where the running sum passes it; never one whose number is zero."""
        if not self.total > 0:
            raise BadInput("every number is zero, so none can be drawn: set some first")
        left_over = heights.copy()
        nodes = np.ones(len(heights), np.int64)
        for _ in range(self.levels):
            nodes <<= 1
            left = self.nodes[nodes]
            # Rounding may carry a height past the last leaf; an empty right half is therefore never entered.
            right = (left_over >= left) & (self.nodes[nodes + 1] > 0)
            left_over -= np.where(right, left, 0.0)
            nodes += right
        return nodes - self._first_leaf
