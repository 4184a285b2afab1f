"""A person lets a held campaign run again: with a reason, on record, and only where it is held."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.authority.audit_records import audit_rows
from gaelp.config import load_settings
from gaelp.errors import BadInput, Refused
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, book_place
from gaelp.pilot.held_campaigns import RELEASED, Release, release_campaign

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path):
    return load_settings("base", overrides=[f"home={tmp_path}"], environ={}).settings


def pilot(settings, name, *, held=(), stopped=False):
    with closing(DecisionBook(book_place(settings), name)) as book:
        decided = [CampaignDecision(f"{name}-{each}", 0, (1,), (0.0,), (False,)) for each in ("spring", "summer")]
        book.store(0, NOW, decided, {})
        for campaign in held:
            book.add_event("hold", "eve changed its budget", NOW, campaign=campaign)
        if stopped:
            book.add_event("stop", "loss-cap", NOW)


def held(settings, name):
    with closing(DecisionBook(book_place(settings), name)) as book:
        return book.held()


def ask(campaign="one-spring", reason="it was me", pilot=None):
    return Release(campaign, "ann", reason, pilot)


def test_the_campaign_is_released_and_the_audit_log_says_by_whom_and_why(settings):
    pilot(settings, "one", held=["one-spring", "one-summer"])
    pilot(settings, "two", held=["two-spring"])
    assert release_campaign(settings, ask(), NOW) == "one"
    assert list(held(settings, "one")) == ["one-summer"]
    [row] = audit_rows(settings)
    assert row.kind == RELEASED
    for said in ("one-spring", "ann", "it was me", "eve changed its budget"):
        assert said in row.body


@pytest.mark.parametrize(
    ("asked", "error", "said"),
    [
        (ask("winter"), BadInput, "no pilot has a campaign 'winter': held are one-spring"),
        (ask("one-summer"), Refused, "one-summer is not held.*held are one-spring"),
        (ask("two-spring"), Refused, "not held in a pilot that still runs"),
        (ask(pilot="three"), BadInput, "saw pilot 'three'; there are one, two"),
        (ask(reason=" "), BadInput, "without a reason"),
    ],
)
def test_what_cannot_be_released_is_refused_and_leaves_no_trace(settings, asked, error, said):
    pilot(settings, "one", held=["one-spring"])
    pilot(settings, "two", held=["two-spring"], stopped=True)
    with pytest.raises(error, match=said):
        release_campaign(settings, asked, NOW)
    assert list(held(settings, "one")) == ["one-spring"]
    assert audit_rows(settings) == ()


def test_where_two_pilots_hold_the_same_name_one_is_to_be_named(settings):
    for name in ("one", "two"):
        pilot(settings, name, held=["shared"])
    with pytest.raises(BadInput, match=r"held in 2 pilots: name one with --run \(one, two\)"):
        release_campaign(settings, ask("shared"), NOW)
    assert release_campaign(settings, ask("shared", pilot="two"), NOW) == "two"
    assert (list(held(settings, "one")), held(settings, "two")) == (["shared"], {})


def test_a_home_without_a_pilot_says_so(settings):
    with pytest.raises(BadInput, match="held are none"):
        release_campaign(settings, ask(), NOW)
