"""Runs from before each phase had a folder are moved once, whole, and stay valid."""

import json
import shutil
from pathlib import Path

import pytest

from gaelp.errors import DataError
from gaelp.phases.declaration import check_model
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import find_run, phases_done
from gaelp.phases.simulation_declaration import SIMULATION

OLD_HOME = Path(__file__).parents[1] / "fixtures" / "home-before-database" / "home"
RUN = "20261117-170908-f75552"


@pytest.fixture
def home(tmp_path):
    shutil.copytree(OLD_HOME / "runs", tmp_path / "runs")
    return tmp_path


def names(path):
    return sorted(one.name for one in path.iterdir())


def test_a_run_of_the_old_home_is_found_with_what_it_proved(home):
    old = json.loads((home / "runs" / RUN / "simulation.json").read_text(encoding="utf-8"))
    assert find_run(home, RUN).driver == "terminal"
    [done] = phases_done(home, RUN)
    assert (done.run_id, done.attempt, done.model_hash) == (RUN, 1, old["model_hash"])
    assert done.verdict.model_dump(mode="json")["evidence"] == old["verdict"]["evidence"]
    assert names(home / "runs" / RUN) == [".held", "run.json", "simulation"]


def test_its_model_has_the_hash_that_was_approved(home):
    [done] = phases_done(home, RUN)
    if done.learned:
        check_model(SIMULATION, done, done.model_hash, home)
    else:  # the rule was the agent; the run writes it beside its figures when it is resumed
        assert done.model == "rules.yaml"


def test_later_attempts_keep_their_numbers(home):
    folder = home / "runs" / RUN
    shutil.copytree(folder, folder / "attempt-2", ignore=shutil.ignore_patterns("run.json"))
    assert [(one.phase, one.attempt) for one in phases_done(home, RUN)] == [("simulation", 1), ("simulation", 2)]
    assert names(folder / "simulation") == ["1", "2"]
    assert not (folder / "attempt-2").exists()


def test_a_move_that_was_interrupted_is_completed(home, monkeypatch):
    run = RunFolder(home, RUN)
    whole, moved = Path.rename, []

    def killed(path, target):
        if len(moved) == 2:
            raise KeyboardInterrupt
        moved.append(path)
        return whole(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        move_old_files(run)
    monkeypatch.undo()
    move_old_files(run)
    assert len(phases_done(home, RUN)) == 1
    assert "checkpoints" in names(run.path / "simulation" / "1")


def test_a_run_that_a_process_works_on_is_left_where_it_is(home):
    run = RunFolder(home, RUN)
    with run.held():
        move_old_files(run)
        assert (run.path / "simulation.json").exists()


def test_a_damaged_result_is_named_with_the_way_out(home):
    (home / "runs" / RUN / "simulation.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"simulation.json is no result .* judges the run again"):
        find_run(home, RUN)


def test_what_was_moved_is_not_touched_again(home):
    find_run(home, RUN)
    path = RunFolder(home, RUN).path / "simulation" / "1" / "result.json"
    before = path.stat().st_mtime_ns
    find_run(home, RUN)
    assert path.stat().st_mtime_ns == before
    assert read_result(path).run_id == RUN
