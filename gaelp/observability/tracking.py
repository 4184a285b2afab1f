"""MLflow tracking of one run: parameters, metrics by step and artifacts, in a SQLite file below the home folder.

Tracking is a window onto a run, not its record: the figures are in the run's own files too. So what MLflow cannot take
(a locked database, a full disk) is warned of once and counted, and training continues. MLflow is imported when a run
starts, not before: the import takes about 2 s, its first database another 2 s, a step of 15 metrics 10 ms.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from gaelp.clock import Clock
from gaelp.errors import BadInput
from gaelp.observability.logs import get_logger
from gaelp.observability.mlflow_client import (
    MLFLOW_ENVIRONMENT,
    connect_client,
    database_file,
    import_mlflow,
    local_uri,
    locked,
)
from gaelp.observability.redact import Plain, mask
from gaelp.types import RunId

if TYPE_CHECKING:
    from mlflow.entities import Metric, Param, Run, RunTag
    from mlflow.tracking import MlflowClient

__all__ = ["MLFLOW_ENVIRONMENT", "MlflowTracker", "NoTracker", "RunOutcome", "Tracker", "flat_params", "local_uri"]

RunOutcome = Literal["finished", "failed", "stopped"]

_STATUSES: Mapping[RunOutcome, str] = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
_RUN_ID = re.compile(r"[\w.:-]{1,200}")
_NOT_IN_NAMES = re.compile(r"[^\w.\- :/]")
_PARAM_LENGTH_MAX = 6000  # this limit and the next two are MLflow's
_METRICS_PER_BATCH = 800
_OTHERS_PER_BATCH = 100
_SKIPPED_MAX = 63
_PROBLEM_LENGTH_MAX = 500


class Tracker(Protocol):
    """Where a run shows its figures while it works; a call may lose what it was given, it never stops the run."""

    @property
    def lost_records(self) -> int:
        """How many calls were lost: one step's metrics, one set of parameters, one artifact."""
        ...

    def start(self) -> None:
        """Open the run, or resume the one of the same run id."""
        ...

    def params(self, config: object) -> None:
        """Show a configuration: a mapping or a model, however nested."""
        ...

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Show the figures of one step."""
        ...

    def artifact(self, path: Path) -> None:
        """Keep a copy of a file, or of a folder under its name."""
        ...

    def end(self, outcome: RunOutcome) -> None:
        """Close the run; the same run id can be started again later."""
        ...


class NoTracker:
    """Tracking that is switched off."""

    lost_records = 0

    def start(self) -> None:
        """Do nothing."""

    def params(self, config: object) -> None:
        """Do nothing."""

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Do nothing."""

    def artifact(self, path: Path) -> None:
        """Do nothing."""

    def end(self, outcome: RunOutcome) -> None:
        """Do nothing."""


@dataclass
class _NonFinite:
    """How often a metric was NaN or infinite, and when last; kept in a tag, so that a resumed run counts on."""

    count: int = 0
    last: str = ""
    last_step: int = -1


@dataclass
class _OpenRun:
    client: "MlflowClient"
    mlflow_id: str
    params: dict[str, str] = field(default_factory=dict)
    recorded: set[tuple[str, int, float]] = field(default_factory=set)  # by the processes before this one
    non_finite: dict[str, _NonFinite] = field(default_factory=dict)


class MlflowTracker:
    """Tracks one run in a SQLite file; artifacts lie beside it, in `mlflow-artifacts`.

    `environ` is the environment of this process: MLFLOW_ENVIRONMENT is written to it before MLflow is imported.
    A run that was killed and resumed passes some steps twice; figures already there are not shown a second time.
    """

    def __init__(
        self, uri: str, experiment: str, run_id: RunId, *, clock: Clock, environ: MutableMapping[str, str]
    ) -> None:
        self._database = database_file(uri)
        self._experiment = experiment
        self._run_id = _require_run_id(run_id)
        self._clock = clock
        self._environ = environ
        self._started = False
        self._run: _OpenRun | None = None
        self._lost_records = 0
        self._failures_in_a_row = 0
        self._calls_to_skip = 0

    @property
    def lost_records(self) -> int:
        """How many calls were lost, because MLflow failed or was left in peace for a while after it failed."""
        return self._lost_records

    def start(self) -> None:
        """Import MLflow and open the run; a run that cannot be opened now is tried again by the calls that follow."""
        import_mlflow(self._environ)
        self._started = True
        self._attempt("the start of the run", lambda _: None, patient=True)

    def params(self, config: object) -> None:
        """Add what is new; a value that differs from an earlier start goes to the tag `gaelp.changed.<name>`."""
        given = flat_params(config)
        self._attempt(f"{len(given)} parameters", lambda run: _write_params(run, given))

    def metrics(self, values: Mapping[str, float], *, step: int) -> None:
        """Write one step in one batch; what is not finite is counted in the tag `gaelp.non_finite.<name>`."""
        now_ms = int(self._clock.now().timestamp() * 1000)
        self._attempt(f"metrics of step {step}", lambda run: _write_metrics(run, values, step, now_ms))

    def artifact(self, path: Path) -> None:
        """Copy a file, or a folder under its name, to the run's artifacts."""
        self._attempt(f"artifact {path.name}", lambda run: _write_artifact(run, path))

    def end(self, outcome: RunOutcome) -> None:
        """Close the run and say once more how much of it MLflow lacks."""
        self._attempt("the end of the run", lambda run: self._close(run, outcome), patient=True)
        if self._lost_records:
            get_logger(__name__).warning(
                "MLflow lacks a part of this run; its own files have everything", lost_records=self._lost_records
            )
        self._started, self._run = False, None

    def _attempt(self, what: str, work: Callable[[_OpenRun], None], *, patient: bool = False) -> None:
        if not self._started:
            raise BadInput(f"{what}: tracking is not started; call start() first, and nothing after end()")
        # MLflow waits 20 s for a locked database: not before every step.
        if self._calls_to_skip and not patient:
            self._calls_to_skip -= 1
            self._lose(what, "skipped after a failure")
            return
        try:
            self._run = self._run or self._open()
            work(self._run)
        except Exception as problem:  # noqa: BLE001 - whatever fails in tracking, training continues
            self._failures_in_a_row += 1
            self._calls_to_skip = min(2**self._failures_in_a_row - 1, _SKIPPED_MAX)
            self._lose(what, f"{type(problem).__name__}: {problem}"[:_PROBLEM_LENGTH_MAX])
        else:
            self._failures_in_a_row = self._calls_to_skip = 0

    def _lose(self, what: str, problem: str) -> None:
        self._lost_records += 1
        if self._lost_records == 1:
            get_logger(__name__).warning(
                "MLflow tracking failed and training continues: figures are in the run's own files; later losses are"
                " counted and reported at the end. Free the database or the disk it lies on.",
                lost=what,
                problem=problem,
                database=str(self._database),
            )

    def _open(self) -> _OpenRun:
        with locked(self._database):
            client = connect_client(self._database)
            experiment_id = self._experiment_id(client)
            runs = client.search_runs([experiment_id], f"tags.`gaelp.run_id` = '{self._run_id}'", max_results=1)
            if runs:
                return _reopened(client, runs[0])
            run = client.create_run(experiment_id, tags={"gaelp.run_id": self._run_id}, run_name=self._run_id)
        return _OpenRun(client, run.info.run_id)

    def _experiment_id(self, client: "MlflowClient") -> str:
        known = client.get_experiment_by_name(self._experiment)
        if known is not None:
            return str(known.experiment_id)
        folder = self._database.parent / "mlflow-artifacts"
        return str(client.create_experiment(self._experiment, artifact_location=folder.as_uri()))

    def _close(self, run: _OpenRun, outcome: RunOutcome) -> None:
        # Once more, in case the step that first wrote them was lost.
        tags = {f"gaelp.non_finite.{name}": _as_tag(values) for name, values in run.non_finite.items()}
        if self._lost_records:
            tags["gaelp.lost_records"] = str(self._lost_records)
        _write(run, tags=_tags(tags))
        end_ms = int(self._clock.now().timestamp() * 1000)
        run.client.set_terminated(run.mlflow_id, status=_STATUSES[outcome], end_time=end_ms)


def flat_params(config: object) -> dict[str, str]:
    """A nested configuration as `a.b.c` -> text, secrets masked, lists as JSON, long values cut at MLflow's limit."""
    plain = mask(config)
    if not isinstance(plain, dict):
        raise BadInput(f"config is a {type(config).__name__}: give a mapping or a model, so that its values have names")
    return {_NOT_IN_NAMES.sub("_", name): _cut(text) for name, text in _leaves(plain, "")}


def _leaves(plain: Plain, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(plain, dict) and plain:
        for key, value in plain.items():
            yield from _leaves(value, f"{name}.{key}" if name else key)
    else:
        yield name, plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _cut(text: str) -> str:
    if len(text) <= _PARAM_LENGTH_MAX:
        return text
    note = f"… [cut: {len(text)} characters]"
    return text[: _PARAM_LENGTH_MAX - len(note)] + note


def _entities() -> Any:
    from mlflow import entities  # noqa: PLC0415

    return entities


def _write_params(run: _OpenRun, given: Mapping[str, str]) -> None:
    new = {name: text for name, text in given.items() if name not in run.params}
    # MLflow never changes a parameter; the whole batch would fail.
    changed = {f"gaelp.changed.{name}": text for name, text in given.items() if run.params.get(name, text) != text}
    _write(run, params=[_entities().Param(name, text) for name, text in new.items()], tags=_tags(changed))
    run.params |= new


def _write_metrics(run: _OpenRun, values: Mapping[str, float], step: int, now_ms: int) -> None:
    figures = {_NOT_IN_NAMES.sub("_", name): float(value) for name, value in values.items()}
    # MLflow would keep infinity as 1.8e308 and NaN as 0 with a flag that few plots show.
    odd = {name: value for name, value in figures.items() if not math.isfinite(value)}
    for name, value in odd.items():
        _count_non_finite(run.non_finite.setdefault(name, _NonFinite()), value, step)
    metrics = [
        _entities().Metric(name, value, now_ms, step)
        for name, value in figures.items()
        if name not in odd and (name, step, value) not in run.recorded
    ]
    _write(
        run, metrics=metrics, tags=_tags({f"gaelp.non_finite.{name}": _as_tag(run.non_finite[name]) for name in odd})
    )


def _count_non_finite(counted: _NonFinite, value: float, step: int) -> None:
    # A resumed run passes some steps twice.
    if step > counted.last_step:
        counted.count, counted.last, counted.last_step = counted.count + 1, str(value), step


def _write_artifact(run: _OpenRun, path: Path) -> None:
    if path.is_dir():
        run.client.log_artifacts(run.mlflow_id, str(path), artifact_path=path.name)
    else:
        run.client.log_artifact(run.mlflow_id, str(path))


def _write(
    run: _OpenRun,
    *,
    metrics: Sequence["Metric"] = (),
    params: Sequence["Param"] = (),
    tags: Sequence["RunTag"] = (),
) -> None:
    """One batch, or as few as MLflow's limits allow; none if there is nothing to write."""
    others = max(len(params), len(tags))
    for index in range(max(-(-len(metrics) // _METRICS_PER_BATCH), -(-others // _OTHERS_PER_BATCH))):
        many, few = (slice(index * size, (index + 1) * size) for size in (_METRICS_PER_BATCH, _OTHERS_PER_BATCH))
        run.client.log_batch(run.mlflow_id, metrics=metrics[many], params=params[few], tags=tags[few], synchronous=True)


def _tags(texts: Mapping[str, str]) -> list["RunTag"]:
    return [_entities().RunTag(name, text) for name, text in texts.items()]


def _as_tag(counted: _NonFinite) -> str:
    return json.dumps(vars(counted))


def _reopened(client: "MlflowClient", run: "Run") -> _OpenRun:
    mlflow_id = str(run.info.run_id)
    client.update_run(mlflow_id, status="RUNNING")
    recorded = {
        (name, int(point.step), float(point.value))
        for name in run.data.metrics
        for point in client.get_metric_history(mlflow_id, name)
    }
    prefix = "gaelp.non_finite."
    non_finite = {
        name.removeprefix(prefix): _NonFinite(**json.loads(text))
        for name, text in run.data.tags.items()
        if name.startswith(prefix)
    }
    return _OpenRun(client, mlflow_id, dict(run.data.params), recorded, non_finite)


def _require_run_id(run_id: RunId) -> RunId:
    if not _RUN_ID.fullmatch(run_id):
        raise BadInput(f"run id {run_id!r}: allowed are 1 to 200 letters, digits, `_`, `.`, `:` and `-`")
    return run_id
