import contextlib
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from gaelp.clock import ManualClock
from gaelp.errors import BadInput, DataError, GaelpError, Refused
from gaelp.training import checkpoint_folder
from gaelp.training.checkpoint_folder import CheckpointFolder, latest_good

CONFIG, OTHER_CONFIG = "ab" * 32, "cd" * 32
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def opened(folder, keep=3, config_hash=CONFIG, clock=None):
    return CheckpointFolder(folder, config_hash=config_hash, clock=clock or ManualClock(START), keep=keep)


def state(number):
    return {"number": number, "array": np.full(50, number)}


def filled(folder, *steps, keep=3, **options):
    checkpoints = opened(folder, keep, **options)
    for step in steps:
        checkpoints.save(state(step), step)
    return checkpoints


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def steps(folder):
    return [int(path.stem.rsplit("-")[-1]) for path in opened(folder).paths]


def damage(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


# Saving and loading


def test_what_was_saved_last_is_loaded_with_step_configuration_and_time(tmp_path):
    clock = ManualClock(START)
    folder = opened(tmp_path / "run" / "checkpoints", clock=clock)
    folder.save(state(1), 10)
    clock.advance(timedelta(minutes=5))
    path = folder.save(state(2), 20)
    latest = folder.load_latest()
    assert latest.refused == ()
    assert latest.checkpoint.path == path
    assert latest.checkpoint.state["number"] == 2
    assert latest.checkpoint.header.step == 20
    assert latest.checkpoint.header.config_hash == CONFIG
    assert latest.checkpoint.header.created_at == START + timedelta(minutes=5)
    assert names(path.parent) == ["000001-step-10.safetensors", "000002-step-20.safetensors"]


@pytest.mark.parametrize("name", [".", "absent"])
def test_a_folder_without_checkpoints_has_no_latest_and_that_is_no_error(tmp_path, name):
    assert opened(tmp_path / name).load_latest() == latest_good(tmp_path / name)
    assert latest_good(tmp_path / name).checkpoint is None


def test_after_going_back_to_an_earlier_step_the_newest_save_counts_not_the_highest_step(tmp_path):
    folder = filled(tmp_path, 100, 200, 300)
    folder.save({"after": "going back"}, 200)
    assert folder.load_latest().checkpoint.state == {"after": "going back"}
    assert steps(tmp_path) == [200, 300, 200]


def test_another_process_goes_on_counting_where_the_last_one_stopped(tmp_path):
    filled(tmp_path, 1, 2)
    assert opened(tmp_path).save(state(3), 3).name == "000003-step-3.safetensors"


def test_files_that_are_no_checkpoints_are_left_alone_and_not_looked_at(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "000009-step-x.safetensors").write_text("mine")
    folder = filled(tmp_path, 1, 2, keep=1)
    assert folder.load_latest().checkpoint.header.step == 2
    assert names(tmp_path) == ["000002-step-2.safetensors", "000009-step-x.safetensors", "notes.txt"]


# What is kept


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_the_last_few_are_kept(tmp_path, keep):
    filled(tmp_path, *range(8), keep=keep)
    assert steps(tmp_path) == list(range(8))[-keep:]


def test_those_marked_as_best_stay_until_they_are_unmarked(tmp_path):
    folder = opened(tmp_path, keep=2)
    best = folder.save(state(0), 0, best=True)
    later = folder.save(state(1), 1, best=True)
    for step in (2, 3, 4):
        folder.save(state(step), step)
    assert steps(tmp_path) == [0, 1, 3, 4]
    assert folder.best_paths == (best, later)
    assert opened(tmp_path).best_paths == (best, later)
    folder.unmark_best(best)
    folder.save(state(5), 5)
    assert steps(tmp_path) == [1, 4, 5]
    assert folder.best_paths == (later,)
    assert folder.load(later).state["number"] == 1


def test_a_mark_whose_checkpoint_was_never_written_marks_no_other(tmp_path):
    folder = filled(tmp_path, 1, keep=1)
    (tmp_path / "000002-step-2.best").touch()  # killed between mark and checkpoint
    folder.save(state(2), 2)
    folder.save(state(3), 3)
    assert names(tmp_path) == ["000003-step-3.safetensors"]


def test_old_ones_are_deleted_only_after_the_new_one_is_in_place(tmp_path, monkeypatch):
    folder = filled(tmp_path, 1, keep=1)

    def failing(*_arguments):
        raise GaelpError("disk full")

    monkeypatch.setattr(checkpoint_folder, "save", failing)
    with pytest.raises(GaelpError, match="disk full"):
        folder.save(state(2), 2)
    assert steps(tmp_path) == [1]


def test_the_draft_of_a_save_that_was_killed_is_cleared_away_before_the_next_needs_its_room(tmp_path, monkeypatch):
    folder = filled(tmp_path, 1)
    (tmp_path / ".draft-abc").mkdir()
    (tmp_path / ".draft-abc" / ".tmpXYZ").write_bytes(b"half")
    assert folder.load_latest().checkpoint.header.step == 1
    left = []
    monkeypatch.setattr(checkpoint_folder, "save", lambda *_: left.extend(names(tmp_path)))
    folder.save(state(2), 2)
    assert left == ["000001-step-1.safetensors"]


# Damaged ones


def test_the_newest_whole_one_is_found_and_the_refused_ones_are_reported_with_reasons(tmp_path):
    first, second, third = filled(tmp_path, 1, 2, 3).paths
    damage(third)
    second.write_bytes(second.read_bytes()[:-7])
    for latest in (latest_good(tmp_path), opened(tmp_path).load_latest()):
        assert latest.checkpoint.path == first
        assert latest.checkpoint.state["number"] == 1
        assert [refused.path for refused in latest.refused] == [third, second]
        assert "000003-step-3.safetensors is refused: its content has the sha256" in latest.refused[0].reason
        assert "000002-step-2.safetensors is refused" in latest.refused[1].reason
        assert "it was cut off" in latest.refused[1].reason


def test_a_damaged_one_asked_for_by_name_is_refused_and_the_one_before_it_offered(tmp_path):
    folder = filled(tmp_path, 1, 2, 3)
    first, second, third = folder.paths
    damage(third)
    with pytest.raises(
        DataError, match=r"(?s)-3\.safetensors is refused.*newest whole one before it is 000002-step-2\."
    ):
        folder.load(third)
    damage(second)
    with pytest.raises(
        DataError, match=r"(?s)-3\.safetensors is refused.*newest whole one before it is 000001-step-1\."
    ):
        folder.load(third)
    damage(first)
    with pytest.raises(DataError, match=r"before it does not exist"):
        folder.load(third)


def test_when_none_is_whole_the_run_does_not_start_anew_by_itself(tmp_path):
    folder = filled(tmp_path, 1, 2)
    for path in folder.paths:
        damage(path)
    assert latest_good(tmp_path).checkpoint is None
    with pytest.raises(DataError, match=r"(?s)none of the 2 checkpoints .* is whole.*000002-step-2.*000001-step-1"):
        folder.load_latest()


@pytest.mark.parametrize("name", ["000009-step-1.safetensors", "000001-step-9.safetensors"])
def test_a_renamed_one_does_not_pass_for_another(tmp_path, name):
    folder = filled(tmp_path, 1)
    path = folder.paths[0].rename(tmp_path / name)
    with pytest.raises(DataError, match="written as serial 1 of step 1"):
        folder.load(path)
    assert latest_good(tmp_path).refused[0].path == path


def test_after_a_damaged_one_saving_goes_on_with_a_higher_number(tmp_path):
    folder = filled(tmp_path, 1, 2)
    damage(folder.paths[-1])
    assert folder.save(state(2), 2).name == "000003-step-2.safetensors"
    assert folder.load_latest().refused == ()


# Configuration and arguments


def test_another_configuration_is_refused_with_both_hashes_unless_allowed_and_never_skipped(tmp_path):
    filled(tmp_path, 1, config_hash=OTHER_CONFIG)
    filled(tmp_path, 2)
    folder = opened(tmp_path, config_hash=OTHER_CONFIG)
    for load in (folder.load_latest, lambda **options: folder.load(folder.paths[-1], **options)):
        with pytest.raises(Refused, match=rf"step-2\.safetensors .*{CONFIG}, this run has {OTHER_CONFIG}"):
            load()
        assert load(allow_other_config=True)
    assert folder.load(folder.paths[0]).header.step == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [({"keep": 0}, "keep=0: at least 1"), ({"config_hash": "abc"}, "config_hash='abc': give the 64 hex digits")],
)
def test_a_folder_that_could_not_work_is_refused(tmp_path, options, message):
    with pytest.raises(BadInput, match=message):
        opened(tmp_path, **options)


@pytest.mark.parametrize("step", [-1, 1.5, True, 10**18, np.int64(3)])
def test_a_step_that_is_no_whole_number_is_refused_before_anything_is_written(tmp_path, step):
    with pytest.raises(BadInput, match="give a whole number"):
        opened(tmp_path / "run").save(state(1), step)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["000002-step-2.safetensors", "other.txt", "../000001-step-1.safetensors"])
def test_what_is_no_checkpoint_of_the_folder_is_refused_with_those_that_are(tmp_path, name):
    folder = filled(tmp_path / "run", 1)
    for use in (folder.load, folder.unmark_best):
        with pytest.raises(BadInput, match=r"is no checkpoint of .*; there are: 000001-step-1\.safetensors"):
            use(tmp_path / "run" / name)


# Writing that fails


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(GaelpError, match=r"run cannot be listed: Not a directory"):
        opened(tmp_path / "run").save(state(1), 1)


@contextlib.contextmanager
def without_privileges():
    """As a user whom permissions bind; the superuser may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("best", [False, True])
def test_a_folder_that_cannot_be_written_is_refused_and_keeps_what_it_has(best):
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        outer = Path(name)
        outer.chmod(0o755)
        folder = filled(outer / "run", 1)
        (outer / "run").chmod(0o555)
        with without_privileges(), pytest.raises(GaelpError, match=r"cannot be written.*: Permission denied"):
            folder.save(state(2), 2, best=best)
        (outer / "run").chmod(0o755)
        assert steps(outer / "run") == [1]
        assert folder.load_latest().checkpoint.state["number"] == 1


def test_old_ones_that_cannot_be_deleted_are_reported(tmp_path, monkeypatch):
    folder = filled(tmp_path, 1, keep=1)
    real_unlink = Path.unlink

    def denied(path, **options):
        if path.name == "000001-step-1.safetensors":
            raise PermissionError(1, "Operation not permitted")
        real_unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", denied)
    with pytest.raises(GaelpError, match=r"step-2\.safetensors is saved, but .* cannot be deleted: Operation not"):
        folder.save(state(2), 2)
    assert folder.load_latest().checkpoint.header.step == 2
