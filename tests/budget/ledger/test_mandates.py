"""The ceilings of a mandate in the ledger, on SQLite and on Postgres alike: nobody gets beyond them together."""

import multiprocessing
import time
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from gaelp.budget.kill_switch import KillSwitch, fence_of
from gaelp.budget.latch import Latch, StopRecord
from gaelp.budget.ledger import (
    AdAccount,
    Bucket,
    CapReached,
    LedgerBroken,
    MandateClosed,
    MandateRoom,
    Reservation,
    SignedChange,
    SpendingStopped,
    check_limit,
    close_mandate,
    mandate_use,
    mark_in_flight,
    open_ledger,
    open_mandate,
    post,
    reopen_cap,
    reserve,
    set_limit,
    signed_before_release,
    signed_changes,
    verify,
    void,
)
from gaelp.errors import BadInput
from gaelp.money import Money

ACCOUNT = AdAccount("acc", "USD", "Europe/Berlin")
ROOM = MandateRoom("ab" * 32, total_micros=50, day_micros=30)


def usd(micros):
    return Money(micros, "USD")


@pytest.fixture
def ledger(place, databases, tmp_path):
    with_books = databases.new_ledger(place, tmp_path)
    open_mandate(with_books, ROOM, ACCOUNT, None, first_signed_at=with_books.clock.now())
    yield with_books
    assert verify(with_books).balances
    with_books.close()


@pytest.fixture
def ask(databases):
    def make(key, micros, room=ROOM):
        return Reservation(key, "acc", usd(micros), (*databases.CAPS, *room.caps), room)

    return make


def test_room_is_taken_under_the_day_and_the_total(ledger, ask):
    reserve(ledger, ask("a", 30))
    with pytest.raises(CapReached, match="mandate_day"):
        reserve(ledger, ask("b", 1))
    assert mandate_use(ledger, ROOM.id).reserved == usd(30)
    void(ledger, "a")
    assert mandate_use(ledger, ROOM.id).reserved == usd(0)


def test_what_was_spent_counts_as_what_is_reserved_does(ledger, ask):
    wide = MandateRoom(ROOM.id, 50, 50)
    reserve(ledger, ask("a", 40, wide))
    mark_in_flight(ledger, "a")
    post(ledger, "a", usd(35))
    with pytest.raises(CapReached, match=r"\$0.000035 spent of \$0.00005"):
        reserve(ledger, ask("b", 16, wide))
    reserve(ledger, ask("c", 15, wide))


def test_a_transfer_of_nothing_is_known_and_refused_under_a_closed_mandate(ledger, ask):
    reserve(ledger, ask("a", 30))
    reserve(ledger, ask("b", 0))
    assert mark_in_flight(ledger, "b").is_new
    assert not mark_in_flight(ledger, "b").is_new
    close_mandate(ledger, ROOM.id)
    with pytest.raises(MandateClosed, match="has ended"):
        reserve(ledger, ask("c", 0))


def test_a_mandate_that_was_not_opened_grants_nothing(ledger, ask):
    with pytest.raises(MandateClosed, match="not opened"):
        reserve(ledger, ask("a", 1, MandateRoom("cd" * 32, 50, 30)))


@pytest.mark.parametrize("room", [MandateRoom(ROOM.id, 51, 30), MandateRoom(ROOM.id, 50, 31)])
def test_another_ceiling_than_it_was_opened_with_is_refused(ledger, ask, room):
    reserve(ledger, ask("a", 1))
    with pytest.raises(LedgerBroken, match="somebody has changed"):
        reserve(ledger, ask("b", 1, room))


def test_every_mandate_ends_with_a_stop_and_none_is_opened_during_it(ledger, ask):
    switch = KillSwitch(ledger.latch, fence=fence_of(ledger))
    switch.stop(by="ann", reason="drill")
    assert mandate_use(ledger, ROOM.id).closed
    with pytest.raises(SpendingStopped):
        open_mandate(ledger, MandateRoom("cd" * 32, 50, 30), ACCOUNT, None, first_signed_at=ledger.clock.now())
    switch.release(lambda _: None)
    with pytest.raises(MandateClosed, match="has ended"):
        reserve(ledger, ask("a", 1))
    assert not open_mandate(ledger, ROOM, ACCOUNT, None, first_signed_at=ledger.clock.now()), "it stays closed"
    assert mandate_use(ledger, ROOM.id).closed


def test_a_release_ends_the_mandates_of_books_that_were_restored_from_before_the_stop(ledger, ask):
    ledger.latch.set(StopRecord("s" * 32, "2026-11-16T12:00:00+00:00", "ann", "drill"))
    assert not mandate_use(ledger, ROOM.id).closed, "a copy from before the stop, with the latch beside it"
    KillSwitch(ledger.latch, fence=fence_of(ledger)).release(lambda _: None)
    with pytest.raises(MandateClosed, match="has ended"):
        reserve(ledger, ask("a", 1))


def reopened_by_hand(ledger):
    with ledger.alone() as connection:
        connection.execute(text("UPDATE ledger_cap SET breached = 0 WHERE kind = 'mandate'"))
    findings = [(finding.where, finding.what) for finding in verify(ledger).findings]
    with ledger.alone() as connection:
        connection.execute(text("UPDATE ledger_cap SET breached = 1 WHERE kind = 'mandate'"))
    return findings


@pytest.mark.parametrize("released", [False, True])
def test_a_mandate_reopened_by_hand_after_a_stop_is_a_finding(ledger, ask, released):
    signed_room = MandateRoom("cd" * 32, 50, 30)
    signed = SignedChange(signed_room.id, "live", "mandate.granted", f'{{"action_hash": "{signed_room.id}"}}')
    open_mandate(ledger, signed_room, ACCOUNT, signed, first_signed_at=ledger.clock.now())
    reserve(ledger, ask("a", 1))
    assert reopened_by_hand(ledger) == [], "nothing was stopped yet"
    switch = KillSwitch(ledger.latch, fence=fence_of(ledger))
    switch.stop(by="ann", reason="drill")
    if released:
        switch.release(lambda _: None)
    assert reopened_by_hand(ledger) == [
        (f"mandate:{mandate_id}", "state, after a stop") for mandate_id in (ROOM.id, signed_room.id)
    ]


def test_a_mandate_opened_after_the_release_of_a_stop_is_no_finding(ledger, ask):
    switch = KillSwitch(ledger.latch, fence=fence_of(ledger))
    switch.stop(by="ann", reason="drill")
    switch.release(lambda _: None)
    room, later = MandateRoom("cd" * 32, 50, 30), ledger.clock.now() + timedelta(seconds=1)
    signed = SignedChange(room.id, "live", "mandate.granted", f'{{"action_hash": "{room.id}"}}')
    time.sleep(0.002)
    open_mandate(ledger, room, ACCOUNT, signed, first_signed_at=later)
    reserve(ledger, ask("a", 1, room))
    assert verify(ledger).findings == ()


@pytest.mark.parametrize("signed", [None, SignedChange("cd" * 32, "live", "mandate.granted", "{}")])
def test_signatures_from_before_a_release_do_not_open_a_mandate(ledger, signed):
    room, before = MandateRoom("cd" * 32, 50, 30), ledger.clock.now()
    switch = KillSwitch(ledger.latch, fence=fence_of(ledger))
    assert not signed_before_release(ledger, [before])
    switch.stop(by="ann", reason="drill")
    during = ledger.clock.now()
    switch.release(lambda _: None)
    for at in (before, during):
        with pytest.raises(MandateClosed, match="before the kill switch was released"):
            open_mandate(ledger, room, ACCOUNT, signed, first_signed_at=at)
    assert signed_changes(ledger) == ()
    assert signed_before_release(ledger, [before])
    assert mandate_use(ledger, room.id) is None
    assert open_mandate(ledger, room, ACCOUNT, None, first_signed_at=ledger.clock.now() + timedelta(seconds=1))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_books_from_before_releases_were_recorded_are_brought_up_to_date(databases, tmp_path, kind):
    place = databases.fresh_place(kind)
    books = databases.new_ledger(place, tmp_path)
    with books.alone() as connection:
        connection.execute(text("ALTER TABLE ledger_fence DROP COLUMN released_at_ms"))
        connection.execute(text("UPDATE gaelp_schema SET version = 3 WHERE store = 'ledger'"))
    books.close()
    ledger = open_ledger(place, Latch(tmp_path / "STOPPED"))
    assert not signed_before_release(ledger, [ledger.clock.now()])
    assert open_mandate(ledger, ROOM, ACCOUNT, None, first_signed_at=ledger.clock.now())
    assert verify(ledger).balances
    ledger.close()


def test_a_signed_mandate_is_opened_once_and_remembered(ledger):
    room = MandateRoom("cd" * 32, 50, 30)
    signed = SignedChange(room.id, "live", "mandate.granted", f'{{"action_hash": "{room.id}"}}')
    assert [open_mandate(ledger, room, ACCOUNT, signed, first_signed_at=ledger.clock.now()) for _ in range(2)] == [
        True,
        False,
    ]
    assert [change.action_hash for change in signed_changes(ledger)] == [room.id]


def test_signing_again_what_was_opened_without_signatures_writes_nothing(ledger):
    signed = SignedChange(ROOM.id, "live", "mandate.granted", f'{{"action_hash": "{ROOM.id}"}}')
    assert not open_mandate(ledger, ROOM, ACCOUNT, signed, first_signed_at=ledger.clock.now())
    assert signed_changes(ledger) == ()


def test_nobody_sets_or_reopens_a_ceiling_by_hand(ledger):
    close_mandate(ledger, ROOM.id)
    for cap in ROOM.caps:
        for change in (set_limit, check_limit):
            with pytest.raises(BadInput, match="only its signers set"):
                change(ledger, cap, usd(99), account_id="acc")
        with pytest.raises(BadInput, match="only its signers set"):
            reopen_cap(ledger, Bucket(cap, ""))


def test_caps_of_a_mandate_come_with_its_ceilings(databases):
    for caps, room in ((ROOM.caps, None), ((), ROOM)):
        with pytest.raises(BadInput, match="mandate caps"):
            Reservation("a", "acc", usd(1), (*databases.CAPS, *caps), room)


def _spend(place, folder, caps, number, granted):
    ledger = open_ledger(place, Latch(Path(folder) / "STOPPED"))
    room = MandateRoom(ROOM.id, 50, 50)
    for attempt in range(20):
        try:
            reserve(ledger, Reservation(f"{number}-{attempt}", "acc", usd(1), (*caps, *room.caps), room))
        except CapReached:
            break
        granted.put(1)
    ledger.close()


def test_eight_processes_together_reserve_exactly_the_total(ledger, place, databases, tmp_path):
    context = multiprocessing.get_context("fork")
    granted = context.Queue()
    spenders = [
        context.Process(target=_spend, args=(place, tmp_path, databases.CAPS, number, granted)) for number in range(8)
    ]
    for spender in spenders:
        spender.start()
    for spender in spenders:
        spender.join(60)
    assert [spender.exitcode for spender in spenders] == [0] * 8
    assert sum(granted.get(timeout=5) for _ in range(50)) == 50
    assert granted.empty()
    assert mandate_use(ledger, ROOM.id).reserved == usd(50)


def test_books_in_postgres_from_before_transfers_of_zero_are_brought_up_to_date(databases, tmp_path):
    place = databases.fresh_place("postgres")
    databases.new_ledger(place, tmp_path).close()
    with psycopg.connect(place) as hands:
        hands.execute("ALTER TABLE ledger_transfer DROP CONSTRAINT transfer_amount_in_range")
        hands.execute("ALTER TABLE ledger_transfer ADD CONSTRAINT transfer_amount_in_range CHECK (amount_micros >= 1)")
        hands.execute("UPDATE gaelp_schema SET version = 2 WHERE store = 'ledger'")
    ledger = open_ledger(place, Latch(tmp_path / "STOPPED"))
    assert reserve(ledger, Reservation("a", "acc", usd(0), databases.CAPS)).is_new
    with pytest.raises(Exception, match="transfer_amount_in_range"), psycopg.connect(place) as hands:
        hands.execute("UPDATE ledger_transfer SET amount_micros = -1")
    ledger.close()
    later = databases.new_ledger(databases.fresh_place("sqlite"), tmp_path)
    reserve(later, Reservation("a", "acc", usd(0), databases.CAPS))
    with pytest.raises(LedgerBroken, match="transfer_amount_in_range"), later.transaction() as connection:
        connection.execute(text("UPDATE ledger_transfer SET amount_micros = -1"))
    later.close()
