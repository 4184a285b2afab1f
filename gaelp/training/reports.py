"""Reports of a training run: one small object for each event."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaelp.training.monitor import MonitorReport
from gaelp.training.scores import Score

__all__ = ["Intervened", "Resumed", "RoundDone", "Saved", "StopKind", "TrainingReport", "TrainingStopped", "Validated"]

StopKind = Literal["finished", "goal", "plateau", "divergence", "guardrail"]


@dataclass(frozen=True, slots=True)
class Resumed:
    """Training resumes from a checkpoint; `refused` says which newer ones could not be used, and why."""

    path: Path
    round: int
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundDone:
    """One round of collecting and learning."""

    round: int
    rounds: int
    task: str
    steps: int  # of all rows, since training began
    steps_per_second: float
    reward: float  # mean of the episodes that ended, NaN if none did
    metrics: Mapping[str, float]  # means over the round's updates
    skipped: Mapping[str, int]
    clipped_rewards: int


@dataclass(frozen=True, slots=True)
class Validated:
    """The score of the policy on the validation episodes, without exploring."""

    round: int
    score: Score
    best: bool
    monitor: MonitorReport


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint is safe on disk."""

    round: int
    path: Path


@dataclass(frozen=True, slots=True)
class Intervened:
    """A guardrail acted."""

    round: int
    guardrail: str
    action: str
    detail: str


@dataclass(frozen=True, slots=True)
class TrainingStopped:
    """The last report: why training ended, and the best checkpoint, None if none did better than the rule."""

    kind: StopKind
    detail: str
    round: int
    best: Path | None
    best_score: Score | None  # None: stopped before the first validation, with no rule to fall back on
    seconds: float  # of training and validating, over all processes that took part


TrainingReport = Resumed | RoundDone | Validated | Saved | Intervened | TrainingStopped
