"""`gaelp runs` and `gaelp status` as people read them, without a server."""

import json
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from gaelp.cli.main import app
from gaelp.clock import ManualClock
from gaelp.phases.pilot_standing import PilotNow
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_end, note_run

AT = datetime(2026, 11, 17, 21, 8, 9, tzinfo=UTC)
RUN = "20261117-210809-884e03"


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """The lines that a command prints about one run that was stopped."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    record = {"config": "quick-test", "overrides": ("training.rounds=5",), "driver": "deployment", "driver_id": "x"}
    note_run(RunFolder(tmp_path, RUN), RunRecord(run_id=RUN, begun_at=AT, **record))
    note_end(RunFolder(tmp_path, RUN), "Stopped", f"`gaelp resume {RUN}` resumes it", ManualClock(AT))

    def show(*words):
        result = CliRunner().invoke(app, list(words), env={"GAELP_HOME": str(tmp_path)})
        assert result.exit_code == 0, result.stderr
        return result.stdout.splitlines()

    return show


def test_the_list_is_short_and_status_says_how_to_resume(shown):
    assert shown("runs")[-1].split() == [RUN, "2026-11-17", "21:08", "quick-test", "deployment", "Stopped"]
    state, begun = shown("status", RUN)
    assert state == f"run {RUN}: Stopped: `gaelp resume {RUN}` resumes it"
    assert begun == "begun 2026-11-17 21:08:09 UTC with quick-test --set training.rounds=5, in deployment"


def test_status_shows_the_money_of_a_pilot(shown, tmp_path, monkeypatch):
    now = PilotNow(
        hours_decided=30,
        hours=168,
        currency="USD",
        budget_micros=140_000_000,
        loss_cap_micros=50_000_000,
        spend_micros=12_000_000,
        value_micros=18_000_000,
        clicks=9,
        conversions=2.0,
        roi=0.5,
        held={"spring": "eve changed its budget"},
    )
    monkeypatch.setattr("flows.commands.runs.pilot_now", lambda settings, run: now if run == RUN else None)
    said = " ".join(" ".join(shown("status", RUN)).split())
    assert "pilot: 30 of 168 hours, $12.00 of $140.00 spent, $18.00 of value known so far (+50%" in said
    assert "held: spring: eve changed its budget" in said
    assert json.loads("".join(shown("status", RUN, "--json")))["pilot"]["spend_micros"] == 12_000_000


def test_compare_needs_two_runs(shown):
    assert CliRunner().invoke(app, ["compare", RUN]).exit_code == 2


def test_a_completed_run_is_not_resumed_and_what_shows_it_is_said(shown, tmp_path):
    note_end(RunFolder(tmp_path, RUN), "Completed", "", ManualClock(AT))
    assert shown("resume", RUN) == [
        f"Run {RUN} finished at 2026-11-17 21:08:09 UTC: nothing is left to resume.",
        f"gaelp gate show {RUN}  every rule with its figures",
        f"gaelp status {RUN}     phases and decisions",
    ]


def test_a_rejected_run_is_not_resumed(shown, tmp_path):
    note_end(RunFolder(tmp_path, RUN), "Rejected", "rejected by Ada at gate simulation: no", ManualClock(AT))
    refused = CliRunner().invoke(app, ["resume", RUN], env={"GAELP_HOME": str(tmp_path)})
    assert refused.exit_code == 3
    assert "Rejected by Ada at gate simulation: no" in " ".join(refused.stderr.split())
    assert shown("status", RUN)[0] == f"run {RUN}: Rejected by Ada at gate simulation: no"


def test_the_help_says_where_ids_come_from(shown):
    assert "The id of a run; gaelp runs lists them." in " ".join(" ".join(shown("status", "--help")).split())
