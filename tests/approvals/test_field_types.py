from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from gaelp.approvals.field_types import Count, Label, LimitMicros, Nonce, Sha256, require_aware
from gaelp.errors import BadInput
from gaelp.money import MAX_MICROS


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Label, " padded"),
        (Label, "zero\u200bwidth"),
        (Label, "e\u0301"),
        (Label, ""),
        (Sha256, "AB" * 32),
        (Sha256, "ab" * 32 + "\n"),
        (Nonce, "ab" * 15),
        (Count, True),
        (Count, -1),
        (LimitMicros, MAX_MICROS + 1),
        (LimitMicros, 1.0),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(kind, value):
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(value)


def test_an_instant_needs_a_time_zone():
    aware = datetime(2026, 11, 16, tzinfo=UTC)
    assert require_aware(aware) is aware
    with pytest.raises(BadInput, match="has no time zone"):
        require_aware(aware.replace(tzinfo=None))
