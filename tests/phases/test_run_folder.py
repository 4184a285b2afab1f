"""One run keeps everything in one folder below the home, and what it logs can be read back line by line."""

import json
from pathlib import Path

import pytest

from gaelp.errors import BadInput, Refused
from gaelp.phases.run_folder import RunFolder, run_ids


def test_every_file_of_a_run_lies_in_its_folder(tmp_path):
    folder = RunFolder(tmp_path, "20261116-020641-7f3a9c")
    assert folder.path == tmp_path / "runs" / "20261116-020641-7f3a9c"
    files = (folder.checkpoints, folder.training_log, folder.result, folder.manifest)
    assert {path.parent for path in files} == {folder.path}
    assert len(set(files)) == 4
    assert not list(tmp_path.iterdir())


def test_a_home_in_the_user_s_folder_is_found_there(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    RunFolder(Path("~/gaelp"), "one").log("Saved", {})
    assert (tmp_path / "gaelp" / "runs" / "one" / "training.jsonl").is_file()
    assert list(run_ids(Path("~/gaelp"))) == ["one"]


def test_a_log_grows_line_by_line_and_each_is_json(tmp_path):
    folder = RunFolder(tmp_path, "one")
    folder.log("RoundDone", {"round": 1, "reward": 0.5})
    RunFolder(tmp_path, "one").log("Stopped", {"detail": "zwölf\nlines"})
    lines = [json.loads(line) for line in folder.training_log.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"report": "RoundDone", "round": 1, "reward": 0.5},
        {"report": "Stopped", "detail": "zwölf\nlines"},
    ]


def test_a_number_that_json_does_not_have_is_refused_before_it_is_written(tmp_path):
    folder = RunFolder(tmp_path, "one")
    with pytest.raises(ValueError, match="JSON"):
        folder.log("RoundDone", {"reward": float("nan")})
    assert folder.training_log.read_text(encoding="utf-8") == ""


def test_the_runs_of_a_home_are_listed_oldest_first(tmp_path):
    assert list(run_ids(tmp_path)) == []
    for name in ("20261116-2", "20261115-9", "20261116-1"):
        RunFolder(tmp_path, name).log("Saved", {})
    (tmp_path / "runs" / "notes.txt").touch()
    assert list(run_ids(tmp_path)) == ["20261115-9", "20261116-1", "20261116-2"]


def test_a_run_that_was_never_begun_is_told_with_those_that_were(tmp_path):
    with pytest.raises(BadInput, match=r"no run 'gone' in .*the newest are: none"):
        RunFolder(tmp_path, "gone").must_exist()
    for number in range(7):
        RunFolder(tmp_path, f"run-{number}").log("Saved", {})
    with pytest.raises(BadInput, match=r"the newest are: run-2, run-3, run-4, run-5, run-6$"):
        RunFolder(tmp_path, "gone").must_exist()
    RunFolder(tmp_path, "run-3").must_exist()


def test_a_run_that_is_at_work_is_not_held_twice(tmp_path):
    folder = RunFolder(tmp_path, "one")
    with folder.held(), pytest.raises(Refused, match="at work in another process"), folder.held():
        pass
    with folder.held():
        pass
