"""The figures for Prometheus come from the books; what cannot be read counts as stopped, looking leaves no trace."""

from datetime import UTC, datetime, timedelta

import pytest

from gaelp.api import read_figures
from gaelp.bootstrap import kill_switch, violations
from gaelp.budget.latch import LATCH_NAME
from gaelp.budget.ledger import LEDGER_NAME, AdAccount, Cap, CapKind, Reservation, post, reserve, set_limit
from gaelp.budget.violations import Resolution, Violation
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.guard_bootstrap import create_books
from gaelp.money import Money

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ACCOUNT, DAY = Cap(CapKind.ACCOUNT, "acc"), Cap(CapKind.ACCOUNT_DAY, "acc")


def dollars(number):
    return Money(number * 1_000_000, "USD")


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, overrides=[f"home={tmp_path}"], environ={}).settings


@pytest.fixture
def ledger(settings, clock):
    made = create_books(settings, AdAccount("acc", "USD", "UTC"), clock)
    set_limit(made, ACCOUNT, dollars(50), account_id="acc")
    set_limit(made, DAY, dollars(9), account_id="acc")
    yield made
    made.close()


def cap_figures(figures):
    return {
        (cap.kind, cap.scope): tuple(
            micros // 1_000_000 for micros in (cap.limit_micros, cap.reserved_micros, cap.posted_micros)
        )
        for cap in figures.caps
    }


def test_a_cap_shows_its_limit_and_what_is_reserved_and_posted(settings, clock, ledger):
    reserve(ledger, Reservation("a", "acc", dollars(4), (ACCOUNT,)))
    reserve(ledger, Reservation("b", "acc", dollars(3), (ACCOUNT,)))
    post(ledger, "b", dollars(2))
    figures = read_figures(settings, clock)
    assert cap_figures(figures)["account", "acc"] == (50, 4, 2)
    assert (figures.kill_state, figures.read_at) == ("running", NOW)


def test_of_a_cap_that_counts_days_only_the_newest_day_is_shown(settings, clock, ledger):
    for key, amount in (("monday", 7), ("tuesday", 2), ("wednesday", 1)):
        clock.advance(timedelta(days=1))
        reserve(ledger, Reservation(key, "acc", dollars(amount), (ACCOUNT, DAY)))
    assert cap_figures(read_figures(settings, clock)) == {
        ("account", "acc"): (50, 10, 0),
        ("account_day", "acc"): (9, 1, 0),
    }


def test_violations_are_counted_by_severity_and_whether_they_are_open(settings, clock):
    store = violations(settings)
    for severity in ("critical", "critical", "info"):
        store.add(Violation(severity=severity, scope="acc", rule="a-rule", what="too much", at=NOW))
    store.resolve(1, Resolution(text="mended", by="ann", at=NOW))
    figures = read_figures(settings, clock)
    assert figures.open_violations == {"info": 1, "warning": 0, "critical": 1}
    assert figures.resolved_violations == {"info": 0, "warning": 0, "critical": 1}


def test_before_there_is_a_ledger_the_rest_is_told_and_no_file_is_made(settings, clock, tmp_path):
    figures = read_figures(settings, clock)
    assert (figures.caps, figures.open_violations, figures.kill_state) == ((), {}, "running")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("ledger")
def test_a_stop_is_shown_as_one(settings, clock):
    kill_switch(settings).stop(by="ann", reason="a drill")
    assert read_figures(settings, clock).kill_state == "stopped"


def test_a_stop_whose_file_alone_is_gone_is_still_shown(settings, clock, ledger, tmp_path):
    kill_switch(settings).stop(by="ann", reason="a drill")
    (tmp_path / LATCH_NAME).unlink()
    assert read_figures(settings, clock).kill_state == "stopped"


def test_a_latch_without_a_record_is_unreadable(settings, clock, tmp_path):
    (tmp_path / LATCH_NAME).touch()
    assert read_figures(settings, clock).kill_state == "unreadable"


def test_a_home_that_is_gone_is_unreadable(settings, clock, tmp_path):
    tmp_path.rmdir()
    assert read_figures(settings, clock) is None


def test_a_ledger_that_is_gone_while_an_account_is_named_is_unreadable(clock, tmp_path):
    named = ["platform.name=double", "platform.account=acc"]
    settings = load_settings(None, overrides=[f"home={tmp_path}", *named], environ={}).settings
    assert read_figures(settings, clock) is None


def test_of_books_that_cannot_be_read_there_are_no_figures(settings, clock, ledger, tmp_path):
    ledger.close()
    (tmp_path / LEDGER_NAME).write_bytes(b"not a database, but long enough to be taken for one" * 100)
    assert read_figures(settings, clock) is None


def test_of_a_record_of_violations_that_cannot_be_read_there_are_no_figures(settings, clock, tmp_path):
    violations(settings)
    (tmp_path / "violations.sqlite").write_bytes(b"not a database" * 100)
    assert read_figures(settings, clock) is None
