"""The runs below a home: how each was begun, how it ended, and what it finished."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.names import Name, check_name
from gaelp.config.places import absolute
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.observability import mask_text
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

__all__ = [
    "RunEnd",
    "RunRecord",
    "all_runs",
    "find_run",
    "note_end",
    "note_run",
    "phases_done",
    "read_end",
    "read_record",
]


class RunRecord(Frozen):
    """How a run was begun: enough to resume it."""

    run_id: Name
    begun_at: Instant
    config: str | None
    overrides: tuple[str, ...]
    driver: Literal["deployment", "terminal", "train"]  # train: `gaelp train`, phase 1 without Prefect
    driver_id: str  # the id of the flow run; empty for `gaelp train`
    tuned: str | None = None  # the file of tuned rules that `gaelp train` was given
    process: int | None = None  # that drives a run in a terminal, from its start to its end


class RunEnd(Frozen):
    """How a run ended; deleted when it is resumed."""

    state: str  # as Prefect shows it: Completed, Refused, Rejected, Waiting, Failed
    reason: str
    at: Instant

    @property
    def is_final(self) -> bool:
        """Whether resuming the run could change nothing."""
        return self.state in {"Completed", "Judged", "Refused", "Rejected"}

    @property
    def text(self) -> str:
        """The state with its reason, such as "Rejected by Ada at gate simulation: the market moved"."""
        word = self.state.lower()
        if self.reason.startswith(word):
            return f"{self.state}{self.reason.removeprefix(word)}"
        return f"{self.state}: {self.reason}" if self.reason else self.state


def note_run(folder: RunFolder, record: RunRecord) -> RunRecord:
    """Record how a run is begun; one that is resumed keeps its beginning, and is driven by whoever drives it now."""
    if folder.record.exists():
        record = record.model_copy(update={"begun_at": read_record(folder).begun_at})
    write_models({folder.record: record})
    folder.end.unlink(missing_ok=True)
    return record


def note_end(folder: RunFolder, state: str, reason: str, clock: Clock) -> None:
    """Record how a run ended, so that it is known without a server."""
    write_models({folder.end: RunEnd(state=state, reason=mask_text(reason), at=clock.now())})


def read_end(folder: RunFolder) -> RunEnd | None:
    """How a run ended; None while it has not, and for runs from before this was recorded."""
    return RunEnd.model_validate_json(folder.end.read_bytes()) if folder.end.exists() else None


def all_runs(home: Path) -> list[RunRecord]:
    """Every run below the home, of the pipeline and of `gaelp train`, oldest first."""
    folders = [RunFolder(home, RunId(path.name)) for path in (absolute(home) / "runs").glob("*") if path.is_dir()]
    records = [record for folder in folders if (record := _record(folder)) is not None]
    return sorted(records, key=lambda record: (record.begun_at, record.run_id))


def find_run(home: Path, run_id: str) -> RunRecord:
    """The record of one run; BadInput names those there are."""
    folder = _folder(home, run_id)
    if (record := _record(folder)) is not None:
        return record
    known = [record.run_id for record in all_runs(home)]
    there = f"there are {', '.join(known[-5:])}" if known else "there is none yet; `gaelp run` begins one"
    raise BadInput(f"no run {run_id!r} below {home}: {there}")


def phases_done(home: Path, run_id: str) -> list[PhaseResult]:
    """What a run has finished: phase by phase, attempt by attempt."""
    run = _folder(home, run_id)
    files = [(phase, path) for phase in Phase for path in (run.path / phase).glob("*/result*.json")]
    done = [(list(Phase).index(phase), read_result(path), path.name) for phase, path in files]
    return [result for _, result, _ in sorted(done, key=lambda entry: (entry[0], entry[1].attempt, entry[2]))]


def read_record(folder: RunFolder) -> RunRecord:
    """How a run was begun."""
    return RunRecord.model_validate_json(folder.record.read_text(encoding="utf-8"))


def _record(folder: RunFolder) -> RunRecord | None:
    """How a run was begun; of a `gaelp train` from before that was recorded, what its files show."""
    if folder.record.exists():
        return read_record(folder)
    identity = folder.phase(Phase.SIMULATION).identity
    if not identity.exists():
        return None
    begun_at = datetime.fromtimestamp(identity.stat().st_mtime, UTC)
    return RunRecord(run_id=folder.run_id, begun_at=begun_at, config=None, overrides=(), driver="train", driver_id="")


def _folder(home: Path, run_id: str) -> RunFolder:
    run = RunFolder(home, RunId(check_name(run_id, "run", error=BadInput)))
    move_old_files(run)
    return run
