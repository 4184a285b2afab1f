"""The declaration of a phase: its gate, its work, and what a second attempt or an inconclusive verdict means."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gaelp.clock import Clock
from gaelp.config.places import shown
from gaelp.config.settings import GateSettings, Settings
from gaelp.errors import BadInput, Refused
from gaelp.gates import Gate, load_gate
from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.data_job import RunJob, run_directly
from gaelp.phases.phase_result import PhaseResult, read_result, write_result
from gaelp.phases.run_folder import PhaseFolder
from gaelp.types import Phase

__all__ = ["Assignment", "Inconclusive", "PhaseDeclaration", "SecondAttempt", "carry_out", "check_model", "file_hash"]

# another_draw: other seeds, other episodes. never_look_again: the data are sealed, and a second look would choose the
# better of two. never_spend_again: the money is spent. The last two are never computed a second time.
SecondAttempt = Literal["another_draw", "never_look_again", "never_spend_again"]
# hold: a person is asked. extend: the phase collects more, up to extensions_max times, then holds. refuse: the run
# ends there.
Inconclusive = Literal["hold", "extend", "refuse"]

_HASH_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything the work of a phase is given."""

    settings: Settings  # of the beginning of the run
    folder: PhaseFolder
    gate: Gate
    previous: PhaseResult | None  # of the phase before; its model was hashed again and is the approved one
    clock: Clock
    on_report: Callable[[Any], None]
    extension: int = 0  # how often the attempt was extended after an inconclusive verdict
    run_job: RunJob = run_directly  # runs the jobs on stored rows: plainly, or each as a task of the flow

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.folder.attempt


def file_hash(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _no_context(_result: PhaseResult, _home: Path) -> VerdictContext:
    return VerdictContext()


def _nothing_follows(_settings: Settings, _passed: Sequence[PhaseResult], _clock: Clock) -> None:
    """Nothing but the next phase follows from passing the gate."""


@dataclass(frozen=True, slots=True)
class PhaseDeclaration:
    """One phase. `work` may be called again after an interruption and resumes from its folder."""

    phase: Phase
    work: Callable[[Assignment], PhaseResult]
    second_attempt: SecondAttempt
    inconclusive: Inconclusive
    attempts_max: int = 1
    extensions_max: int = 0
    long_running: bool = False  # runs as a deployment of its own while the pipeline is suspended
    gate: str | Path | None = None  # none: the file of configs/gates named after the phase
    other_gates: tuple[str, ...] = ()  # that judge in its place where the phase's data are of another kind
    hash_model: Callable[[Path], str] = file_hash
    context: Callable[[PhaseResult, Path], VerdictContext] = _no_context  # from a result and the home, for display
    # Called once the gate was passed and approved, with the results of all phases so far; again after an interruption.
    on_passed: Callable[[Settings, Sequence[PhaseResult], Clock], None] = _nothing_follows

    def __post_init__(self) -> None:
        """Raise BadInput for a declaration that contradicts itself."""
        if self.attempts_max < 1 or (self.second_attempt != "another_draw" and self.attempts_max != 1):
            raise BadInput(
                f"phase {self.phase}: attempts_max={self.attempts_max} with second_attempt={self.second_attempt};"
                " allowed: 1, or more with another_draw"
            )
        if (self.extensions_max > 0) != (self.inconclusive == "extend"):
            raise BadInput(
                f"phase {self.phase}: extensions_max={self.extensions_max} with inconclusive={self.inconclusive};"
                " allowed: 1 or more with extend, 0 otherwise"
            )

    def load_gate(self, settings: GateSettings) -> Gate:
        """Load the rules that decide whether an agent leaves this phase."""
        return load_gate(self.gate or self.phase.value, settings)


def carry_out(declared: PhaseDeclaration, given: Assignment) -> Path:
    """Do the work of one attempt and store its result; return the file with the PhaseResult.

    A phase that must not look or spend again is never computed again: its stored result counts.
    """
    path = given.folder.result(given.extension)
    if path.exists() and declared.second_attempt != "another_draw":
        return path
    result = declared.work(given)
    if result.file(given.settings.home) != path:
        raise BadInput(
            f"the work of phase {declared.phase} returned a result for {shown(result.file(given.settings.home))}; asked"
            f" for was {shown(path)}: give run, phase, attempt and extension of the assignment"
        )
    check_model(declared, result, result.model_hash, given.settings.home)
    if path.exists() and read_result(path) == result:
        return path
    return write_result(given.settings.home, result)


def check_model(declared: PhaseDeclaration, result: PhaseResult, approved_hash: str, home: Path) -> None:
    """Hash the model's file again; raise Refused if it is not the model that was judged and approved."""
    path = result.model_file(home)
    try:
        actual_hash = declared.hash_model(path)
    except OSError as problem:
        raise Refused(
            f"run {result.run_id}: the model of phase {result.phase} cannot be read at {shown(path)}"
            f" ({problem.strerror}): restore it from a copy, or begin another run"
        ) from problem
    if not actual_hash == result.model_hash == approved_hash:
        raise Refused(
            f"run {result.run_id}: the model of phase {result.phase} in {shown(path)} has the hash {actual_hash[:12]};"
            f" judged was {result.model_hash[:12]}, approved {approved_hash[:12]}: restore the file, or begin another"
            " run"
        )
