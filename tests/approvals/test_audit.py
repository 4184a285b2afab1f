import sqlite3
from dataclasses import replace

import pytest

from gaelp.approvals import AuditLog, open_database
from gaelp.approvals.audit import START, row_hash, verify_rows
from gaelp.errors import BadInput, DataError


@pytest.fixture
def log(tmp_path, office):
    log = AuditLog(open_database(tmp_path / "approvals.db"))
    for number in range(6):
        log.append("test", {"number": number, "micros": 1000 * number}, office.now)
    return log


def test_each_row_is_bound_to_the_one_before(log):
    rows = log.rows()
    assert [row.seq for row in rows] == list(range(6))
    assert [row.previous_hash for row in rows] == [START, *(row.hash for row in rows[:-1])]
    assert verify_rows(log.rows()) is None


def test_an_empty_log_is_whole(tmp_path):
    assert verify_rows(AuditLog(open_database(tmp_path / "approvals.db")).rows()) is None


def test_the_hash_of_a_row_is_pinned_so_that_logs_outlive_a_release_of_this_code():
    value = row_hash(0, "2026-11-16T12:00:00.000000+00:00", "test", {"micros": 5}, START)
    assert value == "37fcac4f1903b4b18c0a627c59ec14b73d63a5d2a7226c94f3e6867adc03733e"


@pytest.mark.parametrize("field", ["at", "kind", "body", "previous_hash", "hash"])
def test_a_changed_field_is_named_with_its_row(log, field):
    rows = list(log.rows())
    value = getattr(rows[3], field)
    rows[3] = replace(rows[3], **{field: value.replace("3", "4") if "3" in value else value + "x"})
    assert rows[3] != log.rows()[3]
    problem = verify_rows(rows)
    assert problem is not None
    assert problem.seq == 3


def test_deletion_insertion_and_exchange_are_named_with_the_first_wrong_row(log):
    rows = log.rows()
    assert verify_rows(rows[:2] + rows[3:]).seq == 2
    assert verify_rows(rows[1:]).seq == 0
    assert verify_rows((*rows[:2], rows[1], *rows[2:])).seq == 2
    assert verify_rows((rows[1], rows[0], *rows[2:])).seq == 0
    assert "missing or out of order" in str(verify_rows(rows[:2] + rows[3:]))


def test_a_row_that_was_hashed_again_breaks_the_next_one(log):
    rows = list(log.rows())
    changed = replace(rows[2], body='{"micros":9}')
    rows[2] = replace(changed, hash=changed.own_hash())
    assert str(verify_rows(rows)).startswith("row 3: it follows")


@pytest.mark.parametrize("field", ["seq", "body", "at"])
@pytest.mark.parametrize("value", [None, 1.5, b"raw", "\ud800", '{"a":1,"a":2}'])
def test_a_row_of_the_wrong_kind_is_a_problem_and_no_accident(log, field, value):
    rows = list(log.rows())
    rows[1] = replace(rows[1], **{field: value})
    assert verify_rows(rows).seq == 1


def test_a_body_that_has_no_canonical_form_is_not_written(log, office):
    for body in ({"spend": 1.5}, {"when": office.now}, {1: 2}, {"text": "e\u0301"}):
        with pytest.raises(DataError):
            log.append("test", body, office.now)
    with pytest.raises(BadInput, match="time zone"):
        log.append("test", {}, office.now.replace(tzinfo=None))
    assert len(log.rows()) == 6


def test_a_change_in_the_file_is_seen(log, tmp_path):
    connection = sqlite3.connect(tmp_path / "approvals.db", isolation_level=None)
    connection.execute("DROP TRIGGER audit_no_UPDATE")
    connection.execute("UPDATE audit SET body = replace(body, '4000', '4001') WHERE seq = 4")
    connection.close()
    assert verify_rows(log.rows()).seq == 4
