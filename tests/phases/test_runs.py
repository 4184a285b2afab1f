"""The runs below a home: of the pipeline and of `gaelp train`, with how they began and ended."""

from datetime import UTC, datetime

import pytest

from gaelp.clock import ManualClock
from gaelp.errors import BadInput
from gaelp.observability import register_secrets
from gaelp.phases.phase_result import write_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, all_runs, find_run, note_end, note_run, phases_done, read_end

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
CLOCK = ManualClock(AT)


def record(run_id, driver="terminal", at=AT):
    return RunRecord(run_id=run_id, begun_at=at, config="quick-test", overrides=(), driver=driver, driver_id="x")


def test_runs_of_the_pipeline_and_of_gaelp_train_are_listed_oldest_first(tmp_path):
    note_run(RunFolder(tmp_path, "second"), record("second", at=AT.replace(hour=13)))
    note_run(RunFolder(tmp_path, "first"), record("first", "train"))
    before = RunFolder(tmp_path, "older").phase("simulation")  # trained before that was recorded
    before.path.mkdir(parents=True)
    before.identity.write_text("{}", encoding="ascii")
    (tmp_path / "runs" / "no-run").mkdir()
    runs = all_runs(tmp_path)
    assert [run.run_id for run in runs] == ["first", "second", "older"]
    assert (runs[-1].driver, runs[-1].config) == ("train", None)


def test_a_run_that_is_resumed_keeps_its_beginning_and_has_not_ended(tmp_path):
    folder = RunFolder(tmp_path, "r")
    note_run(folder, record("r"))
    note_end(folder, "Failed", "the disk was full", CLOCK)
    assert read_end(folder).reason == "the disk was full"
    assert note_run(folder, record("r", "deployment", AT.replace(hour=15))).begun_at == AT
    assert find_run(tmp_path, "r").driver == "deployment"
    assert read_end(folder) is None


def test_the_recorded_end_holds_no_secret(tmp_path):
    register_secrets(["hunter2-hunter2"])
    folder = RunFolder(tmp_path, "r")
    note_end(folder, "Failed", "password hunter2-hunter2 was refused", CLOCK)
    assert "hunter2" not in folder.end.read_text(encoding="utf-8")


def test_an_unknown_run_is_bad_input_and_those_there_are_are_named(tmp_path):
    with pytest.raises(BadInput, match="`gaelp run` begins one"):
        find_run(tmp_path, "r")
    note_run(RunFolder(tmp_path, "other"), record("other"))
    with pytest.raises(BadInput, match="there are other"):
        find_run(tmp_path, "r")


def test_finished_phases_are_in_the_order_of_their_attempts(tmp_path, make_result):
    for attempt in (2, 1):
        write_result(tmp_path, make_result("r", measured_at=AT, attempt=attempt))
    assert [result.attempt for result in phases_done(tmp_path, "r")] == [1, 2]
