"""Two or more runs side by side: what they were begun with, what they measured, and how they were judged."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gaelp.checks.number_text import number_text
from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.errors import BadInput
from gaelp.gates.decision_store import DecisionStore
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder, RunFolder
from gaelp.phases.run_settings import read_settings
from gaelp.phases.runs import RunEnd, find_run, phases_done, read_end
from gaelp.types import RunId

__all__ = ["ComparedFigure", "ComparedRun", "RunComparison", "compare_runs", "comparison_cells"]

_LOWER, _UPPER = "_lower_95", "_upper_95"
_DIGITS = 4
_MISSING = "-"
_STOPPED_EARLY = ("guardrail", "divergence")


class ComparedFigure(Frozen):
    """A measured figure, with its 95% interval where it has one."""

    value: float
    lower_95: float | None = None
    upper_95: float | None = None

    def text(self) -> str:
        """Such as "0.913 (0.901 .. 0.925)"."""
        if self.lower_95 is None or self.upper_95 is None:
            return _rounded(self.value)
        return f"{_rounded(self.value)} ({_rounded(self.lower_95)} .. {_rounded(self.upper_95)})"


class ComparedRun(Frozen):
    """One run: its latest attempt at its latest phase."""

    run_id: str
    begun_at: Instant
    config: str | None
    phase: str | None  # None: nothing is finished yet, and there are no figures
    attempt: int | None
    agent: str | None
    algorithm: str | None
    learned: bool | None
    market: str | None
    seed: int | None
    judged_on: str | None  # equal for runs that were judged on the same episodes
    verdict: str | None
    decision: str | None
    training: str | None = None  # how it ended, and why if it was stopped early
    stopped_early: bool = False  # by a guardrail, a failure or a person: its figures are not those of a whole training
    figures: dict[str, ComparedFigure]
    shifted_figures: dict[str, ComparedFigure]  # on a market with other parameters than the one trained on


class RunComparison(Frozen):
    """Runs in the order in which they were named, and the settings in which they differ."""

    runs: tuple[ComparedRun, ...]
    differences: dict[str, tuple[Any, ...]]  # a value for each run; None where it is absent or was not recorded
    unrecorded: tuple[str, ...]  # runs whose settings were not recorded: their differences are unknown


def compare_runs(home: Path, run_ids: Sequence[str], decisions: DecisionStore) -> RunComparison:
    """Read what the runs have stored; BadInput if there are fewer than two, or one of them is unknown."""
    if len(set(run_ids)) < 2:
        raise BadInput(f"saw {len(set(run_ids))} run to compare; allowed: two or more different ones (`gaelp runs`)")
    settings = [_recorded_settings(RunFolder(home, RunId(run_id))) for run_id in run_ids]
    runs = tuple(_compared(home, run_id, decisions) for run_id in run_ids)
    keys = sorted({key for values in settings if values is not None for key in values})
    differing = {key: tuple((values or {}).get(key) for values in settings) for key in keys}
    known = [values for values in settings if values is not None]
    return RunComparison(
        runs=runs,
        differences={
            key: values for key, values in differing.items() if len({json.dumps(each.get(key)) for each in known}) > 1
        },
        unrecorded=tuple(run_id for run_id, values in zip(run_ids, settings, strict=True) if values is None),
    )


def comparison_cells(comparison: RunComparison) -> list[tuple[str, ...]]:
    """A row for each fact, difference and figure, with a cell for each run."""
    runs = comparison.runs
    rows = [
        ("config", *(run.config or _MISSING for run in runs)),
        ("begun (UTC)", *(f"{run.begun_at:%Y-%m-%d %H:%M}" for run in runs)),
        ("agent", *(_agent(run) for run in runs)),
        ("market", *(run.market or _MISSING for run in runs)),
        ("seed", *(_MISSING if run.seed is None else str(run.seed) for run in runs)),
        ("training", *(run.training or _MISSING for run in runs)),
        ("verdict", *(run.verdict or "no result yet" for run in runs)),
        ("decision", *(run.decision or "none" for run in runs)),
    ]
    rows += [
        (key, *(_MISSING if value is None else str(value) for value in values))
        for key, values in comparison.differences.items()
    ]
    for title, figures in (("", [run.figures for run in runs]), (", shifted", [run.shifted_figures for run in runs])):
        names = sorted({name for each in figures for name in each})
        rows += [
            (f"{name}{title}", *(each[name].text() if name in each else _MISSING for each in figures)) for name in names
        ]
    return rows


def _recorded_settings(folder: RunFolder) -> dict[str, Any] | None:
    """Every setting but the home, which runs that are compared share."""
    recorded = read_settings(folder)
    return None if recorded is None else {key: value for key, value in _leaves(recorded.values) if key != "home"}


def _leaves(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _compared(home: Path, run_id: str, decisions: DecisionStore) -> ComparedRun:
    record, done = find_run(home, run_id), phases_done(home, run_id)
    latest = done[-1] if done else None
    details, identity = _details(latest.folder(home)) if latest else ({}, {})
    training, stopped_early = _training(details, read_end(RunFolder(home, RunId(run_id))))
    answers = [answer for _, answer in decisions.history(run_id) if answer is not None]
    return ComparedRun(
        run_id=run_id,
        begun_at=record.begun_at,
        config=record.config,
        phase=latest.phase if latest else None,
        attempt=latest.attempt if latest else None,
        agent=latest.agent if latest else None,
        algorithm=identity.get("recipe", {}).get("algorithm"),
        learned=latest.learned if latest else None,
        market=details.get("comparison", {}).get("market"),
        seed=identity.get("seed"),
        judged_on=_episodes(details, identity) if latest else None,
        verdict=_verdict(latest) if latest else None,
        decision=f"{answers[-1].choice} by {answers[-1].who}: {answers[-1].why}" if answers else None,
        training=training,
        stopped_early=stopped_early,
        figures=_figures(latest.metrics) if latest else {},
        shifted_figures=_figures(details.get("shifted_metrics", {})),
    )


def _training(details: Mapping[str, Any], end: RunEnd | None) -> tuple[str | None, bool]:
    """How training ended, and whether it was stopped early."""
    if "stopped" not in details:  # no result yet, or one of another phase
        return (None, False) if details or end is None else (f"{end.state}: {end.reason}", True)
    kind, rounds = details["stopped"], details["rounds"]
    if kind in _STOPPED_EARLY:
        return f"stopped after round {rounds} ({kind}): {details['stop_detail']}", True
    return f"{kind} after round {rounds}", False


def _episodes(details: Mapping[str, Any], identity: Mapping[str, Any]) -> str:
    """Which episodes judged a run, whatever agent was judged on them."""
    return json.dumps(
        [identity.get("market"), details.get("evaluation"), details.get("comparison", {}).get("episodes")]
    )


def _verdict(result: PhaseResult) -> str:
    return f"gate {result.verdict.gate.name}: {result.verdict.outcome}"


def _agent(run: ComparedRun) -> str:
    if run.agent is None:
        return _MISSING
    return run.agent if run.learned else f"{run.agent}, nothing learned"


def _details(folder: PhaseFolder) -> tuple[dict[str, Any], dict[str, Any]]:
    """Every figure of the phase and what decided its training, as far as the phase stores them."""
    details, identity = (
        json.loads(path.read_bytes()) if path.exists() else {} for path in (folder.details, folder.identity)
    )
    return details, identity


def _figures(metrics: Mapping[str, float]) -> dict[str, ComparedFigure]:
    names = [name for name in metrics if not name.endswith((_LOWER, _UPPER))]
    return {
        name: ComparedFigure(
            value=metrics[name], lower_95=metrics.get(f"{name}{_LOWER}"), upper_95=metrics.get(f"{name}{_UPPER}")
        )
        for name in names
    }


def _rounded(value: float) -> str:
    return number_text(round(value, _DIGITS))
