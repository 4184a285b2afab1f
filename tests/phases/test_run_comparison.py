"""Runs side by side: what differs in their settings, their figures with intervals, and how they were judged."""

import json
from datetime import UTC, datetime

import pytest

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.errors import BadInput
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.phase_result import write_result
from gaelp.phases.run_comparison import ComparedFigure, compare_runs, comparison_cells
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import RunRecord, note_end, note_run

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    return gate_approvals(load_settings(overrides=[f"home={tmp_path}"], environ={}).settings).decisions()


@pytest.fixture
def finished(tmp_path, make_result):
    """A run with these settings and figures."""

    def make(run_id, *overrides, record_settings=True, **metrics):
        folder = RunFolder(tmp_path, run_id)
        record = {"config": "base", "overrides": overrides, "driver": "terminal", "driver_id": "x"}
        note_run(folder, RunRecord(run_id=run_id, begun_at=AT, **record))
        if record_settings:
            keep_settings(folder, load_settings(overrides=[f"home={tmp_path}", *overrides], environ={}))
        result = make_result(run_id, measured_at=AT, metrics=metrics)
        write_result(tmp_path, result)
        phase = folder.phase("simulation")
        phase.details.write_text(
            json.dumps({"comparison": {"market": "calm"}, "shifted_metrics": {"reward": 0.5}}), encoding="utf-8"
        )
        phase.identity.write_text(json.dumps({"seed": 7, "recipe": {"algorithm": "ppo"}}), encoding="utf-8")
        return result

    return make


def rows(tmp_path, store, *run_ids):
    return {row[0]: row[1:] for row in comparison_cells(compare_runs(tmp_path, run_ids, store))}


def test_settings_that_differ_are_shown_and_the_others_are_not(tmp_path, store, finished):
    finished("a", "training.rounds=5")
    finished("b", "training.rounds=6", "run.seed=3")
    comparison = compare_runs(tmp_path, ["a", "b"], store)
    assert set(comparison.differences) == {"training.rounds", "run.seed"}
    assert comparison.differences["training.rounds"] == (5, 6)
    assert rows(tmp_path, store, "a", "b")["training.rounds"] == ("5", "6")


def test_the_home_is_no_difference_however_it_was_written(tmp_path, store, finished, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished("a")
    finished("b", "home=.")
    assert compare_runs(tmp_path, ["a", "b"], store).differences == {}


@pytest.mark.parametrize(
    ("stopped", "early", "text"),
    [
        ("finished", False, "finished after round 3"),
        ("plateau", False, "plateau after round 3"),
        ("guardrail", True, "stopped after round 3 (guardrail): KL blow-up: 7"),
        ("divergence", True, "stopped after round 3 (divergence): KL blow-up: 7"),
    ],
)
def test_how_training_ended_is_shown_and_what_was_stopped_early_is_marked(
    tmp_path, store, finished, stopped, early, text
):
    for run_id in ("a", "b"):
        finished(run_id)
    ended = {"stopped": stopped, "rounds": 3, "stop_detail": "KL blow-up: 7"}
    RunFolder(tmp_path, "b").phase("simulation").details.write_text(json.dumps(ended), encoding="utf-8")
    assert compare_runs(tmp_path, ["a", "b"], store).runs[1].stopped_early is early
    assert rows(tmp_path, store, "a", "b")["training"] == ("-", text)


def test_a_run_that_failed_before_it_had_a_result_shows_its_cause(tmp_path, store, finished):
    finished("a")
    folder = RunFolder(tmp_path, "b")
    note_run(folder, RunRecord(run_id="b", begun_at=AT, config=None, overrides=(), driver="train", driver_id=""))
    note_end(folder, "Failed", "your agent mine raised TypeError: no", ManualClock(AT))
    assert compare_runs(tmp_path, ["a", "b"], store).runs[1].stopped_early
    assert rows(tmp_path, store, "a", "b")["training"][1] == "Failed: your agent mine raised TypeError: no"


def test_runs_of_different_agents_on_the_same_episodes_are_judged_on_the_same(tmp_path, store, finished):
    for run_id, algorithm, seed in (("a", "ppo", 1009), ("b", "a2c", 1009), ("c", "ppo", 1010)):
        finished(run_id)
        phase = RunFolder(tmp_path, run_id).phase("simulation")
        phase.details.write_text(json.dumps({"evaluation": {"seed": seed}, "comparison": {"episodes": 200}}))
        phase.identity.write_text(json.dumps({"market": "f00d", "recipe": {"algorithm": algorithm}}))
    a, b, c = compare_runs(tmp_path, ["a", "b", "c"], store).runs
    assert a.judged_on == b.judged_on != c.judged_on


def test_figures_have_their_intervals_and_noise_is_zero(tmp_path, store, finished):
    finished("a", reward=0.9, reward_lower_95=0.8912345, reward_upper_95=0.91)
    finished("b", reward=0.9, reward_lower_95=-7.05305e-19, reward_upper_95=0.91)
    shown = rows(tmp_path, store, "a", "b")
    assert shown["reward"] == ("0.9 (0.8912 .. 0.91)", "0.9 (0 .. 0.91)")
    assert shown["reward, shifted"] == ("0.5", "0.5")
    assert (shown["market"], shown["seed"]) == (("calm", "calm"), ("7", "7"))


def test_verdict_and_decision_are_those_of_each_run(tmp_path, store, finished):
    passed = finished("a")
    finished("b", reward_lower_95=0.1)
    times = {"opened_at": AT, "remind_at": AT.replace(hour=13), "expires_at": AT.replace(hour=14)}
    question = GateQuestion(
        run_id="a", gate="simulation", attempt=1, verdict=passed.verdict, model_hash=passed.model_hash, **times
    )
    store.ask(question)
    about = {"run_id": "a", "gate": "simulation", "evidence_hash": question.evidence_hash, "through": "command"}
    store.decide(GateDecision(**about, choice="approve", who="Ada", why="good", decided_at=AT))
    shown = rows(tmp_path, store, "a", "b")
    assert shown["verdict"] == ("gate simulation: pass", "gate simulation: fail")
    assert shown["decision"] == ("approve by Ada: good", "none")


def test_a_run_without_a_result_or_recorded_settings_is_compared_as_far_as_it_goes(tmp_path, store, finished):
    finished("a", record_settings=False)
    record = {"config": None, "overrides": (), "driver": "train", "driver_id": ""}
    note_run(RunFolder(tmp_path, "b"), RunRecord(run_id="b", begun_at=AT, **record))
    comparison = compare_runs(tmp_path, ["a", "b"], store)
    assert comparison.unrecorded == ("a", "b")
    assert rows(tmp_path, store, "a", "b")["verdict"] == ("gate simulation: pass", "no result yet")
    assert json.loads(comparison.model_dump_json())["runs"][1]["figures"] == {}


@pytest.mark.parametrize("run_ids", [["a"], ["a", "a"], ["a", "nowhere"]])
def test_fewer_than_two_runs_or_an_unknown_one_are_bad_input(tmp_path, store, finished, run_ids):
    finished("a")
    with pytest.raises(BadInput):
        compare_runs(tmp_path, run_ids, store)


def test_a_figure_without_an_interval_is_shown_alone():
    assert ComparedFigure(value=1 / 3).text() == "0.3333"
