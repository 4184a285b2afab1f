"""Make the ad platform misbehave on purpose: which calls fail, and how; by configuration or while it runs."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from threading import Lock
from typing import Literal, Self, TypeAlias

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, model_validator

from gaelp.config.base import Frozen

__all__ = ["GRPC_STATUSES", "Fault", "FaultInjector", "FaultPlan", "Front"]

Front: TypeAlias = Literal["google", "meta"]

GRPC_STATUSES = (
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)


class Fault(Frozen):
    """One misbehaviour, and the calls it applies to.

    `method` is a pattern with `*`: `CampaignService.MutateCampaigns` or `*.Mutate*` for Google, `POST /act_*/campaigns`
    for Meta. The effects:

    - `error`: the call fails with `status`, before it is applied, or `after` (applied, but the caller sees an error);
    - `lost`: no answer until the caller's deadline or `seconds`, before or after the call is applied;
    - `delay`: the answer takes `seconds` longer; with `after`, the call is applied first;
    - `twice`: the request is processed two times, and the second answer is given, as when a network repeats it;
    - `stale`: a read gets the answer that the same request got last time, if there was one.
    """

    front: Front
    effect: Literal["error", "lost", "delay", "twice", "stale"]
    method: str = Field(default="*", min_length=1)
    status: str = ""  # for `error`: a name of GRPC_STATUSES, or an HTTP status such as 503 for Meta
    when: Literal["before", "after"] = "before"
    seconds: NonNegativeFloat = Field(default=0.0, le=600.0)
    skip: NonNegativeInt = 0  # matching calls that pass first
    times: PositiveInt | None = 1  # how often; None means until it is taken away

    @model_validator(mode="after")
    def _status_fits(self) -> Self:
        if self.effect != "error":
            if self.status:
                raise ValueError(f"status={self.status!r} has no meaning with effect={self.effect!r}: leave it out")
            return self
        if self.front == "google" and self.status not in GRPC_STATUSES:
            raise ValueError(f"status={self.status!r} is not a gRPC status: use one of {', '.join(GRPC_STATUSES)}")
        if self.front == "meta" and not (self.status.isdigit() and 400 <= int(self.status) <= 599):
            raise ValueError(f"status={self.status!r} is not an HTTP error: use a number from 400 to 599")
        return self

    @model_validator(mode="after")
    def _seconds_fit(self) -> Self:
        if self.effect in {"lost", "delay"} and self.seconds == 0:
            raise ValueError(f"effect={self.effect!r} needs seconds above 0: how long the caller waits at most")
        return self


class FaultPlan(Frozen):
    """The faults in order of precedence: a call gets the first that applies to it."""

    faults: tuple[Fault, ...] = ()


class FaultInjector:
    """The faults that are due, shared by all threads of a front; each call asks once."""

    def __init__(self, plan: FaultPlan | None = None) -> None:
        self._lock = Lock()
        self._faults: list[Fault] = list(plan.faults if plan else ())

    def next_fault(self, front: Front, method: str) -> Fault | None:
        """The fault of this call, which counts as one of its `times`; None if the call is to succeed."""
        with self._lock:
            for place, fault in enumerate(self._faults):
                if fault.front != front or not fnmatchcase(method, fault.method):
                    continue
                if fault.skip:
                    self._faults[place] = fault.model_copy(update={"skip": fault.skip - 1})
                    continue
                self._use_once(place, fault)
                return fault
        return None

    def _use_once(self, place: int, fault: Fault) -> None:
        if fault.times == 1:
            del self._faults[place]
        elif fault.times is not None:
            self._faults[place] = fault.model_copy(update={"times": fault.times - 1})

    def add(self, faults: Iterable[Fault]) -> None:
        """Append faults to those that are due."""
        with self._lock:
            self._faults.extend(faults)

    def replace(self, plan: FaultPlan) -> None:
        """Forget the faults that were due, and start with these; an empty plan ends all faults."""
        with self._lock:
            self._faults = list(plan.faults)

    def due(self) -> FaultPlan:
        """What is still to come, with `skip` and `times` as far as they have been used."""
        with self._lock:
            return FaultPlan(faults=tuple(self._faults))
