from datetime import timedelta

import pytest

from gaelp.gates import Gate, as_markdown, judge
from gaelp.gates.criteria import Criterion
from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.data_evidence import asks_for_data, check_stored_data, data_facts, with_data_evidence
from gaelp.phases.simulation_declaration import SIMULATION
from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName

RULES = tuple(
    Criterion(metric=metric, at_most=0, compare="value", sample_metric="checked_rows", minimum_sample=1, why="x")
    for metric in ("failed_expectations", "budget_breaches")
)
EPISODE = {
    "id": "bad",
    "source": "r",
    "episode": "r/bad",
    "state": "finished",
    "started_at": FIRST_HOUR,
    "ended_at": FIRST_HOUR + timedelta(hours=4),
}


@pytest.fixture
def judged(make_result, tmp_path, place):
    """What a run proved whose stored rows are good but for those that a test adds."""

    def judge_with(*episodes):
        store = DuckDbStore(tmp_path / "episodes")
        store.append(episode_batch(3, source="r"))
        if episodes:
            store.append({TableName.EPISODES: rows_of(TableName.EPISODES, *episodes)})
        result = make_result("r")
        verdict = result.verdict
        gate = verdict.gate.model_copy(update={"criteria": (*verdict.gate.criteria, *RULES)})
        asked = result.model_copy(update={"verdict": judge(gate, verdict.evidence, verdict.judged_at)})
        settings = place.settings(f"home={tmp_path}")
        return with_data_evidence(asked, settings), settings

    return judge_with


def failed(result):
    return [rule.criterion.metric for rule in result.verdict.results if rule.outcome != "pass"]


def test_a_run_whose_stored_rows_are_good_passes(judged):
    result, settings = judged()
    assert result.verdict.outcome == "pass"
    assert result.metrics["failed_expectations"] == result.metrics["budget_breaches"] == 0
    assert result.metrics["checked_rows"] == 15
    folder = result.folder(settings.home)
    assert (folder.path / "data-quality" / "decisions.html").exists()
    assert "0 expectations failed" in data_facts(folder)["stored data"]


@pytest.mark.parametrize(
    ("planted", "refusing", "shown"),
    [
        ({"reward": 7.0}, "failed_expectations", "row bad: reward=7.0"),
        ({"spend_micros": 9, "budget_micros": 8}, "budget_breaches", "row bad: episode=r/bad, spend_micros=9"),
    ],
)
def test_a_planted_bad_row_is_refused_by_its_rule_alone_and_named_beside_the_verdict(judged, planted, refusing, shown):
    result, settings = judged({**EPISODE, **planted})
    assert (result.verdict.outcome, failed(result)) == ("fail", [refusing])
    assert shown in str(data_facts(result.folder(settings.home)))


def test_rows_of_other_runs_do_not_count(judged):
    result, _ = judged({**EPISODE, "source": "another", "reward": 7.0})
    assert result.verdict.outcome == "pass"


def test_a_run_that_stored_nothing_proves_nothing(judged, tmp_path, make_result):
    result, _ = judged()
    folder = make_result("empty").folder(tmp_path)
    data = check_stored_data(DuckDbStore(tmp_path / "episodes"), folder, now=result.verdict.judged_at)
    assert data.metrics == {"checked_rows": 0.0, "failed_expectations": 2.0, "budget_breaches": 0.0}


def test_what_a_real_run_stores_keeps_every_expectation(whole, tmp_path):
    folder = whole.folder
    store = DuckDbStore(whole.place.folder / "home" / "episodes")
    data = check_stored_data(store, folder, now=whole.result.verdict.judged_at)
    failures = [(each.expectation, each.columns, each.observed) for part in data.checked for each in part.failed]
    assert (failures, data.budget_breaches) == ([], 0)
    assert data.metrics["checked_rows"] > 16 * 24


def test_a_gate_that_does_not_ask_gets_no_check(make_result, place):
    gate = make_result("r").verdict.gate
    other = Gate(
        name="g", follows=gate.follows, criteria=tuple(rule for rule in gate.criteria if rule.metric == "reward")
    )
    result = make_result("r")
    result = result.model_copy(update={"verdict": judge(other, result.verdict.evidence, result.verdict.judged_at)})
    assert not asks_for_data(other)
    assert with_data_evidence(result, place.settings()) is result


def test_phase_1_is_judged_with_the_checks_of_its_rows():
    assert SIMULATION.with_data is with_data_evidence


def test_the_page_of_a_verdict_names_the_failing_rows(judged):
    result, settings = judged({**EPISODE, "reward": 7.0})
    context = VerdictContext(stored_data=tuple(data_facts(result.folder(settings.home)).items()))
    page = as_markdown(result.verdict, context)
    assert "Stored data" in page
    assert "row bad: reward=7.0" in page.replace("\\", "")
