"""What a phase reports about its own stages, beside the reports of training."""

from collections.abc import Callable
from dataclasses import dataclass

from gaelp.training.reports import TrainingReport

__all__ = ["EpisodesPlayed", "OnReport", "StageReport"]


@dataclass(frozen=True, slots=True)
class StageReport:
    """A phase works on this stage now: how many of how many units are done, where that is known."""

    stage: str  # such as "training" or "evaluating"
    done: int = 0
    total: int | None = None
    unit: str = ""  # such as "round" or "episodes"
    hint: str = ""  # why it may take long, shown once it does
    figures: str = ""  # what is known so far, such as "$412.00 spent"


OnReport = Callable[[TrainingReport | StageReport], None]


class EpisodesPlayed:
    """Counts the episodes of an evaluation over all policies and markets."""

    def __init__(self, on_report: OnReport, total: int) -> None:
        self._on_report, self._total = on_report, total
        self._before = 0  # by policies that are finished
        self._report(0)

    def add(self, _policy: str, done: int, episodes: int) -> None:
        """A policy has played `done` of its episodes."""
        self._report(self._before + done)
        if done == episodes:
            self._before += episodes

    def _report(self, done: int) -> None:
        self._on_report(StageReport("evaluating", done, self._total, "episodes"))
