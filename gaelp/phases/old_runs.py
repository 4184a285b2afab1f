"""Runs from before each phase had a folder: moved to where they belong, once, with a result in the common form.

Until then the first attempt at the simulation was in runs/ID/ itself and later ones in runs/ID/attempt-N/.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from gaelp.config.places import shown
from gaelp.errors import DataError, Refused
from gaelp.gates import Verdict
from gaelp.phases.episode_window import episode_window
from gaelp.phases.phase_result import PhaseResult, write_result
from gaelp.phases.run_folder import PhaseFolder, RunFolder
from gaelp.types import Phase

__all__ = ["move_old_files"]

_FILES = ("checkpoints", "training.jsonl", "manifest.json", "identity.json")
_RESULT = "simulation.json"  # moves last: a move that was interrupted is completed by the next one
_LATER_ATTEMPT = re.compile(r"attempt-(\d+)")


def move_old_files(run: RunFolder) -> None:
    """Move the files of an old run to runs/ID/simulation/<attempt>/; a run that another process works on is left."""
    if not _is_old(run):
        return
    with suppress(Refused), run.held():  # while a process works on it the files stay where that process expects them
        for attempt, folder in _old_attempts(run):
            target = run.phase(Phase.SIMULATION, attempt)
            target.path.mkdir(parents=True, exist_ok=True)
            for name in _FILES:
                if (folder / name).exists():
                    (folder / name).rename(target.path / name)
            if (folder / _RESULT).exists():
                _add_result(target, folder / _RESULT)
                (folder / _RESULT).rename(target.details)
            if folder != run.path:
                (folder / ".held").unlink(missing_ok=True)
                with suppress(OSError):  # something else is in it: that stays
                    folder.rmdir()


def _is_old(run: RunFolder) -> bool:
    return any((run.path / name).exists() for name in (*_FILES, _RESULT)) or any(run.path.glob("attempt-*"))


def _old_attempts(run: RunFolder) -> list[tuple[int, Path]]:
    later = [
        (int(match[1]), path) for path in run.path.glob("attempt-*") if (match := _LATER_ATTEMPT.fullmatch(path.name))
    ]
    return [*sorted(later), (1, run.path)]


def _add_result(folder: PhaseFolder, old: Path) -> None:
    try:
        write_result(folder.run.home, _result(folder, json.loads(old.read_bytes())))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        first = str(problem).splitlines()[0]
        raise DataError(
            f"{shown(old)} is no result that this release reads ({first}): move it away, and `gaelp resume"
            f" {folder.run_id}` judges the run again from its checkpoints"
        ) from problem


def _result(folder: PhaseFolder, old: dict[str, Any]) -> PhaseResult:
    return PhaseResult(
        phase=Phase.SIMULATION,
        run_id=folder.run_id,
        attempt=folder.attempt,
        agent=old["agent"],
        learned=old["learned"],
        model_hash=old["model_hash"],
        model=f"checkpoints/{old['checkpoint']}" if old["checkpoint"] else folder.rules.name,
        verdict=Verdict.model_validate(old["verdict"]),
        seconds=old["training_seconds"],
        judged_on=episode_window(folder, old["evaluation"]["seed"]),
    )
