"""Field types that several packages share: an instant in UTC, a share, a SHA-256 hash."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

__all__ = ["Instant", "Sha256", "Share", "in_utc"]


def in_utc(instant: datetime) -> datetime:
    """The same instant in UTC; ValueError where it lies beyond the years 1 to 9999."""
    try:
        return instant.astimezone(UTC)
    except OverflowError as problem:
        raise ValueError(f"saw {instant.isoformat()}; allowed: the years 1 to 9999 in UTC") from problem


Instant = Annotated[AwareDatetime, AfterValidator(in_utc)]
Sha256 = Annotated[str, Field(strict=True, pattern=r"\A[0-9a-f]{64}\z")]
Share = Annotated[float, Field(ge=0, le=1)]
