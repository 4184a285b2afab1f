"""The runs below a home: how each was begun, how far it got, and what waits for a person."""

import json
from pathlib import Path
from typing import Literal

from gaelp.config.base import Frozen
from gaelp.config.names import Name, check_name
from gaelp.config.places import absolute
from gaelp.config.write import write_models
from gaelp.errors import BadInput
from gaelp.gates.evidence import Instant
from gaelp.gates.verdict import Outcome
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

__all__ = ["PhaseDone", "RunRecord", "all_runs", "find_run", "note_run", "phases_done"]


class RunRecord(Frozen):
    """How a run was begun: enough to go on with it."""

    run_id: Name
    begun_at: Instant
    config: str | None
    overrides: tuple[str, ...]
    driver: Literal["deployment", "terminal"]
    driver_id: str  # the id of the flow run


class PhaseDone(Frozen):
    """A phase that was finished, and what its gate says by itself."""

    phase: Phase
    attempt: int
    agent: str
    learned: bool
    outcome: Outcome
    seconds: float


def note_run(folder: RunFolder, record: RunRecord) -> RunRecord:
    """Write down how a run is begun; one that goes on keeps its beginning, and is driven by whoever drives it now."""
    if folder.record.exists():
        begun = RunRecord.model_validate_json(folder.record.read_text(encoding="utf-8"))
        record = record.model_copy(update={"begun_at": begun.begun_at})
    write_models({folder.record: record})
    return record


def all_runs(home: Path) -> list[RunRecord]:
    """Every run that a pipeline began below the home, oldest first."""
    records = (absolute(home) / "runs").glob("*/run.json")
    return sorted(map(_read, records), key=lambda record: (record.begun_at, record.run_id))


def find_run(home: Path, run_id: str) -> RunRecord:
    """The record of one run; BadInput names those there are."""
    folder = RunFolder(home, RunId(check_name(run_id, "run", error=BadInput)))
    if folder.record.exists():
        return _read(folder.record)
    known = [record.run_id for record in all_runs(home)]
    there = f"there are {', '.join(known[-5:])}" if known else "there is none yet; `gaelp run` begins one"
    raise BadInput(f"no run {run_id!r} below {home}: {there}")


def phases_done(home: Path, run_id: str) -> list[PhaseDone]:
    """What a run has finished, attempt by attempt."""
    done = []
    attempt = 1
    while (folder := RunFolder(home, RunId(run_id), attempt)).path.exists():
        if folder.result.exists():
            done.append(_simulated(folder))
        attempt += 1
    return done


def _simulated(folder: RunFolder) -> PhaseDone:
    result = json.loads(folder.result.read_text(encoding="utf-8"))
    return PhaseDone(
        phase=Phase.SIMULATION,
        attempt=folder.attempt,
        agent=result["agent"],
        learned=result["learned"],
        outcome=result["verdict"]["outcome"],
        seconds=result["training_seconds"],
    )


def _read(path: Path) -> RunRecord:
    return RunRecord.model_validate_json(path.read_text(encoding="utf-8"))
