"""The latch stops while it exists, while it cannot be read, and while nobody can tell."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from gaelp.budget.latch import Latch, StopRecord, plain_reason
from gaelp.errors import GaelpError

RECORD = StopRecord("one", datetime(2026, 1, 1, tzinfo=UTC).isoformat(), "test", "drill")


@pytest.fixture
def latch(tmp_path):
    return Latch(tmp_path / "home" / "STOPPED")


def test_a_folder_without_the_file_means_go(latch):
    latch.path.parent.mkdir()
    assert not latch.is_set()
    assert latch.read() is None


def test_setting_it_stops_and_records_who_and_why(latch):
    latch.path.parent.mkdir()
    latch.set(RECORD)
    assert latch.is_set()
    assert latch.read() == RECORD


def missing_folder(latch):
    assert not latch.path.parent.exists()


def file_for_folder(latch):
    latch.path.parent.write_text("")


def dangling_link(latch):
    latch.path.parent.mkdir()
    latch.path.symlink_to("nowhere")


def empty_file(latch):
    latch.path.parent.mkdir()
    latch.path.touch()


def a_folder(latch):
    latch.path.mkdir(parents=True)


def link_in_a_circle(latch):
    latch.path.parent.symlink_to(latch.path.parent)


@pytest.mark.parametrize(
    "state", [missing_folder, file_for_folder, dangling_link, empty_file, a_folder, link_in_a_circle]
)
def test_whatever_cannot_be_read_counts_as_stopped(latch, state):
    state(latch)
    assert latch.is_set()


@pytest.mark.parametrize("state", [missing_folder, file_for_folder])
def test_it_is_never_set_in_a_folder_that_is_not_there(latch, state):
    """Whoever spends looks into another folder, or into this one when its disk is back: without the latch."""
    state(latch)
    with pytest.raises(GaelpError, match="set GAELP_HOME to the folder that the spenders use"):
        latch.set(RECORD)
    assert not latch.path.parent.is_dir()
    assert not latch.is_there()


def test_a_folder_that_cannot_exist_is_not_taken_for_a_stop(latch):
    link_in_a_circle(latch)
    with pytest.raises(GaelpError, match="cannot be created"):
        latch.set(RECORD)


@pytest.mark.parametrize("state", [dangling_link, empty_file, a_folder])
def test_whatever_stands_at_its_place_is_a_stop_that_is_done(latch, state):
    state(latch)
    latch.set(RECORD)
    assert latch.is_there()


def test_a_missing_folder_is_reported_as_such(latch):
    with pytest.raises(GaelpError, match=r"there is no folder .*home, so the state of the latch is unknown"):
        latch.read()


def test_a_folder_in_its_place_is_reported_with_what_to_remove(latch):
    a_folder(latch)
    with pytest.raises(GaelpError, match=f"rm -r {latch.path}; gaelp kill"):
        latch.read()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("too dear", "too dear"),
        (" two\nlines\t ", "two lines"),
        ("a\0b\ud800", "a\ufffdb\ufffd"),
        ("Zoë's 👩\u200d💻", "Zoë's 👩\u200d💻"),
        ("x" * 120_000, "x" * 2000),
    ],
)
def test_a_reason_can_be_stored_and_sent_anywhere(given, kept):
    assert plain_reason(given) == kept


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"id": 1}', "not json", '{"id": "a", "at": "x", "by": "", "reason": ""}']
)
def test_a_latch_without_a_record_stays_set_until_it_has_one(latch, text):
    latch.path.parent.mkdir()
    latch.path.write_text(text)
    with pytest.raises(GaelpError, match="pull the kill switch again"):
        latch.clear("one")
    assert latch.is_set()
    latch.set(RECORD)
    latch.clear("one")
    assert not latch.is_set()


def test_only_the_stop_that_was_released_is_taken_away(latch):
    latch.path.parent.mkdir()
    latch.set(RECORD)
    with pytest.raises(GaelpError, match="belongs to the stop one"):
        latch.clear("an earlier one")
    assert latch.is_set()


def test_a_second_stop_replaces_the_first_without_a_gap(latch, monkeypatch):
    latch.path.parent.mkdir()
    latch.set(RECORD)
    monkeypatch.setattr(os, "unlink", None)  # nothing may remove it on the way
    latch.set(StopRecord("two", RECORD.at, "test", "again"))
    assert latch.read().id == "two"


def test_the_first_stop_and_the_latest_are_kept_with_their_reasons(latch):
    latch.path.parent.mkdir()
    for number in range(20):
        latch.set(StopRecord(f"id-{number}", RECORD.at, "test", "\U0001f525" * 2000))
    record = latch.read()
    assert record.id == "id-19"
    assert [stop.id for stop in record.earlier] == ["id-0", *(f"id-{number}" for number in range(12, 19))]
    assert record.earlier[0].reason == "\U0001f525" * 500


def test_a_stop_that_is_written_twice_is_not_its_own_predecessor(latch):
    latch.path.parent.mkdir()
    latch.set(RECORD)
    latch.set(RECORD)
    assert latch.read() == RECORD
    assert "earlier" not in latch.path.read_text()


@pytest.mark.parametrize("earlier", [3, "x", [3], [{"id": "a"}], [{"id": 3, "at": "", "by": "", "reason": ""}]])
def test_a_record_with_other_things_for_earlier_stops_is_not_one(earlier):
    values = json.loads(RECORD.as_json()) | {"earlier": earlier}
    with pytest.raises(ValueError, match="record of a stop"):
        StopRecord.from_json(json.dumps(values))


def test_a_disk_that_is_full_still_stops(latch, monkeypatch):
    latch.path.parent.mkdir()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Latch, "_write", full)
    latch.set(RECORD)
    assert latch.is_set()


def test_a_latch_that_cannot_be_set_says_so(latch, monkeypatch):
    latch.path.parent.mkdir()

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(GaelpError, match="Read-only file system"):
        latch.set(RECORD)


KILLED = """
import os, signal, sys
from pathlib import Path
from gaelp.budget.latch import Latch, StopRecord, plain_reason
Latch._write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Latch(Path(sys.argv[1])).set(StopRecord("one", "2026-01-01", "test", "drill"))
"""


def test_killed_right_after_the_first_line_it_is_set(latch):
    latch.path.parent.mkdir()
    done = subprocess.run([sys.executable, "-c", KILLED, str(latch.path)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert latch.is_set()
