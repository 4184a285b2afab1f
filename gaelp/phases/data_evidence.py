"""What the stored data of a phase say to its gate: failed expectations and breaches of the budget, with their rows."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from gaelp.config.base import Frozen
from gaelp.config.places import shown
from gaelp.config.write import write_models
from gaelp.gates import Evidence, Gate, Verdict, judge
from gaelp.jobs.run_jobs import BudgetSafetyReport, EpisodeMetricsReport
from gaelp.phases.data_job import DataJob, RunJob, run_directly
from gaelp.phases.declaration import Assignment
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.simulation_episodes import source_of
from gaelp.phases.stage_report import StageReport
from gaelp.quality.window_check import FailingRow, QualityResult

__all__ = [
    "DATA_METRICS",
    "DataEvidence",
    "asks_for_data",
    "check_stored_data",
    "data_facts",
    "judge_attempt",
    "judge_with_data",
    "without_data_rules",
]

DATA_METRICS = ("failed_expectations", "budget_breaches")
_SHOWN_ROWS = 3
_SHOWN_OF_A_BREACH = ("campaign", "day", "rule", "value", "limit")


class DataEvidence(Frozen):
    """The checks of a phase's stored rows, kept in the folder of the attempt."""

    source: str
    checked: tuple[QualityResult, ...]
    budget: BudgetSafetyReport
    episodes: EpisodeMetricsReport

    @property
    def metrics(self) -> dict[str, float]:
        """The figures that gates read."""
        return {
            "checked_rows": float(sum(result.rows for result in self.checked)),
            "failed_expectations": float(sum(len(result.failed) for result in self.checked)),
            "budget_breaches": self.budget_breaches,
        }

    @property
    def budget_breaches(self) -> float:
        """Breaches, and rows that could not be read: both may hide overspending. NaN if nothing could be checked."""
        return float(self.budget.breaches + self.budget.dead_letters) if self.budget.was_run else math.nan


def asks_for_data(gate: Gate) -> bool:
    """Whether a rule of the gate reads these figures."""
    return any(rule.metric in DATA_METRICS for rule in gate.criteria)


def without_data_rules(gate: Gate) -> Gate:
    """The gate without the rules on stored data, for whoever judges agents that store nothing."""
    return gate.model_copy(
        update={"criteria": tuple(rule for rule in gate.criteria if rule.metric not in DATA_METRICS)}
    )


def judge_attempt(given: Assignment, evidence: Evidence) -> Verdict:
    """Judge an attempt by its gate, with the checks of what it stored where the gate asks for them."""
    verdict = judge(given.gate, evidence, given.clock.now())
    if not asks_for_data(given.gate):
        return verdict
    given.on_report(StageReport("checking the stored data"))
    job = DataJob(given.settings, given.folder, evidence.measured_at)
    return judge_with_data(verdict, job, given.run_job)


def judge_with_data(verdict: Verdict, job: DataJob, run_job: RunJob = run_directly) -> Verdict:
    """Judge again with what the jobs on the stored rows of the attempt report.

    The job gets the time of the evidence, not of now: the same data give the same verdict, however often they are
    checked.
    """
    data = check_stored_data(job, run_job)
    evidence = verdict.evidence.model_copy(update={"metrics": {**verdict.evidence.metrics, **data.metrics}})
    return judge(verdict.gate, evidence, verdict.judged_at)


def check_stored_data(job: DataJob, run_job: RunJob = run_directly) -> DataEvidence:
    """Run the jobs on what an attempt stored, and keep their reports in the attempt's folder."""
    checked = [QualityResult.model_validate(each) for each in run_job("data-quality", job)["results"]]
    safety = BudgetSafetyReport.model_validate(run_job("budget-safety", job))
    metrics = EpisodeMetricsReport.model_validate(run_job("episode-metrics", job))
    source = ", ".join(job.sources) or source_of(job.folder)
    data = DataEvidence(source=source, checked=tuple(checked), budget=safety, episodes=metrics)
    write_models({_file(job.folder): data})
    return data


def data_facts(folder: PhaseFolder) -> dict[str, str]:
    """What a person sees beside the verdict: each failed expectation and the breaches, with some of their rows."""
    path = _file(folder)
    if not path.exists():
        return {}
    data = DataEvidence.model_validate_json(path.read_bytes())
    failed = [(result, each) for result in data.checked for each in result.failed]
    facts = {
        "stored data": f"{int(data.metrics['checked_rows']):,} rows checked, {len(failed)} expectations failed,"
        f" {data.budget_breaches:g} breaches of the budget, {data.episodes.rows:,} rows of metrics by policy, campaign"
        f" and day; pages and tables are in {shown(folder.path)}"
    }
    for result, each in failed:
        about = f"{each.failing_rows:,} rows; {_rows(each.sample)}" if each.sample else each.observed
        facts[f"{result.table}: {each.expectation} {', '.join(each.columns)}".strip()] = f"{each.why} {about}"
    if data.budget.sample:
        facts["budget breaches"] = "; ".join(_breach(row) for row in data.budget.sample[:_SHOWN_ROWS])
    return facts


def _breach(row: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in _SHOWN_OF_A_BREACH if row.get(name) is not None)


def _rows(sample: Sequence[FailingRow]) -> str:
    return "; ".join(
        f"row {row.id}: {', '.join(f'{name}={value}' for name, value in row.values.items())}"
        for row in sample[:_SHOWN_ROWS]
    )


def _file(folder: PhaseFolder) -> Path:
    return folder.path / "data-evidence.json"
