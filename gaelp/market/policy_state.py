"""What a rule keeps between hours, as arrays by name with one row a campaign."""

from typing import ClassVar, Protocol

import numpy as np

from gaelp.errors import BadInput
from gaelp.market.view import Brief
from gaelp.types import PolicyState

__all__ = ["CHOSEN", "KeptState", "Part", "part_of", "prefixed"]

CHOSEN = "last_residual"  # in the state of a policy that moves a rule's bids: what it chose in the last hour, (N, S)


class Part(Protocol):
    """A part of a rule that keeps arrays of its own."""

    def state(self) -> PolicyState:
        """What it keeps; later decisions leave these arrays unchanged."""
        ...

    def restore(self, state: PolicyState) -> None:
        """Put back what `state` returned."""
        ...


class KeptState:
    """Gives a rule, or a part of one, its state: `_kept` names what it keeps, without the leading underscore.

    An attribute holds an array with one row a campaign, which is replaced and never written to, or a `Part`.
    """

    _kept: ClassVar[tuple[str, ...]] = ()

    def state(self) -> PolicyState:
        """What the next decision depends on beside brief and observation."""
        arrays: dict[str, np.ndarray] = {}
        for name in self._kept:
            kept = getattr(self, f"_{name}")
            arrays |= {name: kept} if isinstance(kept, np.ndarray) else prefixed(name, kept.state())
        return arrays

    def restore(self, state: PolicyState) -> None:
        """Put back what `state` returned, into a rule that has begun with the same campaigns."""
        _refuse_other_form(self.state(), state)
        for name in self._kept:
            kept = getattr(self, f"_{name}")
            if isinstance(kept, np.ndarray):
                setattr(self, f"_{name}", state[name])
            else:
                kept.restore(part_of(name, state))

    def load_state(self: "_Rule", brief: Brief, state: PolicyState, /) -> None:
        """Resume campaigns in the place of `begin`."""
        self.begin(brief)
        self.restore(state)


class _Rule(Protocol):
    """What resuming a rule needs of it."""

    def begin(self, brief: Brief, /) -> None: ...

    def restore(self, state: PolicyState) -> None: ...


def prefixed(part: str, state: PolicyState) -> PolicyState:
    """The state of a part under the part's name."""
    return {f"{part}.{name}": array for name, array in state.items()}


def part_of(part: str, state: PolicyState) -> PolicyState:
    """The state of one part, as `prefixed` got it."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def _refuse_other_form(fresh: PolicyState, state: PolicyState) -> None:
    if different := sorted(fresh.keys() ^ state.keys()):
        raise BadInput(
            f"the state has {', '.join(state) or 'nothing'}, this policy keeps {', '.join(fresh) or 'nothing'}"
            f" (different: {', '.join(different)}): load a state of the same policy and release"
        )
    for name, array in fresh.items():
        given = state[name]
        if (given.dtype, given.shape) != (array.dtype, array.shape):
            raise BadInput(
                f"state {name} is {given.dtype} of shape {given.shape}, the brief needs {array.dtype} of shape"
                f" {array.shape}: load the rows of the campaigns that are in the brief"
            )
