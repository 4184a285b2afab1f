"""The training loop: collect -> update -> validate -> checkpoint, as a stream of reports.

The unit of work is a round. It begins new episodes from seeds of its own, so it depends only on the checkpoint before
it: a run that is killed resumes from there and ends bit for bit like one that was not.
"""

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import Field, NonNegativeInt, PositiveInt

from gaelp.agents.learner import Learner, Update
from gaelp.agents.out_of_memory import OUT_OF_MEMORY, is_out_of_memory
from gaelp.checks import Goal
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, DataError, GaelpError, Refused
from gaelp.experience.collect import Step, refuse_not_finite
from gaelp.training.arena import Arena, Rewards, Round
from gaelp.training.checkpoint_folder import CheckpointFolder
from gaelp.training.guardrails import (
    Breach,
    GuardrailSpec,
    breach_of_error,
    first_breach,
    unreported,
)
from gaelp.training.monitor import MonitorSpec, PerformanceMonitor
from gaelp.training.progress import LearnerScale, TrainingEnding, TrainingProgress
from gaelp.training.reports import (
    Intervened,
    Resumed,
    RoundDone,
    Saved,
    StopKind,
    TrainingReport,
    TrainingStopped,
    Validated,
)
from gaelp.training.scores import score
from gaelp.training.state_tree import tensors_in

__all__ = ["LoopSpec", "TrainingLoop"]

_DIVERGED_AFTER = 3  # validations in a row


class LoopSpec(Frozen):
    """How long to train, how often to validate and save, and when to stop early."""

    rounds: PositiveInt
    validate_every: PositiveInt = Field(default=10, description="rounds between validations")
    save_every: PositiveInt = Field(default=1, description="rounds between checkpoints")
    patience: NonNegativeInt = Field(default=0, description="validations without a new best before stopping; 0: never")
    divergence_margin: float = Field(
        default=0.05, ge=0, description="stop when this share below the unchanged rule in three validations in a row"
    )
    stop_at_goals: bool = Field(default=False, description="stop as soon as every goal is met")
    guardrails: GuardrailSpec = GuardrailSpec()
    monitor: MonitorSpec = MonitorSpec()

    @property
    def looks(self) -> int:
        """How many validations there are in all; the last round always has one."""
        return -(-self.rounds // self.validate_every)


MakeLearner = Callable[[LearnerScale], Learner]


class TrainingLoop:
    """Trains one learner in one arena; its folder of checkpoints holds everything it needs to resume."""

    def __init__(
        self,
        make_learner: MakeLearner,
        arena: Arena,
        spec: LoopSpec,
        folder: CheckpointFolder,
        *,
        goals: tuple[Goal, ...] = (),
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._make, self._arena, self._spec, self._folder = make_learner, arena, spec, folder
        self._seconds = seconds
        self._monitor = PerformanceMonitor(spec.monitor, goals)
        self._progress, self._saved_at = TrainingProgress(), seconds()
        self._reference: Rewards | None = None
        self._rows_at_once = sys.maxsize  # in validation; halved when memory is too little
        self.learner = make_learner(LearnerScale())

    def run(self) -> Iterator[TrainingReport]:
        """Train to the end; the last report is `TrainingStopped`. Called again, also in another process, it resumes."""
        try:
            yield from self._train()
        except (MemoryError, RuntimeError) as problem:
            if not is_out_of_memory(problem):
                raise
            # There is not even memory to roll back: only the checkpoints on disk count now.
            yield self._stopped("guardrail", f"{OUT_OF_MEMORY}: {problem}: free memory and resume from the checkpoints")

    def _train(self) -> Iterator[TrainingReport]:
        yield from self._start()
        while self._progress.round < self._spec.rounds and not self._progress.ended:
            number = self._progress.round + 1
            breach = yield from self._play()
            if breach is None:
                breach = yield from self._finish_round()
            if breach is not None:
                stopped = yield from self._respond(breach, number)
                if stopped:
                    return
        yield self._stopped(self._progress.ended or "finished", self._progress.ended_detail)

    def final_parameters(self) -> dict[str, torch.Tensor]:
        """Every tensor of the learner as the newest checkpoint holds it, by its path."""
        latest = self._folder.load_latest().checkpoint
        return tensors_in(latest.state["learner"] if latest else self.learner.state())

    def parameters_in(self, path: Path) -> dict[str, torch.Tensor]:
        """Every tensor of the learner as this checkpoint holds it, by its path."""
        return tensors_in(self._folder.load(path).state["learner"])

    def _start(self) -> Iterator[TrainingReport]:
        self._reference = self._arena.reference()
        latest = self._folder.load_latest()
        if latest.checkpoint is None:
            if self._reference is not None:
                self._progress.best = score(self._reference, self._reference)
            yield self._save()
            return
        self._restore(latest.checkpoint.state)
        refused = tuple(file.reason for file in latest.refused)
        yield Resumed(latest.checkpoint.path, self._progress.round, refused)

    def _play(self) -> Generator[TrainingReport, None, Breach | None]:
        """One round of collecting and learning; returns the breach of a guardrail, if there was one."""
        try:
            played = self._arena.begin(self._progress.round)
            self.learner.cut()
            report, breach = self._collect(played)
        except (BadInput, Refused, MemoryError, RuntimeError) as problem:
            breach = breach_of_error(problem)
            if breach is None:
                raise
            return breach
        if breach is None:
            yield report
        return breach

    def _collect(self, played: Round) -> tuple[RoundDone, Breach | None]:
        now, rows, rules = self._progress, self._arena.spaces.rows, self._spec.guardrails
        began, tally, breach = self._seconds(), _Tally(), None
        for place in range(1, played.steps + 1):
            step = played.collector.step(self._explore)
            now.steps += rows
            step, outliers = _within(step, rules.reward_limit)
            tally.add_step(step, outliers)
            self.learner.observe(step)
            update = self.learner.update((now.round + place / played.steps) / self._spec.rounds)
            if update is not None:
                tally.updates.append(update)
                breach = first_breach(rules.rules, update)
                if breach is not None:
                    break
        breach = breach or unreported(rules.rules, tally.updates)
        now.clipped_rewards += tally.clipped
        now.skipped.update(tally.skipped())
        report = RoundDone(
            round=now.round + 1,
            rounds=self._spec.rounds,
            task=played.task,
            steps=now.steps,
            steps_per_second=tally.steps * rows / max(self._seconds() - began, 1e-9),
            reward=played.reward() if played.reward else _mean(tally.returns),
            metrics=_means(tally.updates),
            skipped=dict(tally.skipped()),
            clipped_rewards=tally.clipped,
        )
        return report, breach

    def _explore(self, obs: torch.Tensor) -> torch.Tensor:
        # Checked before the learner acts: the first observation of an episode is in no step yet, and sampling from NaN
        # probabilities raises an error that does not name the cause.
        refuse_not_finite("obs", obs)
        return self.learner.act(obs, explore=True)

    def _finish_round(self) -> Generator[TrainingReport, None, Breach | None]:
        """Validate and save; returns a breach if validation rewards are not finite or memory is too little."""
        try:
            yield from self._validate_and_save()
        except (BadInput, Refused, MemoryError, RuntimeError) as problem:
            breach = breach_of_error(problem)
            if breach is None:
                raise
            return breach.model_copy(update={"response": "stop"})
        return None

    def _validate_and_save(self) -> Iterator[TrainingReport]:
        """Validate and save when due, and record the reason to stop, if there is one."""
        now, spec = self._progress, self._spec
        now.round += 1
        last = now.round == spec.rounds
        improved = False
        if last or now.round % spec.validate_every == 0:
            rows_before = self._rows_at_once
            validated = self._validate()
            improved = validated.best
            if self._rows_at_once < rows_before:
                action = f"validated in pieces of {self._rows_at_once} rows"
                yield Intervened(now.round, OUT_OF_MEMORY, action, "all rows at once did not fit")
            yield validated
            now.ended, now.ended_detail = self._reason_to_stop(validated)
        if last and not now.ended:
            now.ended_detail = f"{spec.rounds} rounds are done"
        if last or improved or now.ended or now.round % spec.save_every == 0:
            yield self._save(best=improved)

    def _validate(self) -> Validated:
        now = self._progress
        rewards = self._arena.validate(self._act)
        validation = score(rewards, self._reference, looks=self._spec.looks)
        figures = dict(self._arena.record(self._act))
        figures |= {"reward": validation.mean, "reward_lower_95": validation.lower_95, **self._arena.figures(rewards)}
        self._monitor.record(figures)
        improved = validation.proven and (now.best is None or validation.mean > now.best.mean)
        now.since_best = 0 if improved else now.since_best + 1
        if improved:
            now.best, now.best_round = validation, now.round
        below = self._reference is not None and validation.lead < -self._spec.divergence_margin * abs(
            float(self._reference.mean())
        )
        now.below_reference = now.below_reference + 1 if below else 0
        return Validated(now.round, validation, improved, self._monitor.report())

    def _act(self, obs: torch.Tensor) -> torch.Tensor:
        """Actions without exploring; once memory is too little for all rows at once, in smaller and smaller pieces."""
        while True:
            try:
                pieces = torch.split(obs, min(self._rows_at_once, len(obs)))
                return torch.cat([self.learner.act(piece, explore=False) for piece in pieces])
            except (MemoryError, RuntimeError) as problem:
                rows = min(self._rows_at_once, len(obs))
                if rows == 1 or not is_out_of_memory(problem):
                    raise
                self._rows_at_once = rows // 2

    def _reason_to_stop(self, validated: Validated) -> tuple[TrainingEnding, str]:
        now, spec = self._progress, self._spec
        goals = validated.monitor.goals
        if spec.stop_at_goals and goals and all(goal.met for goal in goals):
            return "goal", f"all {len(goals)} goals are met"
        if now.below_reference >= _DIVERGED_AFTER:
            return "divergence", (
                f"{now.below_reference} validations in a row were more than {spec.divergence_margin:.0%} below the"
                f" unchanged rule, the last by {-validated.score.lead:.4f}: lower the learning rate"
            )
        if spec.patience and now.since_best >= spec.patience:
            return "plateau", f"no new best in {now.since_best} validations"
        return "", ""

    def _respond(self, breach: Breach, number: int) -> Generator[TrainingReport, None, bool]:
        """Respond to a breach in round `number`; returns whether training is over."""
        now = self._progress
        if breach.response == "stop":
            yield from self._give_up(breach, number, "stop")
            return True
        if now.rollbacks >= self._spec.guardrails.rollbacks_max:
            yield from self._give_up(breach, number, f"stop: {now.rollbacks} rollbacks did not help")
            return True
        halved = "minibatch" if breach.guardrail == OUT_OF_MEMORY else "learning rate"
        scale = _halved(now.scale, memory=breach.guardrail == OUT_OF_MEMORY)
        try:
            self.learner = self._make(scale)
        except (BadInput, Refused) as problem:
            more = breach.model_copy(update={"detail": f"{breach.detail}; {problem}"})
            yield from self._give_up(more, number, f"stop: the {halved} cannot be halved again")
            return True
        self._restore_latest(made_for=scale)
        self._progress.carry_over(now)
        action = f"rolled back to round {self._progress.round}, {halved} halved"
        saved = self._save()  # before it is reported: a run killed now does not resume with the scale that failed
        yield Intervened(number, breach.guardrail, action, breach.detail)
        yield saved
        return False

    def _give_up(self, breach: Breach, number: int, action: str) -> Iterator[TrainingReport]:
        """Go back to the last checkpoint and stop there."""
        yield Intervened(number, breach.guardrail, action, breach.detail)
        self._restore_latest()
        yield self._stopped("guardrail", f"{breach.guardrail}: {breach.detail}")

    def _restore_latest(self, *, made_for: LearnerScale | None = None) -> None:
        latest = self._folder.load_latest().checkpoint
        if latest is None:
            raise GaelpError("the checkpoints of this run are gone: restore them from a copy, or start another run")
        self._restore(latest.state, made_for=made_for)

    def _restore(self, state: Mapping[str, Any], *, made_for: LearnerScale | None = None) -> None:
        """Resume from `state`; `made_for` is the scale of a learner just built, if it is not the saved one."""
        self._progress = TrainingProgress.restore(state["progress"])
        if made_for is None:
            self.learner = self._make(self._progress.scale)
        else:
            self._progress.scale = made_for
        self.learner.load_state(state["learner"])
        self._arena.load_state(state["arena"])
        self._monitor.load_state(state["monitor"])

    def _save(self, *, best: bool = False) -> Saved:
        seconds = self._seconds()
        self._progress.seconds += seconds - self._saved_at
        self._saved_at = seconds
        state = {
            "progress": self._progress.state(),
            "learner": self.learner.state(),
            "arena": self._arena.state(),
            "monitor": self._monitor.state(),
        }
        earlier = self._folder.best_paths if best else ()
        path = self._folder.save(state, self._progress.steps, best=best)
        for old in earlier:
            self._folder.unmark_best(old)
        return Saved(self._progress.round, path)

    def _stopped(self, kind: StopKind, detail: str) -> TrainingStopped:
        now = self._progress
        best = self._best_path() if now.best_round >= 0 else None
        return TrainingStopped(kind, detail, now.round, best, now.best, now.seconds)

    def _best_path(self) -> Path:
        if not self._folder.best_paths:
            raise DataError(
                f"round {self._progress.best_round} did best, and its checkpoint or the mark on it (NAME.best) is gone:"
                " restore it from a copy, or begin another run, which ends bit for bit alike"
            )
        return self._folder.best_paths[-1]


class _Tally:
    """Counts of one round."""

    def __init__(self) -> None:
        self.steps = self.clipped = 0
        self.returns: list[float] = []
        self.updates: list[Update] = []

    def add_step(self, step: Step, outliers: int) -> None:
        self.steps += 1
        self.clipped += outliers
        self.returns.extend(step.finished_returns)

    def skipped(self) -> Counter[str]:
        """Minibatches that the learner skipped, by reason."""
        counts = Counter[str]()
        for update in self.updates:
            counts.update({name: count for name, count in update.skipped.items() if count})
        return counts


def _halved(scale: LearnerScale, *, memory: bool) -> LearnerScale:
    if memory:
        return scale.model_copy(update={"minibatch": scale.minibatch / 2})
    return scale.model_copy(update={"learning_rate": scale.learning_rate / 2})


def _within(step: Step, limit: float | None) -> tuple[Step, int]:
    """The step with rewards clipped to the limit, and how many were; the learner deals with those not finite."""
    if limit is None:
        return step, 0
    outside = step.reward.isfinite() & (step.reward.abs() > limit)
    clipped = torch.where(outside, step.reward.clamp(-limit, limit), step.reward)
    return step._replace(reward=clipped), int(outside.sum())


def _means(updates: list[Update]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for update in updates:
        for name, value in update.metrics.items():
            columns.setdefault(name, []).append(value)
    return {name: _mean(column) for name, column in columns.items()}


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
