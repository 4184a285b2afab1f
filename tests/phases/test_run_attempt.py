"""How a process that trains leaves the record of its run."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gaelp.clock import ManualClock
from gaelp.errors import Refused
from gaelp.phases.run_attempt import RunAttempt
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_end, note_run, read_end
from gaelp.phases.stage_report import StageReport
from gaelp.training.reports import Saved

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return ManualClock(AT)


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path, "first")
    begin(folder, "train")
    return folder


def begin(folder, driver):
    record = {"config": None, "overrides": (), "driver": driver, "driver_id": ""}
    note_run(folder, RunRecord(run_id=folder.run_id, begun_at=AT, **record))


def ended(folder):
    end = read_end(folder)
    return end and (end.state, end.reason)


def at_work(folder, clock, *reports, is_new=False):
    attempt = RunAttempt(folder, clock, is_new=is_new)
    report = attempt.watching(lambda _: None)
    for each in (StageReport("preparing to train"), *reports):
        report(each)
    return attempt


def test_an_interruption_names_the_round_kept_and_the_way_to_resume(folder, clock):
    attempt = at_work(folder, clock, Saved(0, Path("0.safetensors")), Saved(2, Path("000002.safetensors")))
    attempt.note_interruption()
    assert attempt.kept_text() == "kept: everything up to round 2, in 000002.safetensors"
    assert ended(folder) == ("Stopped", "by hand after round 2: `gaelp resume first` resumes it")


def test_before_the_first_round_nothing_is_lost(folder, clock):
    assert "nothing is lost" in at_work(folder, clock, Saved(0, Path("0.safetensors"))).kept_text()


@pytest.mark.parametrize(
    ("problem", "reason"), [(Refused("no space"), "no space"), (ValueError("no"), "ValueError: no")]
)
def test_a_failure_is_recorded_with_its_cause(folder, clock, problem, reason):
    at_work(folder, clock).note_failure(problem)
    assert ended(folder) == ("Failed", reason)


def test_a_guardrail_is_recorded_with_its_round_and_its_figure(folder, clock):
    at_work(folder, clock).note_guardrail(3, "KL blow-up: approx_kl_max is 7")
    assert ended(folder) == ("Stopped", "by a guardrail after round 3: KL blow-up: approx_kl_max is 7")


def test_a_run_that_resumes_or_finishes_forgets_how_it_ended_before(folder, clock):
    note_end(folder, "Failed", "no", clock)
    at_work(folder, clock)
    assert ended(folder) is None


@pytest.mark.parametrize("is_new", [True, False])
def test_a_process_that_is_refused_before_it_begins_leaves_the_record_of_an_older_run(folder, clock, is_new):
    RunAttempt(folder, clock, is_new=is_new).note_failure(Refused("begun with another configuration"))
    assert ended(folder) == (("Failed", "begun with another configuration") if is_new else None)


def test_a_run_of_the_pipeline_keeps_its_own_record(folder, clock):
    begin(folder, "terminal")
    note_end(folder, "Rejected", "by Ann", clock)
    at_work(folder, clock).note_failure(ValueError("no"))
    assert ended(folder) == ("Rejected", "by Ann")
