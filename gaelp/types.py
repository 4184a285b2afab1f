"""Words that every package shares: the four phases, what a policy is, and how a run is called."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, NewType, Protocol, TypeVar

import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.clock import Clock
from gaelp.errors import BadInput

__all__ = ["Phase", "Policy", "PolicyState", "RunId", "SegmentBelief", "new_run_id"]

RunId = NewType("RunId", str)
PolicyState = Mapping[str, npt.NDArray[Any]]  # by name; the first axis of every array is the campaign

_RUN_ID_RANDOM_BYTES = 3

BriefT_contra = TypeVar("BriefT_contra", contravariant=True)
ObsT_contra = TypeVar("ObsT_contra", contravariant=True)
ActionT_co = TypeVar("ActionT_co", covariant=True)


class Phase(StrEnum):
    """One of the four phases, in the order in which an agent passes them."""

    SIMULATION = "simulation"
    HISTORY = "history"
    PILOT = "pilot"
    SCALE = "scale"

    @property
    def next(self) -> "Phase | None":
        """The phase after this one, None after the last."""
        following = list(Phase)[list(Phase).index(self) + 1 :]
        return following[0] if following else None


class SegmentBelief(NamedTuple):
    """What earlier campaigns say about each segment before launch: a normal prior of the log value of an impression."""

    value_log: Floats  # (N, S) mean, log micros
    value_log_sd: Floats  # (N, S) standard deviation: the smaller, the more is known


class Policy(Protocol[BriefT_contra, ObsT_contra, ActionT_co]):
    """Decides what N campaigns do next; a tuned rule and a learned agent are policies alike.

    Whoever evaluates, gates or releases a policy sees only this, so a rule that is proven better is promoted like any
    agent. What a policy remembers between decisions is its `state`, one row a campaign. Campaigns are independent: a
    campaign gets the same actions to the bit whichever other campaigns share its calls, whatever their age, and
    wherever its state was loaded. `gaelp.market.policy_conformance` checks this for policies that bid.
    """

    @property
    def name(self) -> str:
        """What reports and verdicts call this policy."""
        ...

    def begin(self, brief: BriefT_contra, belief: SegmentBelief | None = None, /) -> None:
        """Start campaigns with what the advertiser knows at launch, and forget all others.

        `belief` is None where earlier campaigns say nothing. A policy without a use for it ignores it; what a policy
        takes from it must be in its state, because `load_state` gets no belief.
        """
        ...

    def act(self, obs: ObsT_contra, /) -> ActionT_co:
        """Return one decision for all N campaigns; every campaign may be in an hour of its own."""
        ...

    def state(self) -> PolicyState:
        """Return what the next decision depends on beside brief and observation; later decisions leave it unchanged."""
        ...

    def load_state(self, brief: BriefT_contra, state: PolicyState, /) -> None:
        """Resume campaigns in the place of `begin`: row n of the state belongs to campaign n of the brief."""
        ...


def new_run_id(clock: Clock, rng_bytes: Callable[[int], bytes]) -> RunId:
    """Name a run by its second in UTC and six random digits, e.g. 20261116-020641-7f3a9c.

    Names sort by time. `rng_bytes(n)` returns n bytes: `secrets.token_bytes`, or a generator's `bytes` for replays.
    """
    tail = rng_bytes(_RUN_ID_RANDOM_BYTES)
    if len(tail) != _RUN_ID_RANDOM_BYTES:
        raise BadInput(
            f"rng_bytes({_RUN_ID_RANDOM_BYTES}) returned {len(tail)} bytes: pass a source such as os.urandom"
        )
    return RunId(f"{clock.now():%Y%m%d-%H%M%S}-{tail.hex()}")
