"""What is approved: the exact action, and the hash that an approval is bound to."""

from typing import Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from gaelp.approvals.canonical import digest
from gaelp.approvals.field_types import Count, Label, LimitMicros, Sha256
from gaelp.approvals.mandate import Mandate
from gaelp.config.base import Frozen
from gaelp.config.names import Name, Slug
from gaelp.money import Money

__all__ = ["LiveOrSandbox", "SignedAction", "SignedActionKind", "action_hash"]

SignedActionKind = Literal["budget", "gate", "mandate", "release", "revive"]
LiveOrSandbox = Literal["live", "sandbox"]

# The fields an action must have; without them its approval would cover more than the person saw.
_NEEDED: dict[SignedActionKind, tuple[str, ...]] = {
    "gate": ("gate", "attempt", "model_hash", "evidence_hash"),
    "release": ("attempt", "model_hash", "evidence_hash", "account", "currency", "campaigns", "limits_micros"),
    "mandate": ("subject", "mandate"),
    "revive": ("subject",),
    "budget": ("subject", "account", "currency", "limits_micros"),
}


class SignedAction(Frozen):
    """One thing to be done once; whatever differs in any field is another action and needs another approval.

    Two actions that are otherwise equal differ in `attempt` or `subject`.
    """

    model_config = ConfigDict(strict=True)

    kind: SignedActionKind
    run_id: Label
    requester: Name  # who asks; with four eyes, not among those who approve
    world: LiveOrSandbox = "live"  # sandbox: no real money can move
    gate: Slug | None = None
    attempt: Count | None = None
    model_hash: Sha256 | None = None
    evidence_hash: Sha256 | None = None  # of the verdict that the person saw
    config_hash: Sha256 | None = None
    subject: Label | None = Field(default=None, description="the stop that is lifted, or the change of a budget")
    account: Label | None = None
    currency: str | None = None
    campaigns: tuple[Label, ...] = Field(default=(), max_length=1000)
    limits_micros: dict[Name, LimitMicros] = Field(default={}, max_length=100)
    mandate: Mandate | None = None  # for kind mandate: all that it allows

    @model_serializer(mode="wrap")
    def _without_an_absent_mandate(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Actions that were signed before there were mandates keep their hash.
        values: dict[str, Any] = write(self)
        if self.mandate is None:
            values.pop("mandate", None)
        return values

    @field_validator("currency")
    @classmethod
    def _currency_exists(cls, currency: str | None) -> str | None:
        return currency if currency is None else Money(0, currency).currency

    @field_validator("campaigns")
    @classmethod
    def _campaigns_are_a_set(cls, campaigns: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(campaigns)) != len(campaigns):
            raise ValueError("a campaign is named twice: name each once")
        return tuple(sorted(campaigns))

    @model_validator(mode="after")
    def _says_all_it_must(self) -> Self:
        missing = [name for name in _NEEDED[self.kind] if getattr(self, name) in (None, (), {})]
        if missing:
            raise ValueError(f"an action of kind {self.kind} lacks {', '.join(missing)}: fill in what is approved")
        if self.mandate is not None and self.kind != "mandate":
            raise ValueError(f"an action of kind {self.kind} carries a mandate: only kind mandate does")
        return self


def action_hash(action: SignedAction) -> str:
    """SHA-256 (hex) over every field of the action."""
    return digest("action", action.model_dump(mode="json"))
