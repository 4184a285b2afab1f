"""One process at work on a run of `gaelp train`: what it kept so far, and how it ended, on record for `gaelp runs`."""

from collections.abc import Callable

from gaelp.clock import Clock
from gaelp.errors import GaelpError
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import note_end, read_record
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.training.reports import Resumed, Saved, TrainingReport

__all__ = ["RunAttempt"]


class RunAttempt:
    """Watches the reports of training; `is_new` says that no other process has worked on the run.

    A process that is refused before its first report, because another is at work or the settings differ, leaves the
    record of the run as it was. So does one that works on a run of the pipeline, which has a record of its own.
    """

    def __init__(self, folder: RunFolder, clock: Clock, *, is_new: bool) -> None:
        self._folder, self._clock = folder, clock
        self._is_ours = is_new
        self._kept: Saved | Resumed | None = None

    def watching(self, on_report: OnReport) -> Callable[[TrainingReport | StageReport], None]:
        """Pass every report on, and note which checkpoint is the newest."""

        def report(event: TrainingReport | StageReport) -> None:
            if not self._is_ours:
                self._is_ours = True
                self.note_done()  # how the process before it ended is no longer true
            if isinstance(event, Saved | Resumed):
                self._kept = event
            on_report(event)

        return report

    def kept_text(self) -> str:
        """What an interrupted process leaves to resume from."""
        if self._kept is None or self._kept.round == 0:
            return "no round was finished yet, nothing is lost"
        return f"kept: everything up to round {self._kept.round}, in {self._kept.path.name}"

    def note_interruption(self) -> None:
        """Record that a person stopped the run."""
        after = f"after round {self._kept.round}" if self._kept else "before the first round"
        self._note("Stopped", f"by hand {after}: `gaelp resume {self._folder.run_id}` resumes it")

    def note_failure(self, problem: Exception) -> None:
        """Record why the run failed."""
        self._note(
            "Failed", str(problem) if isinstance(problem, GaelpError) else f"{type(problem).__name__}: {problem}"
        )

    def note_guardrail(self, rounds: int, detail: str) -> None:
        """Record that a guardrail stopped training."""
        self._note("Stopped", f"by a guardrail after round {rounds}: {detail}")

    def note_done(self) -> None:
        """Record that nothing stopped the run: its result says how it ended."""
        if self._is_recorded_by_train():
            self._folder.end.unlink(missing_ok=True)

    def _note(self, state: str, reason: str) -> None:
        if self._is_ours and self._is_recorded_by_train():
            note_end(self._folder, state, reason, self._clock)

    def _is_recorded_by_train(self) -> bool:
        return self._folder.record.exists() and read_record(self._folder).driver == "train"
