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
    SignedChange,
    create_ledger,
    expire,
    find_transfer,
    known_limit,
    mark_in_flight,
    overview,
    post,
    raise_fence,
    reserve,
    set_limit,
    transfers_in,
    verify,
    void,
)
from gaelp.budget.ledger.transfers import TransferState
from gaelp.clock import ManualClock
from gaelp.money import Money

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
    reserve(made, Reservation("sent", databases.ACCOUNT, databases.usd(100), databases.CAPS))
    mark_in_flight(made, "sent")
    reserve(made, Reservation("void", databases.ACCOUNT, databases.usd(100), databases.CAPS))
    void(made, "void")
    assert verify(made).balances
    yield made
    made.close()


def tampered(ledger, *statements):
    with ledger.database.engine.begin() as connection:
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
    "sent, and said to be reserved": (
        "UPDATE ledger_transfer SET state = 'reserved' WHERE key = 'sent'",
        "sent",
        "steps to reserved",
    ),
    "reserved, and said to be sent": (
        "UPDATE ledger_transfer SET state = 'in_flight' WHERE key = 'a'",
        "a",
        "steps to in_flight",
    ),
    "voided, and said to be expired": (
        "UPDATE ledger_transfer SET state = 'expired' WHERE key = 'void'",
        "void",
        "expired too early",
    ),
    "over before it began": ("UPDATE ledger_transfer SET expires_at_ms = created_at_ms - 1", "a", "time to send"),
    "over in a century": (
        "UPDATE ledger_transfer SET expires_at_ms = created_at_ms + 3000000000000",
        "a",
        "time to send",
    ),
    "limit of one account that is another's": (
        "UPDATE ledger_limit SET subject = 'other' WHERE kind = 'account_day'",
        "limit account_day other",
        "account, of its subject",
    ),
    "a second total": (
        "INSERT INTO ledger_limit SELECT kind, 'two', '', currency, 1 FROM ledger_limit WHERE kind = 'total'",
        "limit total two",
        "subject",
    ),
    "lost table of signed changes": ("DROP TABLE ledger_signed", "ledger_signed", "table"),
    "signed change of nothing": (
        "INSERT INTO ledger_signed VALUES ('x', '', 'junk', 'junk', 0)",
        "ledger_signed x",
        "action",
    ),
    "signed change of another kind": (
        "INSERT INTO ledger_signed VALUES ('x', '', 'junk', '[]', 0)",
        "ledger_signed x",
        "kind",
    ),
    "signed change of another action": (
        """INSERT INTO ledger_signed VALUES ('x', '', 'junk', '{"action_hash": "y"}', 0)""",
        "ledger_signed x",
        "action, from its record",
    ),
    "caps that are no JSON": ("UPDATE ledger_transfer SET caps = 'junk'", "a", "caps and state"),
    "caps that are a number": ("UPDATE ledger_transfer SET caps = '7'", "a", "caps and state"),
    "no caps": ("UPDATE ledger_transfer SET caps = '[]'", "a", "caps and state"),
    "caps of no kind": ("""UPDATE ledger_transfer SET caps = '[["weekly", "x"]]'""", "a", "caps and state"),
    "a cap twice": ("""UPDATE ledger_transfer SET caps = '[["total", "x"], ["total", "x"]]'""", "a", "caps and state"),
}


@pytest.mark.parametrize(("statement", "where", "what"), TAMPERING.values(), ids=TAMPERING.keys())
def test_a_change_behind_the_ledgers_back_is_found_where_it_is(ledger, statement, where, what):
    # A colon before a name would be taken for a parameter.
    result = tampered(ledger, statement.replace(":", "\\:"))
    assert not result.balances
    assert any(each.where == where and each.what.startswith(what) for each in result.findings), result.findings


def test_what_no_constraint_keeps_out_any_more_is_found(ledger):
    if ledger.database.engine.dialect.name == "sqlite":
        loosen, tighten = ["PRAGMA ignore_check_constraints = ON"], ["PRAGMA ignore_check_constraints = OFF"]
    else:
        loosen = [
            "ALTER TABLE ledger_cap DROP CONSTRAINT cap_breached_is_a_flag",
            "ALTER TABLE ledger_fence DROP CONSTRAINT fence_is_one_row",
        ]
        tighten = []
    result = tampered(
        ledger,
        *loosen,
        "UPDATE ledger_cap SET breached = 7 WHERE kind = 'total'",
        "INSERT INTO ledger_fence (id, stop_id, record) VALUES (2, '', '')",
        *tighten,
    )
    places = {(each.where, each.what) for each in result.findings}
    assert places == {("total:all", "breached"), ("ledger_fence", "rows")}


def test_a_transfer_may_be_sent_posted_voided_and_expire_as_it_should(ledger, clock):
    post(ledger, "sent", Money(1, "USD"))
    clock.advance(timedelta(hours=1))
    assert expire(ledger) == ["a"]
    assert verify(ledger).balances


@pytest.mark.parametrize("signed", [None, SignedChange("ab" * 32, "live", "limit.set", "{}")])
def test_books_that_have_lost_the_table_of_signed_changes_raise_nothing_and_still_lower(ledger, databases, signed):
    total = Cap(CapKind.TOTAL, "all")
    before = known_limit(ledger, total)
    tampered(ledger, "DROP TABLE ledger_signed")
    with pytest.raises(LedgerBroken, match="ledger_signed is missing"):
        set_limit(ledger, total, before + databases.usd(1), signed=signed)
    set_limit(ledger, total, before - databases.usd(1))
    assert known_limit(ledger, total) == before - databases.usd(1)


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


@pytest.mark.parametrize(
    "read", [lambda each: find_transfer(each, "a"), lambda each: transfers_in(each, TransferState.RESERVED)]
)
def test_a_transfer_that_cannot_be_read_is_reported_as_damage_and_not_as_a_defect(ledger, read):
    tampered(ledger, "UPDATE ledger_transfer SET caps = 'junk'")
    with pytest.raises(LedgerBroken, match=r"the transfer 'a' cannot be read.*junk.*gaelp ledger verify"):
        read(ledger)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE ledger_limit SET kind = 'weekly' WHERE kind = 'total'", "weekly all is of an unknown kind"),
        ("DELETE FROM ledger_account", "of account 'acc', which is missing from the ledger"),
    ],
)
def test_limits_that_cannot_be_counted_are_not_shown_as_if_they_could(ledger, statement, said):
    tampered(ledger, statement)
    with pytest.raises(LedgerBroken, match=said):
        overview(ledger)


def test_no_more_findings_are_kept_than_anybody_reads(place, databases, tmp_path):
    ledger = databases.new_ledger(place, tmp_path)
    with ledger.database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO ledger_transfer (key, account_id, currency, amount_micros, caps, day, state,"
                " posted_micros, adjusted_micros, created_at_ms, expires_at_ms)"
                " VALUES (:key, 'gone', 'USD', 1, 'junk', '', 'voided', 0, 0, 0, 0)"
            ),
            [{"key": f"k{number}"} for number in range(1500)],
        )
    result = verify(ledger)
    ledger.close()
    assert (len(result.findings), result.transfers) == (1000, 1500)
