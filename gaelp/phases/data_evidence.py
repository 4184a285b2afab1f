"""What the stored data of a phase say to its gate: failed expectations and breaches of the budget, with their rows."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.config.write import write_models, write_texts
from gaelp.gates import Gate, judge
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.simulation_episodes import source_of
from gaelp.quality.suite import load_suite
from gaelp.quality.window_check import FailingRow, QualityResult, check_window
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = [
    "DATA_METRICS",
    "DataEvidence",
    "asks_for_data",
    "check_stored_data",
    "data_facts",
    "overspent_episodes",
    "with_data_evidence",
]

DATA_METRICS = ("failed_expectations", "budget_breaches")
_CHECKED = (TableName.EPISODES, TableName.DECISIONS)
_SAMPLE_ROWS = 10
_SHOWN_ROWS = 3

Breaches = Callable[[EpisodeStore, RowFilter], tuple[int, Sequence[FailingRow]]]


class DataEvidence(Frozen):
    """The checks of a phase's stored rows, kept in the folder of the attempt."""

    source: str
    checked: tuple[QualityResult, ...]
    budget_breaches: NonNegativeInt
    breaching_rows: tuple[FailingRow, ...] = ()  # a sample

    @property
    def metrics(self) -> dict[str, float]:
        """The figures that gates read."""
        return {
            "checked_rows": float(sum(result.rows for result in self.checked)),
            "failed_expectations": float(sum(len(result.failed) for result in self.checked)),
            "budget_breaches": float(self.budget_breaches),
        }


def asks_for_data(gate: Gate) -> bool:
    """Whether a rule of the gate reads these figures."""
    return any(rule.metric in DATA_METRICS for rule in gate.criteria)


def with_data_evidence(result: PhaseResult, settings: Settings) -> PhaseResult:
    """The result judged again with the checks of its stored rows, if its gate asks for them."""
    verdict = result.verdict
    if not asks_for_data(verdict.gate):
        return result
    folder = result.folder(settings.home)
    with closing(build_store(settings)) as store:
        # The time of the evidence, not of now: the same data give the same verdict, however often they are checked.
        data = check_stored_data(store, folder, now=verdict.evidence.measured_at)
    evidence = verdict.evidence.model_copy(update={"metrics": {**verdict.evidence.metrics, **data.metrics}})
    return result.model_copy(update={"verdict": judge(verdict.gate, evidence, verdict.judged_at)})


def overspent_episodes(store: EpisodeStore, rows: RowFilter) -> tuple[int, Sequence[FailingRow]]:
    """Episodes that spent more than their budget: how many, and a sample."""
    count, sample = 0, list[FailingRow]()
    for table in store.scan(TableName.EPISODES, rows, ("id", "episode", "spend_micros", "budget_micros")):
        over = table.filter(pc.fill_null(pc.greater(table["spend_micros"], table["budget_micros"]), fill_value=False))
        count += over.num_rows
        for row in over.slice(0, _SAMPLE_ROWS - len(sample)).to_pylist():
            values = {name: str(row[name]) for name in ("episode", "spend_micros", "budget_micros")}
            sample.append(FailingRow(id=row["id"], values=values))
    return count, sample


def check_stored_data(
    store: EpisodeStore, folder: PhaseFolder, *, now: datetime, breaches: Breaches = overspent_episodes
) -> DataEvidence:
    """Check what an attempt stored, and keep the result and its pages in the attempt's folder."""
    rows = RowFilter(sources=(source_of(folder),), phases=(folder.phase,))
    checked = []
    for table in _CHECKED:
        result, page = check_window(store, load_suite(table), rows, now=now)
        checked.append(result)
        if page:
            _pages(folder).mkdir(parents=True, exist_ok=True)
            write_texts({_pages(folder) / f"{table}.html": page})
    count, sample = breaches(store, rows)
    data = DataEvidence(
        source=source_of(folder), checked=tuple(checked), budget_breaches=count, breaching_rows=tuple(sample)
    )
    write_models({_file(folder): data})
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
        f" {data.budget_breaches} breaches of the budget; pages in {_pages(folder)}"
    }
    for result, each in failed:
        about = f"{each.failing_rows:,} rows; {_rows(each.sample)}" if each.sample else each.observed
        facts[f"{result.table}: {each.expectation} {', '.join(each.columns)}".strip()] = f"{each.why} {about}"
    if data.budget_breaches:
        facts["budget breaches"] = _rows(data.breaching_rows)
    return facts


def _rows(sample: Sequence[FailingRow]) -> str:
    return "; ".join(
        f"row {row.id}: {', '.join(f'{name}={value}' for name, value in row.values.items())}"
        for row in sample[:_SHOWN_ROWS]
    )


def _file(folder: PhaseFolder) -> Path:
    return folder.path / "data-evidence.json"


def _pages(folder: PhaseFolder) -> Path:
    return folder.path / "data-quality"
