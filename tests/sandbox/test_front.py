"""Fronts by name, and the time that a call carries."""

from datetime import UTC, datetime

import pytest

from gaelp.errors import BadInput, ComponentMissing
from gaelp.sandbox import front
from gaelp.sandbox.front import load_front, stamped_time


def test_an_unknown_front_is_refused_with_those_that_there_are():
    with pytest.raises(BadInput, match="allowed: google, meta"):
        load_front("bing")


def test_a_front_whose_package_is_missing_says_so(monkeypatch):
    monkeypatch.setattr(front, "FRONTS", {"google": "nothing_of_this_name:start"})
    with pytest.raises(ComponentMissing, match="needs nothing_of_this_name"):
        load_front("google")


def test_a_call_carries_its_time_in_any_time_zone():
    assert stamped_time(None) is None
    assert stamped_time("2026-03-01T13:00:00+01:00") == datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01T12:00:00", "2026-13-01T12:00:00Z"])
def test_a_time_that_is_none_is_refused(text):
    with pytest.raises(BadInput, match="gaelp-sandbox-time"):
        stamped_time(text)
