"""Who receives alerts and how often: the channels and the limits on them."""

from typing import Self

from pydantic import ConfigDict, Field, PositiveFloat, PositiveInt, SecretStr, model_validator

from gaelp.config.base import Frozen

__all__ = ["AlertPolicy", "AlertSettings", "ChannelSettings", "EmailSettings", "WebhookSettings"]


class WebhookSettings(Frozen):
    """Where alerts are posted to as JSON, and how patiently."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: SecretStr = Field(description="an address may hold a token, so it is a secret")
    timeout_seconds: PositiveFloat = Field(default=5.0, le=60)
    attempts: int = Field(default=3, ge=1, le=10)
    wait_seconds: float = Field(default=0.5, ge=0, le=30, description="before the second attempt; doubled each time")


class EmailSettings(Frozen):
    """The mail server and who is written to."""

    model_config = ConfigDict(hide_input_in_errors=True)

    host: str = Field(min_length=1)
    port: int = Field(ge=1, le=65535)
    sender: str = Field(min_length=3, pattern=r"^[^\s@]+@[^\s@]+$")
    recipients: tuple[str, ...] = Field(min_length=1, max_length=50)
    starttls: bool = Field(default=True, description="encrypt before anything is said; off only for a server nearby")
    user: str | None = None
    password: SecretStr | None = None
    timeout_seconds: PositiveFloat = Field(default=10.0, le=60)

    @model_validator(mode="after")
    def _a_login_is_encrypted(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password belong together: give both or neither")
        if self.user is not None and not self.starttls:
            raise ValueError("a password would travel in the clear: turn starttls on, or log in without one")
        return self

    @model_validator(mode="after")
    def _recipients_are_addresses(self) -> Self:
        bad = [name for name in self.recipients if name.count("@") != 1 or any(letter.isspace() for letter in name)]
        if bad:
            raise ValueError(f"{bad} are no mail addresses: write them like ops@example.com")
        return self


class AlertPolicy(Frozen):
    """How often people are alerted."""

    repeat_after_minutes: PositiveFloat = Field(default=1440.0, description="the same alert is sent again after this")
    rate_window_minutes: PositiveFloat = 10.0
    rate_limit: PositiveInt = Field(default=20, description="alerts per window; critical ones are never held back")
    escalate_after_minutes: PositiveFloat = Field(default=15.0, description="a critical alert may wait this long")


class ChannelSettings(Frozen):
    """The ways to reach one circle of people; the log is always written beside them."""

    webhook: WebhookSettings | None
    email: EmailSettings | None


class AlertSettings(Frozen):
    """Who is alerted at once, who when a critical alert stays unanswered, and how often."""

    first: ChannelSettings
    second: ChannelSettings
    policy: AlertPolicy
