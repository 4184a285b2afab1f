"""The runs below a home: how each was begun, how far it got, and what waits for a person."""

from pathlib import Path
from typing import Literal

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.names import Name, check_name
from gaelp.config.places import absolute
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

__all__ = ["RunRecord", "all_runs", "find_run", "note_run", "phases_done", "read_record"]


class RunRecord(Frozen):
    """How a run was begun: enough to go on with it."""

    run_id: Name
    begun_at: Instant
    config: str | None
    overrides: tuple[str, ...]
    driver: Literal["deployment", "terminal"]
    driver_id: str  # the id of the flow run


def note_run(folder: RunFolder, record: RunRecord) -> RunRecord:
    """Write down how a run is begun; one that goes on keeps its beginning, and is driven by whoever drives it now."""
    if folder.record.exists():
        record = record.model_copy(update={"begun_at": read_record(folder).begun_at})
    write_models({folder.record: record})
    return record


def all_runs(home: Path) -> list[RunRecord]:
    """Every run that a pipeline began below the home, oldest first."""
    names = [path.parent.name for path in (absolute(home) / "runs").glob("*/run.json")]
    records = [read_record(RunFolder(home, RunId(name))) for name in names]
    return sorted(records, key=lambda record: (record.begun_at, record.run_id))


def find_run(home: Path, run_id: str) -> RunRecord:
    """The record of one run; BadInput names those there are."""
    folder = _folder(home, run_id)
    if folder.record.exists():
        return read_record(folder)
    known = [record.run_id for record in all_runs(home)]
    there = f"there are {', '.join(known[-5:])}" if known else "there is none yet; `gaelp run` begins one"
    raise BadInput(f"no run {run_id!r} below {home}: {there}")


def phases_done(home: Path, run_id: str) -> list[PhaseResult]:
    """What a run has finished: phase by phase, attempt by attempt."""
    run = _folder(home, run_id)
    files = [(phase, path) for phase in Phase for path in (run.path / phase).glob("*/result*.json")]
    done = [(list(Phase).index(phase), read_result(path), path.name) for phase, path in files]
    return [result for _, result, _ in sorted(done, key=lambda one: (one[0], one[1].attempt, one[2]))]


def _folder(home: Path, run_id: str) -> RunFolder:
    run = RunFolder(home, RunId(check_name(run_id, "run", error=BadInput)))
    move_old_files(run)
    return run


def read_record(folder: RunFolder) -> RunRecord:
    """How a run was begun."""
    return RunRecord.model_validate_json(folder.record.read_text(encoding="utf-8"))
