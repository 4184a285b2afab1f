"""Words that every package shares: the four phases, what a policy is, and how a run is called."""

from collections.abc import Callable
from enum import StrEnum
from typing import NewType, Protocol, TypeVar

from gaelp.clock import Clock
from gaelp.errors import BadInput

__all__ = ["Phase", "Policy", "RunId", "new_run_id"]

RunId = NewType("RunId", str)

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


class Policy(Protocol[BriefT_contra, ObsT_contra, ActionT_co]):
    """Decides what N campaigns do next; a tuned rule and a learned agent are policies alike.

    Whoever evaluates, gates or releases a policy sees only this, so a rule that is proven better is promoted like any
    agent. A policy may keep state between decisions; `begin` starts it afresh.
    """

    @property
    def name(self) -> str:
        """What reports and verdicts call this policy."""
        ...

    def begin(self, brief: BriefT_contra, /) -> None:
        """Hear, once per batch of episodes, what the advertiser knows at launch; forget the batch before."""
        ...

    def act(self, obs: ObsT_contra, /) -> ActionT_co:
        """Return one decision for all N campaigns."""
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
