"""A home with its books in PostgreSQL brings along what older versions kept in files: nothing falls out of sight."""

import shutil
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

import gaelp.database.database as opening
from gaelp.bootstrap import violations
from gaelp.budget.violations import STORE, Resolution, Violation, ViolationStore, violations_place
from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.content import ReviewQueue
from gaelp.content.review_queue import STORE as REVIEWS
from gaelp.content.review_queue import reviews_place
from gaelp.database import DatabaseDamaged, DatabaseUnavailable, SharedPlace, has_store, open_database
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.phases.gate_approval import gate_approvals

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
DONE = Resolution(text="set back", by="ann", at=NOW + timedelta(hours=1))
SIGNED = ("20261101-000001-aaaaaa", "20261101-000002-bbbbbb", "20261101-000003-cccccc")


def violation(what="too much", **changes):
    return Violation(severity="critical", scope="acc", rule="overspend", what=what, at=NOW, **changes)


@pytest.fixture
def url(databases):
    return databases.fresh_place("postgres")


@pytest.fixture
def machine(tmp_path, url, monkeypatch):
    """The settings of a home, by name, with the books in one PostgreSQL for all."""

    def settings(name, *overrides):
        with monkeypatch.context() as patch:
            patch.setenv("GAELP__BUDGET__DATABASE_URL", url)
            return load_settings(None, overrides=[f"home={tmp_path / name}", *overrides]).settings

    return settings


@pytest.fixture
def old(tmp_path, old_home):
    """A home of a version that kept these stores in files."""
    shutil.copytree(old_home, tmp_path / "old")
    (tmp_path / "new").mkdir()
    shutil.copy(old_home / "approvers.yaml", tmp_path / "new")
    return tmp_path / "old"


def written(path, *rows):
    """A local file with these violations; those with a resolution are resolved."""
    store = ViolationStore(path)
    for row in rows:
        added = store.add(row.model_copy(update={"resolution": None}))
        if row.resolution:
            store.resolve(added.id, row.resolution)
    return path


def kept(place):
    return [(row.what, row.resolution is None) for row in ViolationStore(place).list()]


def test_violations_of_an_old_home_are_seen_from_another_machine(machine, old):
    before = ViolationStore(shutil.copy(old / "violations.sqlite", old / "copy.sqlite")).list()
    assert violations(machine("old")).list() == before
    assert violations(machine("new")).list() == before
    assert [row.id for row in before if row.resolution is None] == [2, 3]
    assert not (old / "violations.sqlite").exists()
    assert (old / "violations.sqlite.imported").exists()


def test_signed_decisions_of_an_old_home_are_valid_on_another_machine(machine, old):
    gate_approvals(machine("old")).decisions().open_questions()
    store = gate_approvals(machine("new", "approvals.policy=live")).decisions()
    decided = []
    for run in SIGNED:
        [(question, _)] = store.history(run)
        answer = store.decision(question)
        decided.append(answer and answer.choice)
    assert decided == ["approve", "reject", None]
    assert [question.run_id for question in store.open_questions()] == [SIGNED[2]]
    sandbox = gate_approvals(machine("new")).decisions()
    [(question, _)] = sandbox.history("20261117-170908-f75552")
    assert sandbox.decision(question).choice == "approve"


def test_reviews_of_an_old_home_are_seen_from_another_machine(machine, old):
    ReviewQueue(reviews_place(machine("old")), ManualClock(NOW)).cases()
    cases = ReviewQueue(reviews_place(machine("new")), ManualClock(NOW)).cases(waiting_only=False)
    assert sorted(case.decision.choice if case.decision else "waits" for case in cases) == [
        "approve",
        "reject",
        "waits",
    ]


def test_alerts_of_an_old_home_wait_for_an_answer_on_another_machine(machine, old):
    assert [one.alert.key for one in open_dispatcher(machine("old"), ManualClock(NOW)).pending] == ["cap"]
    other = open_dispatcher(machine("new"), ManualClock(NOW))
    assert [waiting.alert.key for waiting in other.pending] == ["cap"]
    other.acknowledge(other.pending[0].alert.source, "cap")
    assert open_dispatcher(machine("old"), ManualClock(NOW)).pending == ()
    assert (old / "alerts.json.imported").exists()


def test_alerts_that_cannot_be_read_are_left_where_they_are_and_silence_nothing(machine, old):
    (old / "alerts.json").write_text("{")
    assert open_dispatcher(machine("old"), ManualClock(NOW)).pending == ()
    assert (old / "alerts.json").read_text() == "{"


def test_what_was_imported_is_logged(url, tmp_path, caplog):
    file = written(tmp_path / "v.sqlite", violation(), violation(resolution=DONE))
    ViolationStore(SharedPlace(url, file))
    ViolationStore(SharedPlace(url, file))
    [line] = [record.getMessage() for record in caplog.records if record.name.startswith("gaelp.database")]
    assert "2 rows of violation (now numbered 1 to 2), 1 rows of violation_resolution" in line
    assert "kept as v.sqlite.imported" in line


def test_looking_finds_what_only_the_old_file_holds(machine, old):
    settings = machine("old")
    assert has_store(violations_place(settings), STORE)
    assert not has_store(violations_place(machine("new")), STORE)
    assert (old / "violations.sqlite").exists()


def test_machines_that_used_the_same_numbers_keep_all_violations_and_their_resolutions(url, tmp_path):
    first = written(tmp_path / "a.sqlite", violation("a1"), violation("a2", resolution=DONE))
    second = written(tmp_path / "b.sqlite", violation("b1", resolution=DONE), violation("b2"))
    ViolationStore(SharedPlace(url, first))
    ViolationStore(url).add(violation("new"))
    ViolationStore(SharedPlace(url, second))
    assert kept(url) == [("a1", True), ("a2", False), ("new", True), ("b1", False), ("b2", True)]


def test_of_equal_violations_the_open_one_stays_open(url, tmp_path):
    file = written(tmp_path / "v.sqlite", violation(resolution=DONE), violation())
    ViolationStore(SharedPlace(url, file))
    assert kept(url) == [("too much", False), ("too much", True)]


def test_several_that_open_at_once_import_each_row_once(url, tmp_path):
    files = [written(tmp_path / name, violation(name), violation(name)) for name in ("a.sqlite", "b.sqlite")]
    problems = []

    def opens(file):
        try:
            ViolationStore(SharedPlace(url, file))
        except GaelpError as problem:
            problems.append(problem)

    threads = [threading.Thread(target=opens, args=(file,)) for file in files * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sorted(kept(url)) == [("a.sqlite", True)] * 2 + [("b.sqlite", True)] * 2
    assert sorted(path.name for path in tmp_path.glob("*.imported")) == ["a.sqlite.imported", "b.sqlite.imported"]


class Killed(BaseException):
    """The process ends here."""


def dies(*_arguments):
    raise Killed


def test_a_crash_after_the_import_and_before_the_rename_imports_nothing_twice(url, tmp_path, monkeypatch):
    file = written(tmp_path / "v.sqlite", violation("a"), violation("a"), violation("b", resolution=DONE))
    with monkeypatch.context() as patch:
        patch.setattr(opening, "put_aside", dies)
        with pytest.raises(Killed):
            ViolationStore(SharedPlace(url, file))
    before = kept(url)
    ViolationStore(url).resolve(1, DONE)  # somebody goes on meanwhile
    ViolationStore(SharedPlace(url, file))
    assert before == [("a", True), ("a", True), ("b", False)]
    assert kept(url) == [("a", False), ("a", True), ("b", False)]
    assert not file.exists()


def test_a_crash_before_the_commit_imports_nothing_and_keeps_the_file(url, tmp_path, monkeypatch):
    file = written(tmp_path / "v.sqlite", violation("a"))
    whole = opening.copy_rows
    with monkeypatch.context() as patch:
        patch.setattr(opening, "copy_rows", lambda *given: (whole(*given), dies()))
        with pytest.raises(Killed):
            ViolationStore(SharedPlace(url, file))
    assert kept(url) == []
    assert kept(SharedPlace(url, file)) == [("a", True)]


def test_a_file_that_cannot_be_renamed_is_named(url, tmp_path, monkeypatch):
    file = written(tmp_path / "v.sqlite", violation("a"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        with pytest.raises(DatabaseUnavailable, match=r"rename it to v\.sqlite\.imported"):
            ViolationStore(SharedPlace(url, file))
    assert kept(SharedPlace(url, file)) == [("a", True)]


def test_an_old_file_that_is_damaged_is_not_passed_over(url, tmp_path):
    file = tmp_path / "v.sqlite"
    file.write_bytes(b"this is no database" * 100)
    with pytest.raises(DatabaseDamaged, match=r"v\.sqlite is damaged"):
        ViolationStore(SharedPlace(url, file))


def test_an_old_file_without_rows_stays(url, tmp_path):
    file = written(tmp_path / "v.sqlite")
    ViolationStore(SharedPlace(url, file))
    assert file.exists()


def test_evidence_of_an_earlier_import_is_not_replaced(url, tmp_path):
    ViolationStore(SharedPlace(url, written(tmp_path / "v.sqlite", violation("a"))))
    aside = (tmp_path / "v.sqlite.imported").rename(tmp_path / "elsewhere")
    again = written(tmp_path / "v.sqlite", violation("b"))
    aside.rename(tmp_path / "v.sqlite.imported")
    ViolationStore(SharedPlace(url, again))
    assert kept(url) == [("a", True), ("b", True)]
    assert (tmp_path / "v.sqlite.imported-2").exists()


def test_people_who_decided_differently_on_two_machines_are_asked_which_holds(url, tmp_path, old_home):
    first, second = (Path(shutil.copy(old_home / "content" / "reviews.sqlite", tmp_path / name)) for name in "ab")
    with closing(open_database(second, REVIEWS)) as database, database.writing() as connection:
        connection.execute(text("DROP TRIGGER review_decision_no_UPDATE"))
        connection.execute(text("UPDATE review_decision SET choice = 'reject'"))
    before = ReviewQueue(SharedPlace(url, first), ManualClock(NOW)).cases(waiting_only=False)
    with pytest.raises(Refused, match=r"'reject' in .*b and 'approve' in PostgreSQL; allowed: one answer"):
        ReviewQueue(SharedPlace(url, second), ManualClock(NOW)).cases()
    assert ReviewQueue(url, ManualClock(NOW)).cases(waiting_only=False) == before
    assert second.exists()


def test_a_home_whose_rows_were_moved_does_not_begin_an_empty_record_without_postgresql(url, tmp_path):
    file = written(tmp_path / "v.sqlite", violation())
    ViolationStore(SharedPlace(url, file))
    assert has_store(file, STORE)
    with pytest.raises(BadInput, match=r"was moved to PostgreSQL .*set budget\.database_url"):
        ViolationStore(file)


def test_a_place_does_not_show_its_password(tmp_path):
    assert "hunter2" not in repr(SharedPlace("postgresql://me:hunter2@db/books", tmp_path / "v.sqlite"))
