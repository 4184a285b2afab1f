"""Violations are kept, on SQLite and on PostgreSQL: added, resolved once by somebody, never changed or deleted."""

import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError
from sqlalchemy import text

from gaelp.budget.violations import STORE, Resolution, Violation, ViolationStore
from gaelp.database import DatabaseBroken, open_database
from gaelp.errors import BadInput, ComponentMissing, Refused

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
DONE = Resolution(text="bid corrected, campaign resumed", by="finance", at=NOW + timedelta(hours=1))


def violation(**changes):
    values = {"severity": "critical", "scope": "campaign-7", "rule": "spend-rate-3h", "what": "five times the plan"}
    return Violation(**{**values, "at": NOW, "context": {"spend_micros": 60}, **changes})


@pytest.fixture
def store(place):
    return ViolationStore(place)


def test_what_is_added_reads_back_with_a_number(store, place):
    added = store.add(violation())
    assert added == violation(id=1)
    assert ViolationStore(place).get(1) == added


def test_the_record_is_for_its_owner_alone(tmp_path):
    ViolationStore(tmp_path / "violations.sqlite")
    assert (tmp_path / "violations.sqlite").stat().st_mode & 0o777 == 0o600


def test_a_resolution_says_how_and_by_whom(store):
    store.add(violation())
    resolved = store.resolve(1, DONE)
    assert resolved.resolution == DONE
    assert store.get(1) == resolved


def test_the_first_resolution_is_final(store):
    store.add(violation())
    store.resolve(1, DONE)
    with pytest.raises(Refused, match="resolved by finance"):
        store.resolve(1, DONE.model_copy(update={"by": "another"}))
    assert store.get(1).resolution == DONE


def test_lists_are_in_order_and_filtered(store):
    for severity, scope in (("info", "a"), ("critical", "b"), ("critical", "a")):
        store.add(violation(severity=severity, scope=scope))
    store.resolve(2, DONE)
    assert [result.id for result in store.list()] == [1, 2, 3]
    assert [result.id for result in store.list(open_only=True)] == [1, 3]
    assert [result.id for result in store.list(severity="critical", scope="a")] == [3]
    assert [result.id for result in store.list(severity="critical", open_only=True)] == [3]


def test_counts_name_every_severity(store):
    store.add(violation())
    store.add(violation())
    store.resolve(1, DONE)
    counts = store.counts()
    assert len(counts) == 6
    assert (counts["critical", True], counts["critical", False], counts["info", True]) == (1, 1, 0)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM violation",
        "DELETE FROM violation_resolution",
        "UPDATE violation SET severity = 'info'",
        "UPDATE violation_resolution SET resolved_by = 'nobody'",
        "INSERT INTO violation_resolution VALUES (1, 'again', 'x', 'now')",
        "INSERT INTO violation_resolution VALUES (2, '  ', 'x', 'now')",
        "INSERT INTO violation VALUES (9, 'harmless', 's', 'r', 'w', 'now', '{}')",
    ],
)
def test_the_database_itself_refuses_to_change_what_was_written(store, place, statement):
    store.add(violation())
    store.add(violation())
    store.resolve(1, DONE)
    before = store.list()
    refused = pytest.raises(DatabaseBroken)
    with closing(open_database(place, STORE)) as database, refused, database.writing() as connection:
        connection.execute(text(statement))
    assert store.list() == before


def test_secrets_do_not_reach_the_database(store, place):
    added = store.add(violation(what="GET /?access_token=abc123", context={"api_key": "k-123456"}))
    assert "abc123" not in added.what
    with closing(open_database(place, STORE)) as database, database.reading() as connection:
        [row] = connection.execute(text("SELECT * FROM violation"))
    assert "k-123456" not in str(row)
    assert "abc123" not in str(row)


def test_an_unknown_number_is_an_error(store):
    for call in (lambda: store.get(5), lambda: store.resolve(5, DONE)):
        with pytest.raises(BadInput, match="no violation 5"):
            call()


def test_only_new_violations_are_added(store):
    added = store.add(violation())
    with pytest.raises(BadInput, match="add a new one"):
        store.add(added)
    with pytest.raises(BadInput, match="add a new one"):
        store.add(violation(resolution=DONE))


def test_nothing_is_resolved_before_it_happened(store):
    store.add(violation())
    with pytest.raises(BadInput, match="before it happened"):
        store.resolve(1, DONE.model_copy(update={"at": NOW - timedelta(seconds=1)}))
    assert store.get(1).resolution is None


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Resolution, {"text": "   ", "by": "finance", "at": NOW}),
        (Resolution, {"text": "done", "by": " ", "at": NOW}),
        (Resolution, {"text": "done", "by": "finance", "at": NOW.replace(tzinfo=None)}),
        (Violation, {"severity": "bad", "scope": "s", "rule": "r", "what": "w", "at": NOW}),
    ],
)
def test_a_record_without_who_what_and_when_is_refused(model, values):
    with pytest.raises(ValidationError):
        model(**values)


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "violations.sqlite"
    path.write_text("not a database, but long enough to look like one to nobody" * 10)
    with pytest.raises(ComponentMissing, match=r"violations\.sqlite is damaged"):
        ViolationStore(path)


ADDING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from gaelp.budget.violations import Violation, ViolationStore
place = sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1])
now = datetime(2026, 11, 16, tzinfo=UTC)
for _ in range(20):
    ViolationStore(place).add(Violation(severity="info", scope="s", rule="r", what="w", at=now))
"""


def test_processes_that_add_at_once_lose_nothing(store, place):
    command = [sys.executable, "-c", ADDING, str(place)]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    assert [result.id for result in store.list()] == list(range(1, 41))


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from gaelp.budget import violations
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
store = violations.ViolationStore(sys.argv[1] if "://" in sys.argv[1] else Path(sys.argv[1]))
violations._get = die
now = datetime(2026, 11, 16, tzinfo=UTC)
store.add(violations.Violation(severity="info", scope="s", rule="r", what="half written", at=now))
"""


def test_a_process_killed_before_its_commit_leaves_nothing_half_written(store, place):
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert done.returncode == -9
    assert store.list() == ()
    assert store.add(violation()).id >= 1
