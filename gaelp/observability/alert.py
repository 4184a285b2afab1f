"""What an alert is: one thing somebody should know, without secrets; and a critical one that waits for an answer."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, JsonValue, NonNegativeInt, field_validator

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.observability.redact import mask, mask_text

__all__ = ["Alert", "PendingAlert", "Severity"]

Severity = Literal["info", "warning", "critical"]


class Alert(Frozen):
    """One thing somebody should know. Secrets are masked on the way in: no channel ever sees them."""

    severity: Severity
    source: Annotated[str, Field(min_length=1, max_length=100)]
    key: Annotated[str, Field(min_length=1, max_length=200, description="alerts of one source and key are the same")]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    body: Annotated[str, Field(max_length=8000)] = ""
    at: Instant
    context: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("title", "body", mode="after")
    @classmethod
    def _text_without_secrets(cls, text: str) -> str:
        return mask_text(text)

    @field_validator("title", mode="after")
    @classmethod
    def _one_line(cls, title: str) -> str:
        return " ".join(title.split())  # a title becomes a mail header: a line break in it would forge others

    @field_validator("context", mode="before")
    @classmethod
    def _context_without_secrets(cls, context: object) -> object:
        return mask(context)

    @property
    def name(self) -> tuple[str, str]:
        """What alerts of one kind share."""
        return self.source, self.key


class PendingAlert(Frozen):
    """A critical alert that nobody has acknowledged."""

    alert: Alert
    since: AwareDatetime
    escalated: bool = False
    repeats: NonNegativeInt = 0  # how often it came again while it waited

    def seen_again(self) -> "PendingAlert":
        """The same, come once more."""
        return self.model_copy(update={"repeats": self.repeats + 1})
