"""What may not happen in training, and the response: limits on the health figures of every update.

seen by         what                                              action
the learner     a loss or gradient that is not finite             that minibatch is skipped and counted
the learner     an observation or reward that is not finite       stop: the environment is broken
the replay      a value outside the declared range                left out and counted, or stop, as configured
the loop        a reward far outside the usual                    clipped and counted
the loop        a health figure beyond its limit (`Guardrail`)    roll back with half the learning rate, or stop
the loop        out of memory while it learns                     roll back with half the minibatch, or stop
the loop        out of memory while it validates                  validate in smaller pieces, or stop
the loop        out of memory while it saves                      stop: the checkpoint before it is whole

Out of memory stops a run only where nothing can be made smaller. Only learned exploration can collapse: PPO, A2C and
SAC report its spread for continuous actions (`action_std`), PPO and A2C its entropy for discrete ones. TD3, DQN and
QR-DQN explore by a schedule.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, field_validator

from gaelp.agents.learner import Update
from gaelp.agents.out_of_memory import OUT_OF_MEMORY, is_out_of_memory
from gaelp.checks import Limited
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, NotFinite, PoisonedExperience, Refused

__all__ = [
    "DEFAULT_GUARDRAILS",
    "Breach",
    "Guardrail",
    "GuardrailSpec",
    "breach_of_error",
    "first_breach",
    "health_figures",
    "unreported",
]

# The guardrail that an error in a round breaches; the first that fits. No setting of training helps against these.
_STOPPED_BY: tuple[tuple[type[Exception], str], ...] = (
    (NotFinite, "not finite"),
    (PoisonedExperience, "poisoned experience"),
    (BadInput, "bad input"),
    (Refused, "refused"),
)

GuardrailResponse = Literal["roll back", "stop"]


class Guardrail(Limited):
    """A limit on one health figure; it is not checked for an algorithm that does not report the figure."""

    record_threshold = "limit"

    metric: str
    response: GuardrailResponse
    why: str


DEFAULT_GUARDRAILS: dict[str, Guardrail] = {
    "exploding gradient": Guardrail(
        metric="gradient_norm_max",
        at_most=1e4,
        response="roll back",
        why="clipping hides the size of a step, not that its direction comes from a broken loss",
    ),
    "skipped minibatches": Guardrail(
        metric="skipped_share",
        at_most=0.5,
        response="roll back",
        why="when most minibatches are not finite the network itself is damaged",
    ),
    "KL blow-up": Guardrail(
        metric="approx_kl_max",
        at_most=1.0,
        response="roll back",
        why="the new policy has little in common with the one the data came from",
    ),
    "exploration collapse": Guardrail(
        metric="action_std",
        at_least=1e-3,
        response="roll back",
        why="a policy that tries nothing else cannot improve any more",
    ),
    "entropy collapse": Guardrail(
        metric="choice_entropy",
        at_least=1e-4,
        response="roll back",
        why="the same, for a policy over choices",
    ),
    "value divergence": Guardrail(
        metric="value_abs",
        at_most=1e5,
        response="roll back",
        why="values feed on their own errors; no return of a task here is that large",
    ),
}


class GuardrailSpec(Frozen):
    """The limits of one training run."""

    rules: dict[str, Guardrail] = Field(
        default=DEFAULT_GUARDRAILS, description="by name, merged over the defaults; null switches a default off"
    )
    reward_limit: PositiveFloat | None = Field(
        default=None, description="a training reward beyond it, either way, is clipped and counted; none: no limit"
    )
    rollbacks_max: NonNegativeInt = Field(default=3, description="in one run; the next breach stops it")

    @field_validator("rules", mode="before")
    @classmethod
    def _laid_over_the_defaults(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: rule for name, rule in {**DEFAULT_GUARDRAILS, **given}.items() if rule is not None}


class Breach(Frozen):
    """A limit that did not hold."""

    guardrail: str
    response: GuardrailResponse
    detail: str


def health_figures(update: Update) -> dict[str, float]:
    """The figures that guardrails check: the update's own, and shared names for what algorithms name differently."""
    figures = dict(update.metrics)
    skipped = sum(update.skipped.values())
    if skipped + update.gradient_steps:
        figures["skipped_share"] = skipped / (skipped + update.gradient_steps)
    for name in ("value_abs_mean", "q_abs_max"):
        if name in figures:
            figures["value_abs"] = figures[name]
    # The entropy of continuous actions may well be negative, so their spread is checked instead. A learner that reports
    # a temperature has continuous actions, even if it reports no spread.
    if "entropy" in figures and not {"action_std", "temperature"} & figures.keys():
        figures["choice_entropy"] = figures["entropy"]
    return figures


def first_breach(rules: Mapping[str, Guardrail], update: Update) -> Breach | None:
    """The first limit that an update breaches, None if it keeps all; a figure that is not finite is always a breach."""
    figures = health_figures(update)
    for name, value in figures.items():
        if not math.isfinite(value):
            detail = f"{name} is {value} after the update; allowed: finite numbers"
            return Breach(guardrail="not finite", response="roll back", detail=detail)
    for name, rule in rules.items():
        if rule.metric in figures and not rule.limit.holds(figures[rule.metric]):
            allowed = f"{rule.limit.words} {rule.threshold:g}"
            detail = f"{rule.metric} is {figures[rule.metric]:.6g}, allowed is {allowed}: {rule.why}"
            return Breach(guardrail=name, response=rule.response, detail=detail)
    return None


def unreported(rules: Mapping[str, Guardrail], updates: Sequence[Update]) -> Breach | None:
    """The first user-defined rule whose figure no update reports: it would silently guard nothing."""
    reported = {name for update in updates for name in health_figures(update)}
    for name, rule in rules.items():
        if reported and rule.metric not in reported and name not in DEFAULT_GUARDRAILS:
            detail = f"{name!r} checks {rule.metric}, which is not reported; reported are {', '.join(sorted(reported))}"
            return Breach(guardrail="unknown figure", response="stop", detail=detail)
    return None


def breach_of_error(problem: Exception) -> Breach | None:
    """The guardrail that an error in a round breaches; None if the error has another cause and must be raised."""
    if is_out_of_memory(problem):
        return Breach(guardrail=OUT_OF_MEMORY, response="roll back", detail=str(problem) or type(problem).__name__)
    for kind, name in _STOPPED_BY:
        if isinstance(problem, kind):
            return Breach(guardrail=name, response="stop", detail=str(problem))
    return None
