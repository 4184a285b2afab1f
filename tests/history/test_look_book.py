"""Three looks a window, whatever the model; a look is stored with its row in the audit log, and neither is altered."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from gaelp.approvals import AuditLog, open_database
from gaelp.approvals.audit import verify_rows
from gaelp.approvals.database import STORE as APPROVALS
from gaelp.database import open_database as open_layer
from gaelp.errors import GaelpError, Refused
from gaelp.history.look_book import LOOK_TAKEN, WINDOW_READ, LookBook, TicketRequest

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
WINDOW, OTHER = "a" * 64, "b" * 64


def request(run="run-1", attempt=1, model="1", rules="c"):
    return TicketRequest(
        run_id=run, attempt=attempt, model_hash=model * 64, gate="history-to-pilot", gate_file_hash=rules * 64
    )


def take(book, window=WINDOW, at=NOW, **of):
    return book.take(window, request(**of), as_of=NOW - timedelta(days=1), at=at, by="ann", way_out="Wait 15 days.")


@pytest.fixture
def book(place):
    return LookBook(place)


def test_the_fourth_look_is_refused_whoever_asks_and_says_what_to_do(book):
    tickets = [take(book), take(book, run="run-2", model="2"), take(book, attempt=2)]
    assert [ticket.look for ticket in tickets] == [1, 2, 3]
    for other in ({"run": "run-3"}, {"attempt": 3}, {"model": "9"}):
        with pytest.raises(Refused, match=r"3 times .*run run-1 attempt 1.*Wait 15 days") as refused:
            take(book, **other)
        assert refused.value.exit_code == 3
    assert book.looks(WINDOW) == tuple(tickets)
    assert take(book, OTHER).look == 1


def test_the_same_attempt_gets_the_same_look_again_also_when_no_look_is_left(book):
    first = take(book)
    assert take(book, at=NOW + timedelta(hours=5)) == first
    take(book, run="run-2")
    take(book, run="run-3")
    assert take(book) == first
    assert len(book.looks(WINDOW)) == 3


def test_rules_may_not_change_after_a_look(book):
    take(book)
    with pytest.raises(Refused, match="rules may not change"):
        take(book, rules="d")
    assert len(book.looks(WINDOW)) == 1


def test_a_ticket_that_was_not_issued_word_for_word_opens_nothing(book):
    ticket = take(book)
    book.check(ticket)
    for change in (
        {"look": 2},
        {"fingerprint": OTHER},
        {"as_of": NOW},
        {"token": "guessed"},
        {"request": request(model="2")},
    ):
        with pytest.raises(Refused, match="not issued"):
            book.check(ticket.model_copy(update=change))


def test_each_look_and_each_reading_is_in_the_audit_log(book, place):
    ticket = take(book)
    book.note_reading(ticket, "e" * 64, NOW)
    book.note_reading(ticket, "e" * 64, NOW)
    rows = AuditLog(open_database(place)).rows()
    assert [row.kind for row in rows] == [LOOK_TAKEN, WINDOW_READ, WINDOW_READ]
    assert verify_rows(rows) is None
    said = json.loads(rows[0].body)
    assert {"fingerprint": WINDOW, "look": 1, "run_id": "run-1", "attempt": 1, "by": "ann"}.items() <= said.items()
    assert said["model_hash"] == "1" * 64


def test_the_same_look_reads_the_same_data_or_none(book):
    ticket = take(book)
    book.note_reading(ticket, "e" * 64, NOW)
    with pytest.raises(Refused, match="read data eeeeeeeeeeee before"):
        book.note_reading(ticket, "f" * 64, NOW)


def test_the_database_itself_refuses_a_fourth_look_and_a_second_of_a_number(book, place):
    take(book)
    values = {"fingerprint": WINDOW, "run_id": "x", "model_hash": "y", "body": "{}", "attempt": 1}
    columns = ", ".join([*values, "look"])
    insert = text(f"INSERT INTO sealed_look ({columns}) VALUES ({', '.join(f':{name}' for name in [*values, 'look'])})")  # noqa: S608
    for look in (0, 1, 4):
        with (
            closing(open_layer(place, APPROVALS)) as database,
            pytest.raises((IntegrityError, GaelpError)),
            database.writing() as connection,
        ):
            connection.execute(insert, {**values, "look": look})


@pytest.mark.parametrize("change", ["DELETE FROM sealed_look", "UPDATE sealed_look SET look = 2"])
def test_looks_are_neither_deleted_nor_changed_and_an_altered_record_opens_nothing(place, change):
    book = LookBook(place)
    take(book)
    with closing(open_layer(place, APPROVALS)) as database:
        with pytest.raises((IntegrityError, GaelpError)), database.writing() as connection:
            connection.execute(text(change))
        with database.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("ALTER TABLE sealed_look DISABLE TRIGGER ALL"))
            else:
                connection.execute(text("DROP TRIGGER sealed_look_no_DELETE"))
                connection.execute(text("DROP TRIGGER sealed_look_no_UPDATE"))
            connection.execute(text(change))
    with pytest.raises(Refused, match="altered"):
        take(book, run="run-2")


def test_looks_taken_out_together_with_their_triggers_put_back_are_missed_by_the_audit_log(tmp_path):
    book = LookBook(tmp_path / "approvals.db")
    take(book)
    with closing(open_layer(tmp_path / "approvals.db", APPROVALS)) as database, database.writing() as connection:
        [kept] = connection.execute(
            text("SELECT sql FROM sqlite_master WHERE name = 'sealed_look_no_DELETE'")
        ).scalars()
        connection.execute(text("DROP TRIGGER sealed_look_no_DELETE"))
        connection.execute(text("DELETE FROM sealed_look"))
        connection.exec_driver_sql(kept)
    with pytest.raises(Refused, match=r"it has 0 looks .* the audit log 1"):
        book.looks(WINDOW)
