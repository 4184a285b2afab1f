import math
from datetime import timedelta

import pyarrow as pa
import pytest

from gaelp.gates import as_markdown, judge
from gaelp.gates.criteria import Criterion
from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.data_evidence import (
    asks_for_data,
    check_stored_data,
    data_facts,
    judge_with_data,
    without_data_rules,
)
from gaelp.phases.data_job import DataJob, run_directly
from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName

RULES = tuple(
    Criterion(metric=metric, at_most=0, compare="value", sample_metric="checked_rows", minimum_sample=1, why="x")
    for metric in ("failed_expectations", "budget_breaches")
)
BUDGET_MICROS = 1_000_000


def batch(source="r", **planted):
    """Good episodes of a run, and one more with what a test plants in it."""
    good = episode_batch(3, source=source)
    budgets = pa.array([BUDGET_MICROS] * 3, pa.int64())
    place = good[TableName.EPISODES].column_names.index("budget_micros")
    good[TableName.EPISODES] = good[TableName.EPISODES].set_column(
        place, good[TableName.EPISODES].schema.field(place), budgets
    )
    if planted:
        spend = planted.pop("spend_micros", 0)
        bad = {"source": source, "episode": f"{source}/bad", "policy": "mpc@1"}
        ended = FIRST_HOUR + timedelta(hours=1)
        episode = {"state": "finished", "started_at": FIRST_HOUR, "ended_at": ended, "budget_micros": BUDGET_MICROS}
        hour = {"step": 0, "segment": "a", "bid_micros": 250_000, "spend_micros": spend}
        rows = {
            TableName.EPISODES: rows_of(TableName.EPISODES, {"id": "bad", "at": ended, **bad, **episode, **planted}),
            TableName.DECISIONS: rows_of(TableName.DECISIONS, {"id": "bad/0", **bad, **hour}),
        }
        good = {name: pa.concat_tables([good[name], rows[name]]) for name in rows}
    return good


@pytest.fixture
def judged(make_result, tmp_path, place):
    """The verdict on a run whose store holds these batches."""

    def judge_with(*batches, run_job=run_directly):
        with_rows = DuckDbStore(tmp_path / "episodes")
        for stored in batches:
            with_rows.append(stored)
        verdict = make_result("r").verdict
        gate = without_data_rules(verdict.gate)
        gate = gate.model_copy(update={"criteria": (*gate.criteria, *RULES)})
        asked = judge(gate, verdict.evidence, verdict.judged_at)
        job = DataJob(place.settings(f"home={tmp_path}"), make_result("r").folder(tmp_path), verdict.judged_at)
        return judge_with_data(asked, job, run_job), job.folder

    return judge_with


def without_beam(name, job):
    """Run the jobs that need no Beam."""
    reports = {"budget-safety": {"breaches": 0}, "episode-metrics": {"rows": 0}}
    return reports[name] if name in reports else run_directly(name, job)


def failed(verdict):
    return [rule.criterion.metric for rule in verdict.results if rule.outcome != "pass"]


def test_a_run_whose_stored_rows_are_good_passes(judged):
    verdict, folder = judged(batch())
    assert (verdict.outcome, failed(verdict)) == ("pass", [])
    assert verdict.evidence.metrics["checked_rows"] == 15
    assert (folder.path / "data-quality" / "decisions.html").exists()
    facts = data_facts(folder)["stored data"]
    assert "15 rows checked, 0 expectations failed, 0 breaches of the budget, 2 rows of metrics" in facts


def test_a_planted_bad_batch_is_refused_and_its_rows_are_named_on_the_page_of_the_verdict(judged):
    verdict, folder = judged(batch(reward=7.0, spend_micros=BUDGET_MICROS + 1))
    assert (verdict.outcome, failed(verdict)) == ("fail", ["failed_expectations", "budget_breaches"])
    page = as_markdown(verdict, VerdictContext(stored_data=tuple(data_facts(folder).items()))).replace("\\", "")
    assert "row bad: reward_for_value=7.0" in page
    assert "campaign=r/bad, day=2026-03-01, rule=episode-limit, value=1000001.0, limit=1000000.0" in page


def test_a_bad_row_without_overspending_is_refused_by_the_expectations_alone(judged):
    verdict, _ = judged(batch(reward=7.0), run_job=without_beam)
    assert failed(verdict) == ["failed_expectations"]


def test_rows_of_other_runs_do_not_count(judged):
    verdict, _ = judged(batch(), batch("another", reward=7.0), run_job=without_beam)
    assert verdict.outcome == "pass"


def test_a_run_that_stored_nothing_proves_nothing(judged):
    verdict, _ = judged()
    assert verdict.outcome != "pass"
    assert failed(verdict) == ["failed_expectations", "budget_breaches"]
    assert math.isnan(verdict.evidence.metrics["budget_breaches"])


def test_what_a_real_run_stores_keeps_every_expectation(whole):
    job = DataJob(whole.place.settings(), whole.folder, whole.result.verdict.judged_at)
    data = check_stored_data(job)
    failures = [(each.expectation, each.columns, each.observed) for part in data.checked for each in part.failed]
    assert (failures, data.budget_breaches, data.budget.sample) == ([], 0, ())
    assert data.metrics["checked_rows"] > 16 * 24


def test_a_gate_says_whether_it_asks_for_stored_data(make_result):
    gate = make_result("r").verdict.gate
    assert asks_for_data(gate)
    assert not asks_for_data(without_data_rules(gate))
