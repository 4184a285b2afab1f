"""The fence: a stop and a spender can never cross, and only the stop that was released is lowered."""

import threading
import time

import pytest
from sqlalchemy import text

from gaelp.budget.latch import StopRecord
from gaelp.budget.ledger import (
    Reservation,
    SpendingStopped,
    TransferState,
    find_transfer,
    lower_fence,
    open_ledger,
    raise_fence,
    read_fence,
    reserve,
)
from gaelp.errors import GaelpError

RECORD = StopRecord("one", "2026-01-01T00:00:00+00:00", "test", "drill")


@pytest.fixture
def ledger(place, databases, tmp_path):
    made = databases.new_ledger(place, tmp_path)
    yield made
    made.close()


def ask(databases, key):
    return Reservation(key, databases.ACCOUNT, databases.usd(1), databases.CAPS)


def test_a_stop_returns_only_after_the_spender_under_way_is_done(place, ledger, databases):
    """Without a lock the stop would return while the reservation, which read "go", is still to be committed."""
    read_the_fence, go_on = threading.Event(), threading.Event()
    happened = []

    def slow(point):
        if point == "key taken":
            read_the_fence.set()
            go_on.wait(20)

    spender = open_ledger(place, ledger.latch, at_point=slow)

    def stop():
        raise_fence(ledger, RECORD)
        happened.append(find_transfer(ledger, "a").state)

    threads = [threading.Thread(target=reserve, args=(spender, ask(databases, "a"))), threading.Thread(target=stop)]
    threads[0].start()
    assert read_the_fence.wait(20)
    threads[1].start()
    time.sleep(0.3)
    assert happened == []  # the stop waits
    go_on.set()
    for thread in threads:
        thread.join()
    spender.close()
    assert happened == [TransferState.RESERVED]  # when the stop returned, the reservation was on the books
    with pytest.raises(SpendingStopped):
        reserve(ledger, ask(databases, "b"))


def test_a_fence_is_read_back_and_lowered_by_its_own_stop_only(ledger):
    assert read_fence(ledger) is None
    raise_fence(ledger, RECORD)
    assert read_fence(ledger) == RECORD
    assert not lower_fence(ledger, "another")
    assert not lower_fence(ledger, "")
    assert read_fence(ledger) == RECORD
    assert lower_fence(ledger, "one")
    assert read_fence(ledger) is None
    assert lower_fence(ledger, "")  # nothing was raised, nothing is in the way


@pytest.mark.parametrize("junk", ["not json", "[]", '{"id": 1}', RECORD.as_json().replace("one", "another")])
def test_a_fence_without_a_record_stays_up_until_it_has_one(ledger, junk):
    raise_fence(ledger, RECORD)
    with ledger.transaction() as connection:
        connection.execute(text("UPDATE ledger_fence SET record = :junk"), {"junk": junk})
    with pytest.raises(GaelpError, match=r"raised \(stop one\).*pull the kill switch again"):
        read_fence(ledger)
    raise_fence(ledger, RECORD)
    assert read_fence(ledger) == RECORD
