"""The record of a pilot: each interval once, state and decisions together, and who waits for a person."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from gaelp.clock import ManualClock
from gaelp.errors import GaelpError, Refused
from gaelp.pilot.account_lease import LEASE, AccountLease, this_process
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, MoneySoFar, OrderNote

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def book(place):
    with closing(DecisionBook(place, "pilot-1")) as opened:
        yield opened


def decision(interval=0, campaign="spring", bid=1_000_000):
    return CampaignDecision(campaign, interval, (bid, bid), (0.1, -0.1), (False, True), (bid, bid))


def state(number):
    return {"bids": np.full((2, 3), number, np.float32), "hour": np.array([number])}


def test_what_was_stored_is_read_back_with_the_state(book):
    book.store(0, NOW, [decision(), decision(campaign="summer")], state(1))
    book.store(1, NOW + timedelta(hours=1), [decision(1)], state(2))
    assert book.decisions() == [decision(), decision(campaign="summer"), decision(1)]
    assert book.decisions(1, 2) == [decision(1)]
    saved = book.saved()
    assert saved.interval == 1
    for name, array in state(2).items():
        assert saved.state[name].dtype == array.dtype
        np.testing.assert_array_equal(saved.state[name], array)
    assert [row.state for row in book.intervals()] == ["decided", "decided"]
    assert decision().density is None
    assert "deterministic" in decision().density_note


def test_an_interval_is_never_decided_twice_and_keeps_its_state(book):
    book.store(0, NOW, [decision()], state(1))
    with pytest.raises(Refused, match="decided before"):
        book.store(0, NOW, [decision(bid=2)], state(2))
    assert book.decisions() == [decision()]
    assert book.saved().state["hour"] == [1]


def test_a_store_that_fails_stores_neither_decision_nor_state(book):
    with pytest.raises(GaelpError):
        book.store(0, NOW, [decision(), decision()], state(1))  # the same campaign twice
    assert book.interval(0) is None
    assert book.saved() is None


def test_missed_intervals_are_noted_and_not_decided_later(book):
    book.store(0, NOW, [decision()], state(1))
    book.miss([(0, NOW), (1, NOW + timedelta(hours=1))])
    assert [row.state for row in book.intervals()] == ["decided", "missed"]
    with pytest.raises(Refused):
        book.store(1, NOW, [decision(1)], state(2))


def test_decisions_cannot_be_changed_afterwards(book):
    book.store(0, NOW, [decision()], state(1))
    with pytest.raises((GaelpError, DatabaseError)), book.writing() as connection:
        connection.execute(text("UPDATE pilot_decision SET body = ''"))


def test_the_first_note_of_an_order_counts(book):
    book.note_orders([OrderNote("spring", 0, "sent", "key-1"), OrderNote("summer", 0, "small")])
    book.note_orders([OrderNote("spring", 0, "late")])
    assert book.orders() == [OrderNote("spring", 0, "sent", "key-1"), OrderNote("summer", 0, "small")]


def test_a_held_campaign_waits_until_a_person_releases_it_with_a_reason(book):
    book.add_event("hold", "somebody changed its budget", NOW, campaign="spring")
    assert book.held() == {"spring": "somebody changed its budget"}
    with pytest.raises(Refused, match="not held"):
        book.release("summer", "ann", "fine", NOW)
    with pytest.raises(Refused, match="say why"):
        book.release("spring", "ann", " ", NOW)
    book.release("spring", "ann", "it was me", NOW)
    assert book.held() == {}
    book.add_event("hold", "again", NOW, campaign="spring")
    assert list(book.held()) == ["spring"]


def test_pilots_do_not_see_each_other(book, place):
    book.store(0, NOW, [decision()], state(1))
    with closing(DecisionBook(place, "pilot-2")) as other:
        assert other.last_interval() is None
        assert other.saved() is None
        other.store(0, NOW, [decision()], state(5))
    assert book.saved().state["hour"] == [1]


class TestLease:
    def lease(self, book, clock, *, run="run-1", holder=None):
        return AccountLease(book, "123", run, clock, holder or this_process())

    def test_an_account_has_one_driver_at_a_time(self, book):
        clock = ManualClock(NOW)
        mine = self.lease(book, clock)
        mine.take()
        mine.take()
        other = self.lease(book, clock, run="run-2", holder="elsewhere 12 1.00")
        with pytest.raises(Refused, match="driven by run run-1"):
            other.take()
        mine.end()
        other.take()
        with pytest.raises(Refused, match="driven by run run-2"):
            mine.take()

    def test_a_lease_of_another_machine_ends_by_itself(self, book):
        clock = ManualClock(NOW)
        self.lease(book, clock, run="run-2", holder="elsewhere 12 1.00").take()
        clock.advance(LEASE)
        self.lease(book, clock).take()

    def test_the_lease_of_a_process_that_is_gone_ends_at_once(self, book):
        clock = ManualClock(NOW)
        host, _, _ = this_process().rsplit(" ", 2)
        self.lease(book, clock, holder=f"{host} 999999999 1.00").take()
        self.lease(book, clock, run="run-2").take()

    def test_a_later_process_with_the_same_number_is_another_holder(self, book):
        clock = ManualClock(NOW)
        host, number, _ = this_process().rsplit(" ", 2)
        self.lease(book, clock, holder=f"{host} {number} 1.00").take()
        self.lease(book, clock, run="run-2").take()


def test_money_is_that_of_the_newest_hour_and_stored_with_its_decision(book):
    assert book.money() is None
    book.store(0, NOW, [decision()], state(1), money=MoneySoFar(0, 5, 7, 2, 1.5))
    assert book.money() == MoneySoFar(0, 5, 7, 2, 1.5)
    with pytest.raises(Refused):
        book.store(0, NOW, [decision()], state(2), money=MoneySoFar(0, 99, 99, 9, 9.0))
    assert book.money() == MoneySoFar(0, 5, 7, 2, 1.5)
    book.note_money(MoneySoFar(24, 6, 7, 2, 1.5))
    assert book.money().spend_micros == 6


def test_a_record_from_before_it_had_money_is_upgraded(tmp_path):
    with closing(DecisionBook(tmp_path / "pilot.db", "pilot-1")) as book:
        book.store(0, NOW, [decision()], state(1))
    with closing(sqlite3.connect(tmp_path / "pilot.db")) as connection, connection:
        connection.execute("DROP TABLE pilot_money")
        connection.execute("UPDATE gaelp_schema SET version = 1 WHERE store = 'pilot'")
    with closing(DecisionBook(tmp_path / "pilot.db", "pilot-1")) as book:
        assert (book.money(), book.last_interval()) == (None, 0)
        book.note_money(MoneySoFar(1, 5, 7, 2, 1.5))
        assert book.money().hour == 1
