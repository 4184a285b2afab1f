"""What the ledger promises, on SQLite and on Postgres alike."""

import json
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from gaelp.budget.kill_switch import KillSwitch, fence_of
from gaelp.budget.ledger import (
    AdAccount,
    Bucket,
    Cap,
    CapKind,
    CapReached,
    ExpectedLimit,
    KeyReused,
    LedgerBroken,
    Receipt,
    Reservation,
    SignedChange,
    SpendingStopped,
    TransferState,
    UnknownTransfer,
    WrongState,
    adjust,
    create_ledger,
    expire,
    find_transfer,
    known_limit,
    mark_in_flight,
    open_account,
    open_ledger,
    overview,
    post,
    reopen_cap,
    reserve,
    set_limit,
    signed_changes,
    transfers_in,
    verify,
    void,
)
from gaelp.clock import ManualClock
from gaelp.errors import BadInput, MoneyError, Refused
from gaelp.money import Money

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
TOTAL = Cap(CapKind.TOTAL, "all")


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
def ledger(place, databases, tmp_path, clock):
    """A ledger whose four caps hold 1000 micros each; after every test its books must balance."""
    opened = databases.new_ledger(place, tmp_path, limit=1000, clock=clock)
    yield opened
    checked = verify(opened)
    opened.close()
    assert checked.balances, checked.findings


@pytest.fixture
def ask(databases):
    def ask(key, micros=100, caps=None):
        return Reservation(key, databases.ACCOUNT, databases.usd(micros), caps or databases.CAPS)

    return ask


def usd(micros):
    return Money(micros, "USD")


def caps_of(ledger):
    """(reserved, posted, breached) of each kind of cap; of several days the last."""
    return {cap.kind: (cap.reserved_micros, cap.posted_micros, cap.breached) for cap in overview(ledger).caps}


def everywhere(reserved, posted, breached=False):
    return dict.fromkeys(("campaign_day", "campaign", "account_day", "total"), (reserved, posted, breached))


# Two phases


def test_reserving_holds_the_amount_under_every_cap(ledger, ask):
    assert reserve(ledger, ask("a")) == Receipt("a", TransferState.RESERVED, is_new=True)
    assert caps_of(ledger) == everywhere(100, 0)


def test_posting_books_the_cost_and_frees_the_rest(ledger, ask):
    reserve(ledger, ask("a"))
    assert mark_in_flight(ledger, "a") == Receipt("a", TransferState.IN_FLIGHT, is_new=True)
    assert post(ledger, "a", usd(70)) == Receipt("a", TransferState.POSTED, is_new=True)
    assert caps_of(ledger) == everywhere(0, 70)


def test_voiding_frees_everything(ledger, ask):
    reserve(ledger, ask("a"))
    assert void(ledger, "a").state is TransferState.VOIDED
    assert caps_of(ledger) == everywhere(0, 0)


def test_a_cap_can_be_used_to_the_last_micro_and_not_beyond(ledger, ask):
    reserve(ledger, ask("a", 999))
    reserve(ledger, ask("b", 1))
    with pytest.raises(CapReached, match=r"no room for \$0\.000001"):
        reserve(ledger, ask("c", 1))


def test_spent_money_counts_against_a_cap_like_reserved_money(ledger, ask):
    reserve(ledger, ask("a", 600))
    post(ledger, "a", usd(600))
    with pytest.raises(CapReached):
        reserve(ledger, ask("b", 401))
    assert reserve(ledger, ask("c", 400)).is_new


def test_one_cap_without_room_leaves_no_trace_in_the_others(ledger, ask):
    set_limit(ledger, TOTAL, usd(50))
    with pytest.raises(CapReached, match="total:all"):
        reserve(ledger, ask("a", 51))
    assert all(used[:2] == (0, 0) for used in caps_of(ledger).values())
    with pytest.raises(UnknownTransfer):
        find_transfer(ledger, "a")


def test_a_refused_request_does_not_use_up_its_key(ledger, ask):
    with pytest.raises(CapReached):
        reserve(ledger, ask("a", 1001))
    assert reserve(ledger, ask("a", 5)).is_new


def test_a_cap_without_a_limit_grants_nothing(ledger, ask):
    with pytest.raises(CapReached, match="has no limit"):
        reserve(ledger, ask("a", caps=(Cap(CapKind.EPISODE, "7"),)))


# Idempotency keys


def test_the_same_request_again_changes_nothing_and_says_so(ledger, ask, databases):
    reserve(ledger, ask("a"))
    again = reserve(ledger, ask("a", caps=databases.CAPS[::-1]))
    assert again == Receipt("a", TransferState.RESERVED, is_new=False)
    assert caps_of(ledger) == everywhere(100, 0)


def test_the_receipt_of_a_repeated_request_says_how_it_ended(ledger, ask):
    reserve(ledger, ask("a"))
    void(ledger, "a")
    assert reserve(ledger, ask("a")) == Receipt("a", TransferState.VOIDED, is_new=False)
    assert caps_of(ledger) == everywhere(0, 0)


@pytest.mark.parametrize("change", ["amount", "caps", "account"])
def test_a_key_with_another_body_is_refused(ledger, ask, databases, change):
    open_account(ledger, AdAccount("other", "USD", "UTC"))
    set_limit(ledger, Cap(CapKind.ACCOUNT, "other"), usd(1000), account_id="other")
    reserve(ledger, ask("a", caps=(TOTAL,)))
    second = {
        "amount": ask("a", 101, caps=(TOTAL,)),
        "caps": ask("a", caps=databases.CAPS),
        "account": Reservation("a", "other", usd(100), (TOTAL,)),
    }[change]
    with pytest.raises(KeyReused, match="a new request needs a new key"):
        reserve(ledger, second)
    assert caps_of(ledger)["total"] == (100, 0, False)


def test_keys_never_expire(ledger, ask, clock):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(100))
    clock.advance(timedelta(days=3650))
    assert not reserve(ledger, ask("a")).is_new
    assert not post(ledger, "a", usd(100)).is_new


def test_each_step_can_be_repeated_blindly(ledger, ask):
    for _ in range(2):
        reserve(ledger, ask("a"))
        reserve(ledger, ask("b"))
    assert [mark_in_flight(ledger, "a").is_new for _ in range(2)] == [True, False]
    assert [post(ledger, "a", usd(40)).is_new for _ in range(2)] == [True, False]
    assert [void(ledger, "b").is_new for _ in range(2)] == [True, False]
    assert caps_of(ledger) == everywhere(0, 40)


def test_another_cost_for_a_posted_transfer_is_refused(ledger, ask):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(40))
    with pytest.raises(KeyReused, match="difference as an adjustment"):
        post(ledger, "a", usd(41))


@pytest.mark.parametrize("finish", ["post", "void", "expire"])
def test_a_transfer_ends_once(ledger, ask, clock, finish):
    reserve(ledger, ask("a"))
    clock.advance(timedelta(hours=1))
    {"post": lambda: post(ledger, "a", usd(9)), "void": lambda: void(ledger, "a"), "expire": lambda: expire(ledger)}[
        finish
    ]()
    for other in {"post", "void"} - {finish}:
        with pytest.raises(WrongState):
            post(ledger, "a", usd(9)) if other == "post" else void(ledger, "a")
    if finish == "post":
        assert mark_in_flight(ledger, "a") == Receipt("a", TransferState.POSTED, is_new=False)
    else:
        with pytest.raises(WrongState):
            mark_in_flight(ledger, "a")
    assert expire(ledger) == []


# Expiry and unknown outcomes


def test_what_was_not_sent_in_time_is_freed(ledger, ask, clock):
    reserve(ledger, ask("a"), time_to_send=timedelta(minutes=5))
    clock.advance(timedelta(minutes=5) - timedelta(milliseconds=1))
    assert expire(ledger) == []
    clock.advance(timedelta(milliseconds=1))
    assert expire(ledger) == ["a"]
    assert caps_of(ledger) == everywhere(0, 0)


def test_an_unknown_outcome_keeps_its_reservation(ledger, ask, clock):
    reserve(ledger, ask("a"))
    mark_in_flight(ledger, "a")
    clock.advance(timedelta(days=400))
    assert expire(ledger) == []
    assert caps_of(ledger)["total"] == (100, 0, False)
    assert [transfer.key for transfer in transfers_in(ledger, TransferState.IN_FLIGHT)] == ["a"]


def test_a_reservation_past_its_time_may_not_be_sent_even_before_it_was_freed(ledger, ask, clock):
    reserve(ledger, ask("a"), time_to_send=timedelta(minutes=5))
    clock.advance(timedelta(minutes=5))
    with pytest.raises(WrongState, match="reserve again"):
        mark_in_flight(ledger, "a")


# Facts that come later


def test_late_cost_and_refunds_are_booked_on_the_transfer(ledger, ask):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(40))
    assert adjust(ledger, "a-late", transfer_key="a", difference=usd(25), reason="late clicks").is_new
    assert adjust(ledger, "a-back", transfer_key="a", difference=usd(-60), reason="invalid clicks").is_new
    assert caps_of(ledger) == everywhere(0, 5)
    assert find_transfer(ledger, "a").adjusted_micros == -35


def test_an_adjustment_happens_once(ledger, ask):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(40))
    for _ in range(3):
        adjust(ledger, "x", transfer_key="a", difference=usd(25), reason="late")
    assert caps_of(ledger) == everywhere(0, 65)
    with pytest.raises(KeyReused, match="a new adjustment needs a new key"):
        adjust(ledger, "x", transfer_key="a", difference=usd(26), reason="late")


@pytest.mark.parametrize("ending", ["void", "expire"])
def test_cost_of_a_transfer_that_was_given_up_is_still_booked(ledger, ask, clock, ending):
    reserve(ledger, ask("a"))
    clock.advance(timedelta(hours=1))
    void(ledger, "a") if ending == "void" else expire(ledger)
    adjust(ledger, "x", transfer_key="a", difference=usd(30), reason="it was sent after all")
    assert caps_of(ledger) == everywhere(0, 30)


def test_a_refund_of_more_than_was_paid_is_refused(ledger, ask):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(40))
    with pytest.raises(MoneyError, match="refund at most that"):
        adjust(ledger, "x", transfer_key="a", difference=usd(-41), reason="refund")
    assert adjust(ledger, "x", transfer_key="a", difference=usd(-40), reason="refund").is_new


def test_a_transfer_under_way_is_not_adjusted(ledger, ask):
    reserve(ledger, ask("a"))
    with pytest.raises(WrongState, match="post or void it first"):
        adjust(ledger, "x", transfer_key="a", difference=usd(1), reason="early")
    with pytest.raises(UnknownTransfer):
        adjust(ledger, "x", transfer_key="b", difference=usd(1), reason="nobody")


@pytest.mark.parametrize("how", ["adjust", "post"])
def test_cost_beyond_a_cap_is_recorded_and_closes_the_cap(ledger, ask, how):
    reserve(ledger, ask("a", 900))
    if how == "post":
        post(ledger, "a", usd(1001))
    else:
        post(ledger, "a", usd(900))
        adjust(ledger, "x", transfer_key="a", difference=usd(101), reason="overdelivery")
    assert caps_of(ledger) == everywhere(0, 1001, breached=True)
    assert verify(ledger).breached_caps == ("account_day:acc:2026-03-28", *verify(ledger).breached_caps[1:])
    adjust(ledger, "y", transfer_key="a", difference=usd(-500), reason="refund")
    with pytest.raises(CapReached, match="breached"):  # it stays closed until somebody has looked at it
        reserve(ledger, ask("b", 1))


def test_a_breached_cap_is_reopened_only_when_there_is_room_again(ledger, ask):
    reserve(ledger, ask("a", 900, caps=(TOTAL,)))
    post(ledger, "a", usd(1001))
    with pytest.raises(CapReached, match="raise its limit first"):
        reopen_cap(ledger, Bucket(TOTAL, ""))
    set_limit(ledger, TOTAL, usd(1100))
    reopen_cap(ledger, Bucket(TOTAL, ""))
    assert reserve(ledger, ask("b", 99, caps=(TOTAL,))).is_new


# Days and limits


def test_each_day_of_the_account_has_its_own_bucket(ledger, ask, clock):
    reserve(ledger, ask("a", 400))
    clock.advance(timedelta(days=1))
    reserve(ledger, ask("b", 300))
    days = {cap.day: cap.reserved_micros for cap in overview(ledger).caps if cap.kind == "account_day"}
    assert days == {"2026-03-28": 400, "2026-03-29": 300}
    assert caps_of(ledger)["total"] == (700, 0, False)


@pytest.mark.parametrize(
    ("instant", "day"),
    [
        ("2026-03-28T22:59:59+00:00", "2026-03-28"),
        ("2026-03-28T23:00:00+00:00", "2026-03-29"),  # midnight in Berlin, winter time
        ("2026-03-29T21:59:59+00:00", "2026-03-29"),  # the day of 23 hours ends an hour earlier
        ("2026-03-29T22:00:00+00:00", "2026-03-30"),
        ("2026-10-24T22:00:00+00:00", "2026-10-25"),
        ("2026-10-25T22:59:59+00:00", "2026-10-25"),  # the day of 25 hours
        ("2026-10-25T23:00:00+00:00", "2026-10-26"),
    ],
)
def test_the_day_is_the_accounts_own_also_when_its_clocks_change(place, databases, tmp_path, ask, instant, day):
    clock = ManualClock(datetime.fromisoformat(instant))
    ledger = databases.new_ledger(place, tmp_path, clock=clock)
    reserve(ledger, ask("a"))
    assert find_transfer(ledger, "a").day == day
    ledger.close()


def test_the_day_is_fixed_when_the_room_is_reserved(ledger, ask, clock):
    reserve(ledger, ask("a"))
    clock.advance(timedelta(days=2))
    assert not reserve(ledger, ask("a")).is_new
    post(ledger, "a", usd(80))
    adjust(ledger, "x", transfer_key="a", difference=usd(5), reason="late")
    days = {cap.day: cap.posted_micros for cap in overview(ledger).caps if cap.kind == "campaign_day"}
    assert days == {"2026-03-28": 85, "2026-03-30": 0}


def test_a_new_daily_limit_holds_from_today_and_leaves_past_days_alone(ledger, ask, clock, databases):
    reserve(ledger, ask("a", 400))
    clock.advance(timedelta(days=1))
    reserve(ledger, ask("b", 100))
    set_limit(ledger, Cap(CapKind.ACCOUNT_DAY, "acc"), usd(150), account_id="acc")
    limits = {cap.day: cap.limit_micros for cap in overview(ledger).caps if cap.kind == "account_day"}
    assert limits == {"2026-03-28": 1000, "2026-03-29": 150}
    with pytest.raises(CapReached, match="account_day:acc:2026-03-29"):
        reserve(ledger, ask("c", 51))
    clock.advance(timedelta(days=1))
    with pytest.raises(CapReached, match="account_day:acc:2026-03-30"):
        reserve(ledger, ask("d", 151))


def test_a_limit_below_what_is_used_closes_the_cap(ledger, ask):
    reserve(ledger, ask("a", 400))
    set_limit(ledger, TOTAL, usd(399))
    assert caps_of(ledger)["total"] == (400, 0, True)
    void(ledger, "a")
    with pytest.raises(CapReached):
        reserve(ledger, ask("b", 1))


REOPENED = SignedChange("cd" * 32, "live", "cap.reopened", json.dumps({"action_hash": "cd" * 32}))
SIGNED = SignedChange("ab" * 32, "live", "limit.set", json.dumps({"action_hash": "ab" * 32}))


def test_a_raise_needs_the_expected_limit_and_a_lower_limit_does_not(ledger):
    with pytest.raises(Refused, match="somebody else has changed it"):
        set_limit(ledger, TOTAL, usd(2000), expected=ExpectedLimit(usd(1500)))
    with pytest.raises(Refused, match="somebody else has changed it"):
        set_limit(ledger, TOTAL, usd(1001), expected=ExpectedLimit(usd(1001)))  # seemed equal, and would raise it
    assert known_limit(ledger, TOTAL) == usd(1000)
    assert set_limit(ledger, TOTAL, usd(900), expected=ExpectedLimit(usd(1500))).before == usd(1000)
    assert known_limit(ledger, TOTAL) == usd(900)


def test_books_with_one_signed_limit_take_no_unsigned_raise_of_any(ledger, ask):
    assert set_limit(ledger, TOTAL, usd(2000), expected=ExpectedLimit(usd(1000)), signed=SIGNED).is_new
    for cap, account in ((TOTAL, ""), (Cap(CapKind.CAMPAIGN, "new"), "acc")):
        with pytest.raises(Refused, match="needs signatures: people have signed"):
            set_limit(ledger, cap, usd(2001), account_id=account)
    set_limit(ledger, TOTAL, usd(10))
    reserve(ledger, ask("a", 10, caps=(TOTAL,)))
    set_limit(ledger, TOTAL, usd(9))
    void(ledger, "a")
    with pytest.raises(Refused, match="needs signatures: people have signed"):
        reopen_cap(ledger, Bucket(TOTAL, ""))
    assert reopen_cap(ledger, Bucket(TOTAL, ""), signed=REOPENED)
    assert [change.kind for change in signed_changes(ledger)] == ["limit.set", "cap.reopened"]


def test_a_signed_change_is_made_once_however_often_it_is_asked_for(ledger):
    set_limit(ledger, TOTAL, usd(2000), expected=ExpectedLimit(usd(1000)), signed=SIGNED)
    set_limit(ledger, TOTAL, usd(5))
    again = set_limit(ledger, TOTAL, usd(2000), expected=ExpectedLimit(usd(1000)), signed=SIGNED)
    assert (again.is_new, again.before, known_limit(ledger, TOTAL)) == (False, usd(5), usd(5))


def test_a_signed_change_that_is_refused_is_not_remembered(ledger):
    with pytest.raises(Refused):
        set_limit(ledger, TOTAL, usd(2000), expected=ExpectedLimit(None), signed=SIGNED)
    assert signed_changes(ledger) == ()


@pytest.mark.parametrize("minutes", [0, -1, 24 * 60 + 1])
def test_a_time_to_send_that_is_none_or_longer_than_a_day_is_refused(ledger, ask, minutes):
    with pytest.raises(BadInput, match="to be sent; allowed"):
        reserve(ledger, ask("a"), time_to_send=timedelta(minutes=minutes))


def test_a_cap_of_another_account_or_currency_grants_nothing(ledger, ask):
    open_account(ledger, AdAccount("other", "USD", "UTC"))
    open_account(ledger, AdAccount("euro", "EUR", "UTC"))
    set_limit(ledger, Cap(CapKind.CAMPAIGN, "theirs"), usd(1000), account_id="other")
    with pytest.raises(CapReached, match="same account and currency"):
        reserve(ledger, ask("a", caps=(Cap(CapKind.CAMPAIGN, "theirs"),)))
    reserve(ledger, ask("b", caps=(TOTAL,)))
    with pytest.raises(CapReached, match="same account and currency"):
        reserve(ledger, Reservation("c", "euro", Money(5, "EUR"), (TOTAL,)))
    with pytest.raises(BadInput, match="billed in EUR"):
        reserve(ledger, Reservation("d", "euro", usd(5), (TOTAL,)))


# What is refused before it can do harm


@pytest.mark.parametrize("amount", [1.0, 100, True, None, Money(-1, "USD"), Money(2**61, "USD")])
def test_only_exact_money_in_range_can_be_reserved(databases, amount):
    with pytest.raises(MoneyError):
        Reservation("a", "acc", amount, databases.CAPS)


@pytest.mark.parametrize("caps", [(), (TOTAL, TOTAL), tuple(Cap(CapKind.EPISODE, str(n)) for n in range(65))])
def test_a_reservation_names_each_of_its_caps_once_and_at_least_one(caps):
    with pytest.raises(BadInput, match="allowed: 1 to 64, each once"):
        Reservation("a", "acc", usd(1), caps)


def test_cost_in_another_currency_is_refused(ledger, ask):
    reserve(ledger, ask("a"))
    with pytest.raises(BadInput, match="convert"):
        post(ledger, "a", Money(5, "EUR"))
    assert find_transfer(ledger, "a").state is TransferState.RESERVED


def test_an_account_keeps_its_currency_and_zone(ledger):
    open_account(ledger, AdAccount("acc", "USD", "Europe/Berlin"))
    with pytest.raises(BadInput, match="Europe/Berlin"):
        open_account(ledger, AdAccount("acc", "USD", "UTC"))


WALLS = {
    "a cap above its limit": "UPDATE ledger_cap SET reserved_micros = limit_micros + 1 WHERE kind = 'total'",
    "a cap below nothing": "UPDATE ledger_cap SET reserved_micros = -1 WHERE kind = 'total'",
    "a transfer of less than nothing": "UPDATE ledger_transfer SET amount_micros = -1",
    "cost of a transfer that was not posted": "UPDATE ledger_transfer SET posted_micros = 5",
    "a state that does not exist": "UPDATE ledger_transfer SET state = 'lost'",
    "a refund of more than was paid": "UPDATE ledger_transfer SET adjusted_micros = -1",
    "an entry with one side": "UPDATE ledger_entry SET credit = debit",
    "a movement of nothing": "UPDATE ledger_entry SET micros = 0",
    "a second fence": "INSERT INTO ledger_fence (id, stop_id, record) VALUES (2, '', '')",
}


@pytest.mark.parametrize("statement", WALLS.values(), ids=WALLS.keys())
def test_the_database_itself_refuses(ledger, ask, statement):
    reserve(ledger, ask("a"))
    with pytest.raises(LedgerBroken), ledger.transaction() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)  # Postgres rounds to its whole column
def test_sqlite_refuses_half_a_micro(ledger, ask):
    reserve(ledger, ask("a"))
    half = "UPDATE ledger_cap SET limit_micros = 1000.5 WHERE kind = 'total' AND limit_micros <> 1000.5"
    with pytest.raises(LedgerBroken), ledger.transaction() as connection:
        connection.execute(text(half))


# Verification


TAMPERING = {
    "a cap": ("UPDATE ledger_cap SET reserved_micros = reserved_micros + 1 WHERE kind = 'total'", "reserved"),
    "a cost": ("UPDATE ledger_cap SET posted_micros = 1 WHERE kind = 'total'", "posted"),
    "an amount": ("UPDATE ledger_transfer SET amount_micros = 99", "reserved"),
    "a state": ("UPDATE ledger_transfer SET state = 'voided'", "reserved"),
    "a journal row": ("UPDATE ledger_entry SET micros = 1", "journal"),
    "a lost journal row": ("DELETE FROM ledger_entry", "journal"),
    "a lost transfer": ("DELETE FROM ledger_transfer", "without a transfer"),
    "a lost cap": ("DELETE FROM ledger_cap WHERE kind = 'total'", "gone"),
}


@pytest.mark.parametrize(("statement", "actual"), TAMPERING.values(), ids=TAMPERING.keys())
def test_a_change_behind_the_ledgers_back_is_found(place, databases, tmp_path, ask, statement, actual):
    ledger = databases.new_ledger(place, tmp_path)
    reserve(ledger, ask("a"))
    assert verify(ledger).balances
    with ledger.database.engine.begin() as connection:
        connection.execute(text(statement))
    checked = verify(ledger)
    ledger.close()
    assert not checked.balances
    assert any(actual in finding.what for finding in checked.findings)


def test_verifying_counts_what_it_looked_at(ledger, ask):
    reserve(ledger, ask("a"))
    post(ledger, "a", usd(40))
    adjust(ledger, "x", transfer_key="a", difference=usd(-5), reason="refund")
    checked = verify(ledger)
    assert (checked.transfers, checked.adjustments, checked.entries, checked.caps) == (1, 1, 4, 4)


# The kill switch


def switch(ledger):
    return KillSwitch(ledger.latch, fence=fence_of(ledger), clock=ledger.clock)


@pytest.mark.parametrize("wall", ["both", "latch", "fence"])
def test_after_a_stop_nothing_is_granted_and_facts_are_still_booked(ledger, ask, wall):
    reserve(ledger, ask("sent"))
    mark_in_flight(ledger, "sent")
    reserve(ledger, ask("waiting"))
    report = switch(ledger).stop(by="test", reason="drill")
    assert (report.outcome("latch"), report.outcome("fence")) == ("done", "done")
    if wall == "fence":
        ledger.latch.path.unlink()
    if wall == "latch":
        with ledger.database.engine.begin() as connection:
            connection.execute(text("UPDATE ledger_fence SET stop_id = '', record = ''"))
    for spend in (
        lambda: reserve(ledger, ask("new")),
        lambda: reserve(ledger, ask("waiting")),
        lambda: mark_in_flight(ledger, "waiting"),
    ):
        with pytest.raises(SpendingStopped):
            spend()
    post(ledger, "sent", usd(60))
    void(ledger, "waiting")
    adjust(ledger, "x", transfer_key="sent", difference=usd(5), reason="late")
    assert caps_of(ledger) == everywhere(0, 65)


def test_a_fence_that_is_gone_counts_as_a_stop(ledger, ask):
    with ledger.database.engine.begin() as connection:
        connection.execute(text("DELETE FROM ledger_fence"))
    with pytest.raises(SpendingStopped):
        reserve(ledger, ask("a"))
    assert switch(ledger).is_stopped()
    assert not verify(ledger).balances
    assert switch(ledger).stop(by="test", reason="to have one again").outcome("fence") == "done"


def test_a_stop_during_a_reservation_keeps_the_grant_from_returning(place, databases, tmp_path, ask):
    """The latch alone decides: the database does not know of the stop."""

    def latched(point):
        if point == "committed":
            (tmp_path / "STOPPED").touch()

    ledger = databases.new_ledger(place, tmp_path)
    slow = open_ledger(place, ledger.latch, at_point=latched)
    with pytest.raises(SpendingStopped):
        reserve(slow, ask("a"))
    assert find_transfer(ledger, "a").state is TransferState.RESERVED  # it was never sent, and expires
    ledger.close()
    slow.close()


def test_spending_continues_after_a_release(ledger, ask):
    switch(ledger).stop(by="test", reason="drill")
    switch(ledger).release(lambda _: None)
    assert reserve(ledger, ask("a")).is_new


# Many at once


def test_transfers_that_name_their_caps_in_any_order_do_not_deadlock(place, databases, tmp_path):
    ledger = databases.new_ledger(place, tmp_path)
    errors = []

    def work(name, caps):
        try:
            for n in range(25):
                reserve(ledger, Reservation(f"{name}-{n}", "acc", usd(1), caps))
                post(ledger, f"{name}-{n}", usd(1))
        except Exception as error:  # noqa: BLE001 - the test reports it
            errors.append(error)

    orders = (databases.CAPS, databases.CAPS[::-1], databases.CAPS[2:] + databases.CAPS[:2])
    threads = [threading.Thread(target=work, args=(n, caps)) for n, caps in enumerate(orders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert caps_of(ledger) == everywhere(0, 75)
    ledger.close()


def test_a_ledger_is_made_once_and_found_again(place, databases, tmp_path, ask):
    first = databases.new_ledger(place, tmp_path)
    reserve(first, ask("a"))
    first.close()
    again = create_ledger(place, first.latch)
    assert not reserve(again, ask("a")).is_new
    again.close()


def test_a_ledger_that_a_newer_gaelp_wrote_is_not_opened(place, databases, tmp_path):
    ledger = databases.new_ledger(place, tmp_path)
    with ledger.database.engine.begin() as connection:
        connection.execute(text("UPDATE gaelp_schema SET version = 99"))
    ledger.close()
    with pytest.raises(BadInput, match="has version 99"):
        open_ledger(place, ledger.latch)
