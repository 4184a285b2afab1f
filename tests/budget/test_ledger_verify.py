"""Verifying finds every change behind the ledger's back, says where it is, and never breaks on what it finds."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from gaelp.budget.latch import StopRecord
from gaelp.budget.ledger import (
    Cap,
    CapKind,
    LedgerBroken,
    Reservation,
    create_ledger,
    find_transfer,
    overview,
    post,
    raise_fence,
    reserve,
    set_limit,
    transfers_in,
    verify,
)
from gaelp.budget.ledger.transfers import State
from gaelp.clock import ManualClock

NIGHT = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)  # half past midnight in Berlin


@pytest.fixture
def clock():
    return ManualClock(NIGHT)


@pytest.fixture
def ledger(place, databases, tmp_path, clock):
    made = databases.new_ledger(place, tmp_path, clock=clock)
    reserve(made, Reservation("a", databases.ACCOUNT, databases.usd(100), databases.CAPS))
    reserve(made, Reservation("b", databases.ACCOUNT, databases.usd(100), databases.CAPS))
    post(made, "b", databases.usd(90))
    assert verify(made).balances
    yield made
    made.close()


def tampered(ledger, *statements):
    with ledger.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    return verify(ledger)


TAMPERING = {
    "currency of an account": ("UPDATE ledger_account SET currency = 'EUR'", "a", "currency, of its account"),
    "currency nobody knows": ("UPDATE ledger_account SET currency = 'junk'", "account acc", "currency"),
    "time zone of an account": ("UPDATE ledger_account SET time_zone = 'UTC'", "a", "day, in its account's time zone"),
    "time zone nobody knows": ("UPDATE ledger_account SET time_zone = 'Mars/Dome'", "account acc", "time zone"),
    "lost account": ("DELETE FROM ledger_account", "a", "account"),
    "lost account of a limit": ("DELETE FROM ledger_account", "limit campaign spring", "account"),
    "lost limit": ("DELETE FROM ledger_limit", "total:all", "its limit is gone"),
    "lost fence": ("DELETE FROM ledger_fence", "ledger_fence", "rows"),
    "fence of junk": ("UPDATE ledger_fence SET record = 'junk'", "ledger_fence", "record, without a stop"),
    "stop without a record": ("UPDATE ledger_fence SET stop_id = 's'", "ledger_fence", "stop, from its record"),
    "currency of a transfer": ("UPDATE ledger_transfer SET currency = 'EUR'", "a", "currency, of its account"),
    "account of a transfer": ("UPDATE ledger_transfer SET account_id = 'other'", "a", "account"),
    "day of a transfer": ("UPDATE ledger_transfer SET day = '2026-03-27'", "a", "day, in its account's time zone"),
    "day that is none": ("UPDATE ledger_transfer SET day = 'junk'", "a", "day, in its account's time zone"),
    "time beyond the calendar": ("UPDATE ledger_transfer SET created_at_ms = 4000000000000000000", "a", "day, in its"),
    "currency of a cap": ("UPDATE ledger_cap SET currency = 'EUR'", "total:all", "currency, of its limit"),
    "currency of a cap, for a transfer": ("UPDATE ledger_cap SET currency = 'EUR'", "a", "currency, of total:all"),
    "account of a cap": ("UPDATE ledger_cap SET account_id = 'x' WHERE kind = 'campaign'", "a", "account, of campaign"),
    "kind of a cap": ("UPDATE ledger_cap SET kind = 'weekly'", "total:all", "cap"),
    "day of a cap": ("UPDATE ledger_cap SET day = '2026-03-01' WHERE kind = 'total'", "total:all", "name, from"),
    "limit of a cap": (
        "UPDATE ledger_cap SET limit_micros = 999 WHERE kind = 'total'",
        "total:all",
        "limit, as it was",
    ),
    "limit of today": (
        "UPDATE ledger_cap SET limit_micros = 999 WHERE kind = 'account_day'",
        "account_day:acc:2026-03-29",
        "limit, as it was",
    ),
    "limit, and not its cap": ("UPDATE ledger_limit SET limit_micros = 999", "total:all", "limit, as it was"),
    "kind of a limit": ("UPDATE ledger_limit SET kind = 'weekly' WHERE kind = 'total'", "limit weekly all", "kind"),
    "currency of a limit": ("UPDATE ledger_limit SET currency = 'EUR'", "limit campaign spring", "currency"),
    "account of a total": ("UPDATE ledger_limit SET account_id = 'acc'", "limit total all", "account"),
    "caps that are no JSON": ("UPDATE ledger_transfer SET caps = 'junk'", "a", "caps and state"),
    "caps that are a number": ("UPDATE ledger_transfer SET caps = '7'", "a", "caps and state"),
    "no caps": ("UPDATE ledger_transfer SET caps = '[]'", "a", "caps and state"),
    "caps of no kind": ("""UPDATE ledger_transfer SET caps = '[["weekly", "x"]]'""", "a", "caps and state"),
    "a cap twice": ("""UPDATE ledger_transfer SET caps = '[["total", "x"], ["total", "x"]]'""", "a", "caps and state"),
}


@pytest.mark.parametrize(("statement", "where", "what"), TAMPERING.values(), ids=TAMPERING.keys())
def test_a_change_behind_the_ledgers_back_is_found_where_it_is(ledger, statement, where, what):
    # A colon before a name would be taken for a parameter.
    found = tampered(ledger, statement.replace(":", "\\:"))
    assert not found.balances
    assert any(one.where == where and one.what.startswith(what) for one in found.findings), found.findings


def test_a_stop_that_was_made_as_it_should_be_is_in_order(ledger):
    raise_fence(ledger, StopRecord("s", "2026-03-28T12:00:00+00:00", "ann", "drill"))
    assert verify(ledger).balances
    assert not tampered(ledger, "UPDATE ledger_fence SET stop_id = 'other'").balances


def test_a_day_that_is_over_keeps_the_limit_that_held_then(ledger, databases, clock):
    clock.advance(timedelta(days=1))
    cap = Cap(CapKind.ACCOUNT_DAY, databases.ACCOUNT)
    set_limit(ledger, cap, databases.usd(5), account_id=databases.ACCOUNT)
    assert verify(ledger).balances


def test_a_limit_set_by_a_clock_that_is_ahead_is_no_contradiction(place, databases, tmp_path):
    clock = ManualClock(NIGHT - timedelta(minutes=90))  # an hour before midnight in Berlin
    ledger = databases.new_ledger(place, tmp_path, clock=clock)
    reserve(ledger, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))
    ahead = create_ledger(place, ledger.latch, clock=ManualClock(NIGHT))
    set_limit(ahead, Cap(CapKind.ACCOUNT_DAY, databases.ACCOUNT), databases.usd(5), account_id=databases.ACCOUNT)
    assert verify(ledger).balances
    ahead.close()
    ledger.close()


def test_a_reservation_that_waited_past_midnight_keeps_its_day(place, databases, tmp_path):
    clock = ManualClock(NIGHT - timedelta(minutes=30, seconds=1))

    def wait(point):
        if point == "begun":
            clock.advance(timedelta(seconds=30))

    ledger = databases.new_ledger(place, tmp_path, clock=ManualClock(NIGHT - timedelta(hours=1)))
    waiting = create_ledger(place, ledger.latch, clock=clock, at_point=wait)
    reserve(waiting, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))
    assert find_transfer(ledger, "a").day == "2026-03-28"
    assert find_transfer(ledger, "a").created_at_ms == (NIGHT - timedelta(minutes=29, seconds=31)).timestamp() * 1000
    assert verify(ledger).balances
    waiting.close()
    ledger.close()


@pytest.mark.parametrize("read", [lambda one: find_transfer(one, "a"), lambda one: transfers_in(one, State.RESERVED)])
def test_a_transfer_that_cannot_be_read_is_told_as_damage_and_not_as_a_defect(ledger, read):
    tampered(ledger, "UPDATE ledger_transfer SET caps = 'junk'")
    with pytest.raises(LedgerBroken, match=r"the transfer 'a' cannot be read.*junk.*gaelp ledger verify"):
        read(ledger)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE ledger_limit SET kind = 'weekly' WHERE kind = 'total'", "weekly all is of a kind that is not known"),
        ("DELETE FROM ledger_account", "of account 'acc', which is not in the books"),
    ],
)
def test_limits_that_cannot_be_counted_are_not_shown_as_if_they_could(ledger, statement, said):
    tampered(ledger, statement)
    with pytest.raises(LedgerBroken, match=said):
        overview(ledger)


def test_no_more_findings_are_kept_than_anybody_reads(place, databases, tmp_path):
    ledger = databases.new_ledger(place, tmp_path)
    with ledger.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO ledger_transfer (key, account_id, currency, amount_micros, caps, day, state,"
                " posted_micros, adjusted_micros, created_at_ms, expires_at_ms)"
                " VALUES (:key, 'gone', 'USD', 1, 'junk', '', 'voided', 0, 0, 0, 0)"
            ),
            [{"key": f"k{number}"} for number in range(1500)],
        )
    found = verify(ledger)
    ledger.close()
    assert (len(found.findings), found.transfers) == (1000, 1500)
