"""A sequential test: after each observation better, worse or continue, and inconclusive at the agreed end."""

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.special import ndtri

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.config.validation import validated
from gaelp.errors import BadInput, DataError
from gaelp.gates.sequences import (
    AsymptoticSequence,
    BoundedSequence,
    ConfidenceSequence,
    asymptotic_radius,
    bounded_radius,
)

__all__ = ["LooksFor", "SequentialDecision", "SequentialPlan", "SequentialTest", "observations_needed"]

SequentialDecision = Literal["continue", "better", "worse", "inconclusive"]
LooksFor = Literal["both", "better", "worse"]

_VERSION = 1
_SAVED = "state of a sequential test"
_COUNT_MAX = 1 << 20  # a longer stream decides nothing that its first part did not
_REACH = 100  # times the maximum: how far `observations_needed` searches
_EARLY = 5  # times the minimum: -30% takes a median of 153 pairs with 3 or 5 at a minimum of 30, 160 with 8
_NEVER_NEGATIVE = {"bets", "count", "losses", "squares"}


class SequentialPlan(Frozen):
    """What is agreed before the first observation; `margin` separates better from worse, in the observations' unit.

    A mean difference of exactly `margin` is called better or worse with a chance of at most `alpha`, over all looks and
    both answers together. A test that looks for only one of them spends all of alpha on it and decides sooner.
    """

    alpha: float = Field(gt=0, lt=0.25)
    minimum: int = Field(ge=2, le=_COUNT_MAX, description="no decision is made with fewer observations")
    maximum: int = Field(ge=2, le=_COUNT_MAX, description="after so many the test ends, inconclusive if undecided")
    margin: float = 0.0
    looks_for: LooksFor = "both"
    support: tuple[float, float] | None = Field(default=None, description="limits of an observation, where it has them")

    @model_validator(mode="after")
    def _limits_rise(self) -> Self:
        if self.minimum > self.maximum:
            raise ValueError(
                f"minimum={self.minimum} exceeds maximum={self.maximum}, so no decision is possible:"
                " lower the minimum or raise the maximum"
            )
        if self.support is not None and not self.support[0] < self.support[1]:
            raise ValueError(f"support runs from {self.support[0]} to {self.support[1]}: the first must be smaller")
        if self.support is not None and not self.support[0] < self.margin < self.support[1]:
            raise ValueError(f"margin={self.margin} must lie inside the support {self.support}, or the answer is known")
        return self

    @property
    def side_alpha(self) -> float:
        """The share of alpha that each end of the interval may spend."""
        return self.alpha / 2 if self.looks_for == "both" else self.alpha

    @property
    def tuned_for(self) -> float:
        """Where the asymptotic sequence is narrowest: early, which helps large effects and hardly costs small ones."""
        return min(_EARLY * self.minimum, self.maximum)

    def sequence(self) -> ConfidenceSequence:
        """Return a new sequence: exact where observations have limits, asymptotic where they have none."""
        if self.support is None:
            return AsymptoticSequence(self.side_alpha, self.tuned_for)
        return BoundedSequence(self.side_alpha, *self.support)

    def decide(self, count: int, lower: float, upper: float) -> SequentialDecision:
        """Return the decision for an interval after `count` observations."""
        if count < self.minimum:
            return "continue"
        if lower > self.margin and self.looks_for != "worse":
            return "better"
        if upper < self.margin and self.looks_for != "better":
            return "worse"
        return "inconclusive" if count >= self.maximum else "continue"


class _Saved(Frozen):
    version: int
    plan: SequentialPlan
    decision: SequentialDecision
    sequence: dict[str, float]


class SequentialTest:
    """Watch one stream of paired differences (treatment - control); look at it as often as you like."""

    def __init__(
        self,
        *,
        alpha: float,
        minimum: int,
        maximum: int,
        margin: float = 0.0,
        looks_for: LooksFor = "both",
        support: tuple[float, float] | None = None,
    ) -> None:
        values: dict[str, Any] = {"alpha": alpha, "minimum": minimum, "maximum": maximum, "margin": margin}
        values |= {"looks_for": looks_for, "support": support}
        self.plan = validated(SequentialPlan, values, lambda _: "sequential test", error=BadInput)
        self.decision: SequentialDecision = "continue"
        self._sequence = self.plan.sequence()

    @property
    def count(self) -> int:
        """Observations so far."""
        return self._sequence.count

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the mean; infinite while nothing is known."""
        lower, upper = self._sequence.bounds()
        return float(lower), float(upper)

    def observe(self, x: float) -> SequentialDecision:
        """Add one difference and return the decision, which is final: later observations are not counted."""
        self._check(x)
        if self.decision == "continue":
            self._sequence.add(x)
            self.decision = self.plan.decide(self.count, *self.interval)
        return self.decision

    def state(self) -> dict[str, Any]:
        """The whole state, as plain data that JSON holds exactly."""
        plan = self.plan.model_dump(mode="json")
        return {"version": _VERSION, "plan": plan, "decision": self.decision, "sequence": self._sequence.state()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from `state`; another plan or a damaged state is refused and changes nothing."""
        checked = validated(_Saved, dict(saved), lambda _: _SAVED, error=DataError)
        if checked.version != _VERSION:
            raise DataError(f"{_SAVED} has version {checked.version}, this release reads {_VERSION}: start a new test")
        if checked.plan != self.plan:
            raise DataError(
                f"{_SAVED} belongs to {checked.plan!r}, this test is {self.plan!r}: a plan that changes midway"
                " has no error rate. Continue with the old plan, or start a new test."
            )
        self._sequence, self.decision = _restored(checked), checked.decision

    def _check(self, x: float) -> None:
        low, high = self.plan.support or (-math.inf, math.inf)
        if not math.isfinite(x) or not low <= x <= high:
            allowed = "a finite number" if self.plan.support is None else f"{low:g} to {high:g}"
            raise BadInput(
                f"observation {self.count + 1} is {x!r}; allowed: {allowed}. Leave out what was not measured."
            )


def _restored(saved: _Saved) -> ConfidenceSequence:
    """Return the saved sequence; its decision must follow from its numbers, as nothing is counted after a decision."""
    sequence = saved.plan.sequence()
    known, numbers = sequence.state().keys(), saved.sequence
    if numbers.keys() != known:
        raise DataError(f"{_SAVED} holds {sorted(numbers)}; allowed: {sorted(known)}. Give what `state` returned.")
    negative = [name for name in sorted(known & _NEVER_NEGATIVE) if numbers[name] < 0]
    if negative or not numbers["count"].is_integer():
        raise DataError(f"{_SAVED}: {negative or ['count']} cannot be as saved: {numbers}. Give what `state` returned.")
    sequence.load_state(numbers)
    lower, upper = sequence.bounds()
    follows = saved.plan.decide(sequence.count, float(lower), float(upper))
    if saved.decision != follows:
        raise DataError(f"{_SAVED} says {saved.decision}, its numbers say {follows}: it was changed. Start a new test.")
    return sequence


def observations_needed(plan: SequentialPlan, effect: float, sd: float, *, power: float = 0.8) -> int | None:
    """Return how many observations show a mean `effect` beyond the margin with the given power; None: out of reach.

    `sd` is the standard deviation of one observation. The answer is where the last look alone has this power, so it is
    cautious: earlier looks decide too. Where 80% was asked, 82% to 89% of normal streams had decided, and 78% to 83%
    of those with limits, whose width is itself uncertain. The answer may exceed the plan's maximum, so that the two
    can be compared.
    """
    if not (effect > 0 and sd > 0 and 0.5 <= power < 1 and math.isfinite(effect) and math.isfinite(sd)):
        raise BadInput(f"effect={effect}, sd={sd}, power={power}: allowed are effect > 0, sd > 0 and 0.5 <= power < 1")
    counts = np.arange(plan.minimum, min(_REACH * plan.maximum, _COUNT_MAX) + 1)
    radius, worth = _radius(plan, counts, sd)
    enough = radius + ndtri(power) * sd / np.sqrt(worth) <= effect
    return int(counts[enough.argmax()]) if enough.any() else None


def _radius(plan: SequentialPlan, counts: Ints, sd: float) -> tuple[Floats, Floats]:
    """Return half the width at each count, and how many equally weighted observations the middle is worth."""
    if plan.support is None:
        radius = asymptotic_radius(counts, sd, side_alpha=plan.side_alpha, tuned_for=plan.tuned_for)
        return radius, counts.astype(np.float64)
    width = plan.support[1] - plan.support[0]
    radius, worth = bounded_radius(int(counts[-1]), sd / width, side_alpha=plan.side_alpha)
    return width * radius[counts - 1], worth[counts - 1]
