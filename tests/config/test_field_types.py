from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import TypeAdapter, ValidationError

from gaelp.config.field_types import Instant, Sha256, Share, in_utc

BERLIN = timezone(timedelta(hours=1))


def test_an_instant_is_kept_in_utc():
    instant = TypeAdapter(Instant).validate_python(datetime(2026, 1, 1, 12, tzinfo=BERLIN))
    assert (instant.tzinfo, instant.hour) == (UTC, 11)


def test_an_instant_that_utc_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="the years 1 to 9999"):
        in_utc(datetime(1, 1, 1, tzinfo=BERLIN))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Instant, "2026-01-01T00:00:00"),
        (Sha256, "A" * 64),
        (Sha256, "a" * 63),
        (Sha256, "a" * 64 + "\n"),
        (Share, 1.01),
    ],
)
def test_what_is_of_another_kind_is_refused(kind, value):
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)
