"""The progress of a training run, saved beside the learner with every checkpoint."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from gaelp.config.base import Frozen
from gaelp.training.scores import Score

__all__ = ["LearnerScale", "TrainingEnding", "TrainingProgress"]

TrainingEnding = Literal["", "goal", "plateau", "divergence"]


class LearnerScale(Frozen):
    """Factors by which guardrails have reduced the configured learning rate and minibatch."""

    learning_rate: float = 1.0
    minibatch: float = 1.0


@dataclass(slots=True)
class TrainingProgress:
    """Rounds and steps done, what guardrails counted, and the best validation so far."""

    round: int = 0
    steps: int = 0  # of all rows
    scale: LearnerScale = field(default_factory=LearnerScale)
    rollbacks: int = 0
    clipped_rewards: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    best_round: int = -1  # -1: the unchanged rule
    best: Score | None = None
    since_best: int = 0  # validations
    below_reference: int = 0  # validations in a row
    seconds: float = 0.0  # spent in training, over all processes that took part
    ended: TrainingEnding = ""  # why training was over before its last round
    ended_detail: str = ""

    def carry_over(self, failed: "TrainingProgress") -> None:
        """After a rollback, keep the counts of the attempt that failed: they still happened."""
        self.rollbacks = failed.rollbacks + 1
        self.clipped_rewards, self.skipped = failed.clipped_rewards, failed.skipped

    def state(self) -> dict[str, Any]:
        """Everything as plain data."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        best = self.best.model_dump() if self.best else None
        return plain | {"scale": self.scale.model_dump(), "skipped": dict(self.skipped), "best": best}

    @classmethod
    def restore(cls, saved: Mapping[str, Any]) -> Self:
        """The progress that `state` returned."""
        return cls(
            **{name: saved[name] for name in _PLAIN},
            scale=LearnerScale.model_validate(saved["scale"]),
            skipped=Counter(saved["skipped"]),
            best=Score.model_validate(saved["best"]) if saved["best"] else None,
        )


_PLAIN = (
    "round",
    "steps",
    "rollbacks",
    "clipped_rewards",
    "best_round",
    "since_best",
    "below_reference",
    "seconds",
    "ended",
    "ended_detail",
)
