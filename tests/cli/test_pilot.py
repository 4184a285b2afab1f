"""`gaelp pilot`: settings beyond a small budget are bad input; a person releases a held campaign."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.authority.audit_records import audit_rows
from gaelp.config import load_settings
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, book_place

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def book(here):
    """The record of a pilot that holds one of two campaigns."""
    settings = load_settings("base", overrides=[f"home={here}"], environ={}).settings
    with closing(DecisionBook(book_place(settings), "run-1")) as opened:
        decided = [CampaignDecision(name, 0, (1,), (0.0,), (False,)) for name in ("spring", "summer")]
        opened.store(0, NOW, decided, {})
        opened.add_event("hold", "eve changed its budget", NOW, campaign="spring")
        yield opened


def test_a_held_campaign_is_released(gaelp, here, book):
    result = gaelp("pilot", "release", "spring", "--reason", "it was me", "--set", f"home={here}")
    assert result.exit_code == 0, result.stderr
    assert "spring is released in run run-1" in result.stderr
    assert book.held() == {}
    settings = load_settings("base", overrides=[f"home={here}"], environ={}).settings
    assert ["it was me" in row.body for row in audit_rows(settings)] == [True]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("winter", "--reason", "fine"), 2, "no pilot has a campaign 'winter': held are spring"),
        (("summer", "--reason", "fine"), 3, "summer is not held"),
        (("spring", "--reason", ""), 2, "without a reason"),
        (("spring",), 2, "--reason"),
    ],
)
def test_what_cannot_be_released_is_refused(gaelp, here, book, words, code, said):
    result = gaelp("pilot", "release", *words, "--set", f"home={here}")
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())
    assert list(book.held()) == ["spring"]


@pytest.mark.parametrize(
    ("command", "override", "said"),
    [
        ((), "pilot.daily_micros=50000001", "50000000"),
        (("plan",), "pilot.daily_micros=50000001", "50000000"),
        ((), "pilot.daily_micros=9999999", "10000000"),
        ((), "pilot.local=false", "docs/go-live.md"),
    ],
)
def test_settings_beyond_a_pilot_are_bad_input_before_anything_begins(gaelp, here, command, override, said):
    result = gaelp("pilot", *command, "--config", "quick-test", "--set", f"home={here}", "--set", override)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())
    assert not (here / "runs").exists()
