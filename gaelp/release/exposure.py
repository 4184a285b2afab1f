"""When exposure grows, waits or ends: the plan as data, and one pure decision from what was seen.

Each check asks in this order, and the first answer decides:

1. abort: money and safety, without statistics (a person's stop, violations, loss, cost spike);
2. roll back: arms not served as assigned, errors, complaints, or a sequence that shows a worse agent;
3. hold: the step is too young, has too few pairs, or its improvement is not shown; past its deadline it rolls back;
4. advance to the next step, or promote from the last one below 100%.

So nothing that is pending can outrank an abort. A release that was rolled back or aborted stays so: it takes a new
plan. After a promotion the first two kinds of checks continue.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.errors import BadInput, Refused
from gaelp.release.exposure_checks import (
    CheckLimits,
    Finding,
    ReleaseEvidence,
    abort_findings,
    errors_in_a_row,
    lift_figures,
    lift_text,
    rollback_findings,
)

__all__ = [
    "ExposureDecision",
    "ExposureOutcome",
    "ExposurePlan",
    "ExposureState",
    "ExposureStep",
    "Strategy",
    "abort_now",
    "choose_strategy",
    "next_exposure",
    "plan_exposure",
]

Strategy = Literal["blue_green", "canary", "cautious_canary", "abort"]
ExposureOutcome = Literal["advance", "hold", "promote", "roll_back", "abort"]
STRONG, FAIR = 0.15, 0.05  # lower bounds of the improvement so far that choose a strategy
_PERCENTS: dict[Strategy, tuple[float, ...]] = {
    "blue_green": (0, 50, 100),
    "canary": (0, 10, 25, 50, 100),
    "cautious_canary": (0, 5, 10, 25, 50, 100),
}


class ExposureStep(Frozen):
    """A share of the campaign-days, and what must be seen before it is left for the next."""

    percent: float = Field(ge=0, le=100)
    days_min: NonNegativeInt
    pairs_min: NonNegativeInt = Field(description="pairs since the release began, at all steps together")
    lift_lower_min: float | None = Field(
        default=None, description="lower bound of the lift that must be shown; none: it must only not be shown worse"
    )
    lift_min: float | None = Field(default=None, description="what the estimate of the lift must reach beside it")


class ExposurePlan(Frozen):
    """Steps from shadow (0%) to 100%; the last one below 100% has to show the improvement that promotes."""

    strategy: Strategy
    steps: tuple[ExposureStep, ...] = Field(min_length=2, max_length=20)
    hold_deadline_days: PositiveInt = Field(description="days of a step after which it rolls back if it still holds")
    limits: CheckLimits

    @model_validator(mode="after")
    def _steps_lead_to_a_proof(self) -> Self:
        percents = [step.percent for step in self.steps]
        if any(after <= before for before, after in pairwise(percents)) or percents[-1] != 100:
            raise ValueError(f"steps are at {percents}%; allowed: each above the one before, the last at 100")
        if self.steps[-2].lift_lower_min is None:
            raise ValueError(f"the step at {percents[-2]:g}% asks for no lift: give lift_lower_min, which promotes")
        for step in self.steps[:-1]:
            if step.days_min > self.hold_deadline_days:
                raise ValueError(
                    f"the step at {step.percent:g}% lasts {step.days_min} days or more and its deadline is"
                    f" {self.hold_deadline_days}: raise hold_deadline_days"
                )
            if step.percent == 0 and (step.pairs_min or step.lift_lower_min is not None):
                raise ValueError("the step at 0% asks for pairs or a lift; nothing is compared there: remove it")
        return self


class ExposureState(Frozen):
    """All that a decision remembers, to be stored as it is."""

    step: NonNegativeInt = 0
    since_day: NonNegativeInt = 0  # when the step began
    error_streak: NonNegativeInt = 0
    ended: Literal["", "promoted", "rolled_back", "aborted"] = ""


class ExposureDecision(Frozen):
    """What happens next: the exposure from now on, the state to store, and the figures that caused it."""

    outcome: ExposureOutcome
    percent: float
    state: ExposureState
    findings: tuple[Finding, ...]


def choose_strategy(improvement: float, improvement_lower_95: float) -> Strategy:
    """By what was proven before the release; an agent that is expected to be worse is not released at all."""
    if not math.isfinite(improvement) or not math.isfinite(improvement_lower_95):
        raise BadInput(f"improvement is {improvement} with a lower bound of {improvement_lower_95}: measure it first")
    if improvement < 0:
        return "abort"
    if improvement_lower_95 >= STRONG:
        return "blue_green"
    return "canary" if improvement_lower_95 >= FAIR else "cautious_canary"


def plan_exposure(
    strategy: Strategy,
    limits: CheckLimits,
    *,
    lift_lower_min: float,
    step_days: int,
    pairs_min: int,
    hold_deadline_days: int,
    lift_min: float | None = None,
) -> ExposurePlan:
    """The plan of a strategy: every step lasts `step_days` or more, and the last below 100% must show the lift."""
    if strategy == "abort":
        raise Refused("the agent is expected to be worse than what runs now: train another one, nothing is released")
    *early, proving, full = _PERCENTS[strategy]
    steps = [ExposureStep(percent=percent, days_min=step_days, pairs_min=0) for percent in early]
    proof = ExposureStep(
        percent=proving, days_min=step_days, pairs_min=pairs_min, lift_lower_min=lift_lower_min, lift_min=lift_min
    )
    steps.append(proof)
    steps.append(ExposureStep(percent=full, days_min=0, pairs_min=0))
    return ExposurePlan(strategy=strategy, steps=tuple(steps), hold_deadline_days=hold_deadline_days, limits=limits)


def next_exposure(plan: ExposurePlan, state: ExposureState, evidence: ReleaseEvidence) -> ExposureDecision:
    """Decide from one check; the same plan, state and evidence always give the same decision."""
    _check_state(plan, state)
    if state.ended in ("rolled_back", "aborted"):
        ended = Finding(check="ended", text=f"the release was {state.ended.replace('_', ' ')}: make a new plan")
        return _decision(plan, "abort" if state.ended == "aborted" else "roll_back", state, (ended,))
    state = state.model_copy(update={"error_streak": errors_in_a_row(plan.limits, evidence, state.error_streak)})
    if findings := tuple(abort_findings(plan.limits, evidence)):
        return _ended(plan, "abort", state, findings)
    if findings := tuple(rollback_findings(plan.limits, evidence, state.error_streak)):
        return _ended(plan, "roll_back", state, findings)
    return _step_decision(plan, state, evidence)


def abort_now(plan: ExposurePlan, state: ExposureState, evidence: ReleaseEvidence) -> ExposureDecision | None:
    """Check money and safety between two days: an abort, or None. Nothing is ever raised or promoted here."""
    _check_state(plan, state)
    if state.ended in ("rolled_back", "aborted"):
        return None
    findings = tuple(abort_findings(plan.limits, evidence))
    return _ended(plan, "abort", state, findings) if findings else None


def _check_state(plan: ExposurePlan, state: ExposureState) -> None:
    last = len(plan.steps) - 1
    if state.step > last or (state.step == last and not state.ended):
        raise BadInput(
            f"the stored state is at step {state.step} ({state.ended or 'running'}); the plan has steps 0 to {last} and"
            " only a promoted release is at the last: restore the state that belongs to this plan"
        )


def _step_decision(plan: ExposurePlan, state: ExposureState, evidence: ReleaseEvidence) -> ExposureDecision:
    """Decide whether the step is left, now that nothing speaks against the release."""
    if state.ended == "promoted":
        return _decision(plan, "hold", state, (Finding(check="promoted", text="the agent has all campaign-days"),))
    waiting = tuple(_waiting(plan.steps[state.step], state, evidence))
    if not waiting:
        return _raised(plan, state, evidence)
    if evidence.day - state.since_day >= plan.hold_deadline_days:
        return _ended(plan, "roll_back", state, (_past_deadline(plan, state, evidence), *waiting))
    return _decision(plan, "hold", state, waiting)


def _waiting(step: ExposureStep, state: ExposureState, evidence: ReleaseEvidence) -> Iterator[Finding]:
    days = evidence.day - state.since_day
    if days < step.days_min:
        yield Finding(
            check="days",
            text=f"{days} days at {step.percent:g}%; needed: {step.days_min}",
            figures={"days": days, "days_min": step.days_min},
        )
    if evidence.lift.pairs < step.pairs_min:
        yield Finding(
            check="pairs",
            text=f"{evidence.lift.pairs} pairs; needed: {step.pairs_min}",
            figures={"pairs": evidence.lift.pairs, "pairs_min": step.pairs_min},
        )
    if step.lift_lower_min is not None and not evidence.lift.lower >= step.lift_lower_min:
        yield Finding(
            check="lift",
            text=f"{lift_text(evidence.lift)}; needed: a lower bound of {step.lift_lower_min:+.1%}",
            figures={**lift_figures(evidence.lift), "lift_lower_min": step.lift_lower_min},
        )
    if step.lift_min is not None and not evidence.lift.lift >= step.lift_min:
        yield Finding(
            check="estimate",
            text=f"{lift_text(evidence.lift)}; needed: an estimate of {step.lift_min:+.1%}",
            figures={**lift_figures(evidence.lift), "lift_min": step.lift_min},
        )


def _past_deadline(plan: ExposurePlan, state: ExposureState, evidence: ReleaseEvidence) -> Finding:
    days = evidence.day - state.since_day
    return Finding(
        check="deadline",
        text=f"{days} days at {plan.steps[state.step].percent:g}% without a conclusion; allowed:"
        f" {plan.hold_deadline_days}",
        figures={"days": days, "deadline_days": plan.hold_deadline_days},
    )


def _raised(plan: ExposurePlan, state: ExposureState, evidence: ReleaseEvidence) -> ExposureDecision:
    step = state.step + 1
    last = step == len(plan.steps) - 1
    after = state.model_copy(update={"step": step, "since_day": evidence.day, "ended": "promoted" if last else ""})
    shown = Finding(
        check="step",
        text=f"{plan.steps[state.step].percent:g}% has lasted long enough and nothing speaks against"
        f" {plan.steps[step].percent:g}%",
        figures=lift_figures(evidence.lift),
    )
    return _decision(plan, "promote" if last else "advance", after, (shown,))


def _ended(
    plan: ExposurePlan, outcome: Literal["roll_back", "abort"], state: ExposureState, findings: tuple[Finding, ...]
) -> ExposureDecision:
    ended = "aborted" if outcome == "abort" else "rolled_back"
    return _decision(plan, outcome, state.model_copy(update={"ended": ended}), findings)


def _decision(
    plan: ExposurePlan, outcome: ExposureOutcome, state: ExposureState, findings: tuple[Finding, ...]
) -> ExposureDecision:
    percent = 0.0 if state.ended in ("rolled_back", "aborted") else plan.steps[state.step].percent
    return ExposureDecision(outcome=outcome, percent=percent, state=state, findings=findings)
