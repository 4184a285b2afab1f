"""One run keeps everything in one folder below the home, and what it logs can be read back line by line."""

import json
from pathlib import Path

import pytest

from gaelp.errors import Refused
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase


def attempt(home, run_id):
    return RunFolder(home, run_id).phase(Phase.SIMULATION)


def test_every_attempt_at_a_phase_has_a_folder_of_its_own_below_the_run(tmp_path):
    run = RunFolder(tmp_path, "20261116-020641-7f3a9c")
    assert run.record.parent == run.settings.parent == run.path == tmp_path / "runs" / "20261116-020641-7f3a9c"
    folders = [run.phase(phase, attempt) for phase in Phase for attempt in (1, 2)]
    assert folders[1].path == run.path / "simulation" / "2"
    assert len({folder.path for folder in folders}) == 8
    for folder in folders:
        files = (folder.checkpoints, folder.training_log, folder.details, folder.manifest, folder.result())
        assert {path.parent for path in files} == {folder.path}
        assert len(set(files)) == 5
    assert not list(tmp_path.iterdir())


def test_a_home_in_the_user_s_folder_is_found_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    attempt(Path("~/gaelp"), "one").log("Saved", {})
    assert (tmp_path / "gaelp" / "runs" / "one" / "simulation" / "1" / "training.jsonl").is_file()


def test_a_log_grows_line_by_line_and_each_is_json(tmp_path):
    folder = attempt(tmp_path, "one")
    folder.log("RoundDone", {"round": 1, "reward": 0.5})
    attempt(tmp_path, "one").log("Stopped", {"detail": "zwölf\nlines"})
    lines = [json.loads(line) for line in folder.training_log.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"report": "RoundDone", "round": 1, "reward": 0.5},
        {"report": "Stopped", "detail": "zwölf\nlines"},
    ]


def test_a_line_that_was_cut_off_does_not_swallow_the_next_one(tmp_path):
    folder = attempt(tmp_path, "run")
    folder.log("First", {"round": 1})
    whole = folder.training_log.read_bytes()
    folder.training_log.write_bytes(whole + whole[:9])
    folder.log("Next", {"round": 2})
    lines = folder.training_log.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["report"] for line in (lines[0], lines[2])] == ["First", "Next"]
    assert len(lines) == 3


def test_a_number_that_json_does_not_have_is_refused_before_it_is_written(tmp_path):
    folder = attempt(tmp_path, "one")
    with pytest.raises(ValueError, match="JSON"):
        folder.log("RoundDone", {"reward": float("nan")})
    assert not folder.training_log.exists()


def test_a_run_that_is_at_work_is_not_held_twice(tmp_path):
    folder = RunFolder(tmp_path, "one")
    with folder.held(), pytest.raises(Refused, match="at work in another process"), folder.held():
        pass
    with folder.held():
        pass
