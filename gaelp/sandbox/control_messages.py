"""The requests and answers of a sandbox's control server: what drives time, faults and the process itself."""

from typing import Self

from pydantic import Field, model_validator

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant, Sha256
from gaelp.sandbox.spec import SandboxSpec

__all__ = [
    "AdvanceRequest",
    "BarrierRequest",
    "ClickRateRequest",
    "DumpAnswer",
    "ResetRequest",
    "SalesAnswer",
    "SandboxSale",
    "SandboxStatus",
    "SpeedRequest",
    "SuspendRequest",
]


class SandboxStatus(Frozen):
    """Where a running sandbox is."""

    folder: str
    pid: int
    now: Instant
    speed: float  # simulated seconds per second; 0 is stopped
    barrier: Instant | None  # which time does not pass
    failure: str | None  # why time stopped by itself
    seed: int
    time_zone: str
    currency: str
    customer_ids: tuple[str, ...]
    manager_customer_id: str
    meta_account_ids: tuple[str, ...]
    ports: dict[str, int]  # of the fronts
    certificate_path: str


class AdvanceRequest(Frozen):
    """Let time pass to an instant, or for so many seconds."""

    to: Instant | None = None
    seconds: int | None = Field(default=None, ge=0, le=10**9)  # more leads beyond the dates there are

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.to is None) == (self.seconds is None):
            raise ValueError('give either "to" (an instant) or "seconds"')
        return self


class SpeedRequest(Frozen):
    """Run at this speed; 0 stops the clock."""

    speed: float


class BarrierRequest(Frozen):
    """Let time run up to this instant and no further; null takes the barrier away."""

    until: Instant | None


class ResetRequest(Frozen):
    """Begin again; with another seed or another spec if one is given."""

    seed: int | None = None
    spec: SandboxSpec | None = None


class SuspendRequest(Frozen):
    """Suspend an account of a front as the platform would, or reinstate it."""

    front: str
    account: str
    suspended: bool = True


class ClickRateRequest(Frozen):
    """Multiply the click rates of all adverts by this factor from now on; 1 ends the fault."""

    factor: float


class DumpAnswer(Frozen):
    """The hash of the canonical dump at an instant."""

    now: Instant
    sha256: Sha256


class SandboxSale(Frozen):
    """A sale of the shop behind the adverts, as its own system records it; the ad platform never learns of refunds."""

    sale: int
    click: int  # the ad platform's id of the click that led to it
    campaign: str
    segment: str  # the ad group
    click_at: Instant
    at: Instant
    value_micros: int
    refunded_at: Instant | None = None  # when the buyer sent the goods back


class SalesAnswer(Frozen):
    """The sales of clicks on some days, as they are known at an instant."""

    now: Instant
    sales: tuple[SandboxSale, ...]
