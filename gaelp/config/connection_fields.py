"""Settings that every connector to an ad platform has: the sandbox's certificate, deadline, rate limit, secrets."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field, PositiveFloat, SecretStr

__all__ = ["CallsPerSecond", "DeadlineSeconds", "Endpoint", "SandboxCertificate", "check_secrets", "secret_text"]

Endpoint = Annotated[str, Field(pattern=r"^[A-Za-z0-9.\-]+(:\d{1,5})?$", description="host, or host:port")]
SandboxCertificate = Annotated[Path | None, Field(description="of the sandbox (certificate.pem in its folder)")]
DeadlineSeconds = Annotated[PositiveFloat, Field(le=300, description="for one call; a retried one takes longer")]
CallsPerSecond = Annotated[PositiveFloat, Field(le=1000, description="pauses are never held back")]


class _Connection(Protocol):
    @property
    def certificate(self) -> Path | None: ...


def check_secrets(settings: _Connection, names: Sequence[str], *, owner: str, section: str) -> None:
    """Refuse settings without these secrets, unless they name a certificate: then the server is the sandbox."""
    missing = [name for name in names if getattr(settings, name) is None]
    if settings.certificate is None and missing:
        variables = ", ".join(f"GAELP__PLATFORM__{section.upper()}__{name.upper()}" for name in missing)
        raise ValueError(f"without a certificate of the sandbox, {owner}'s own servers are asked: set {variables}")


def secret_text(secret: SecretStr | None) -> str:
    """The secret itself; empty where none is set."""
    return "" if secret is None else secret.get_secret_value()
