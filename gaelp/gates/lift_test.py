"""The lift of a treatment over its control, watched while campaign-days are added; each bound is valid at every look.

With `clip_at` the test is a bet against the claim that the treatment is no better (or no worse) than stated. If the
claim is true, the stake ever grows to 1/alpha with a chance of at most alpha, over all looks (Ville). This is the grid
Kelly bettor of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (J. R. Stat.
Soc. B 86, 2024; arXiv 2010.09686). It needs a limit only for the side that could hide a rare large value: the control
when the treatment is to be better, the treatment when it is to be worse. Spread and skewness may differ between the
sides. Without `clip_at` the asymptotic sequence is used, which needs similar spreads.

What exceeds `clip_at` is charged to the pairs that follow, so that it is not lost: values that are merely cut off would
make the side with the larger spread look worse, which 20,000 looks find. The share that exceeds the limit is reported;
above 5% nothing is concluded.
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, PositiveFloat

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.gates.criteria import Criterion, Gate
from gaelp.gates.sequences import asymptotic_bounds

__all__ = ["BEYOND_MAX", "LiftInterval", "LiftPlan", "first_look", "lift_interval", "lift_plan", "shown_at_looks"]

BEYOND_MAX = 0.05  # share of a side's value: with more, the bet is no longer about that side's mean
_LARGEST_BET = 0.9  # of what could be lost at most: one observation at the limit leaves a tenth of the stake
_BETS = 10  # each half of the one before, with half of its stake; small bets find small lifts
_EARLY = 5  # times the minimum: where the asymptotic sequence is narrowest, as in a sequential test
_RATIO_MAX = 1e3  # of the means: beyond, a bound is infinite
_BISECTIONS = 50
_VALUES_AT_ONCE = 1 << 18  # of each side: 2 MB fit the cache

_BET_SIZES = _LARGEST_BET * 0.5 ** np.arange(_BETS)
_STAKES = 0.5 ** np.minimum(np.arange(1, _BETS + 1), _BETS - 1)  # they sum to 1


class LiftPlan(Frozen):
    """What a gate's rule configures for its test."""

    alpha: float = Field(gt=0, lt=0.25, description="chance that a bound is ever wrong, for each bound")
    minimum: int = Field(ge=2, description="no conclusion with fewer pairs")
    clip_at: PositiveFloat | None = Field(default=None, description="limit of an observation; none: asymptotic")


class LiftInterval(NamedTuple):
    """The lift (0.15: 15% more than the control), its bounds, and which share of either side exceeds the limit."""

    lift: float
    lower: float
    upper: float
    pairs: int
    beyond_share: float

    def metrics(self, name: str) -> dict[str, float]:
        """As the figures that a gate reads."""
        bounds = {f"{name}_lower_95": self.lower, f"{name}_upper_95": self.upper}
        return {name: self.lift, **bounds, "paired_observations": float(self.pairs)}


def lift_plan(gate: Gate, rule: Criterion) -> LiftPlan:
    """Return the test that a sequential rule of a gate configures."""
    if not rule.sequential or gate.alpha is None:
        raise BadInput(f"{rule.metric} is not sequential at gate {gate.name}: only such a rule has a test to configure")
    return LiftPlan(alpha=gate.alpha, minimum=rule.minimum_sample, clip_at=rule.clip_at)


def lift_interval(treatment: Floats, control: Floats, plan: LiftPlan) -> LiftInterval:
    """Return the lift over the pairs so far; both arrays have shape (pairs,), in the order in which they ended.

    A bound is infinite (the lower one -1) while nothing is known.
    """
    _check(treatment, control)
    beyond = max(_beyond_share(side, plan.clip_at)[..., -1] for side in (treatment, control))
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = float(np.divide(treatment.sum(), control.sum())) - 1
    lower = _largest_ratio(treatment, control, plan) - 1
    ratio = _largest_ratio(control, treatment, plan)
    return LiftInterval(lift, lower, 1 / ratio - 1 if ratio else math.inf, len(treatment), float(beyond))


def first_look(
    treatment: Floats, control: Floats, plan: LiftPlan, *, lift: float = 0.0, finds: Literal["better", "worse"]
) -> Ints:
    """Return after how many pairs each run first shows a lift above (or below) `lift`; 0: never. All looks count.

    The arrays have shape (runs, pairs), the result (runs,).
    """
    shown = shown_at_looks(treatment, control, plan, lift=lift, finds=finds)
    return np.asarray(np.where(shown.any(axis=-1), shown.argmax(axis=-1) + 1, 0))


def shown_at_looks(
    treatment: Floats, control: Floats, plan: LiftPlan, *, lift: float = 0.0, finds: Literal["better", "worse"]
) -> Bools:
    """Return after which pairs each run shows a lift above (or below) `lift`; all arrays have shape (runs, pairs)."""
    _check(treatment, control)
    winner, loser, ratio = (treatment, control, 1 + lift) if finds == "better" else (control, treatment, 1 / (1 + lift))
    at_once = max(1, _VALUES_AT_ONCE // treatment.shape[-1])
    shown = np.zeros(treatment.shape, dtype=np.bool_)
    for first in range(0, len(treatment), at_once):
        some = slice(first, first + at_once)
        shown[some] = _shown(winner[some] / ratio, loser[some], plan)
    return shown


def _largest_ratio(winner: Floats, loser: Floats, plan: LiftPlan) -> float:
    """Return by which ratio of the means the winner is shown to be ahead, now; 0: by none."""
    low, high = 1 / _RATIO_MAX, _RATIO_MAX
    if not _shown_now(winner / low, loser, plan):
        return 0.0
    for _ in range(_BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _shown_now(winner / middle, loser, plan) else (low, middle)
    return low


def _shown(winner: Floats, loser: Floats, plan: LiftPlan) -> Bools:
    """Return at which looks the winner's mean is shown to be larger; shape (..., pairs)."""
    if plan.clip_at is None:
        shown = _asymptotic_shown(winner - loser, plan)
    else:
        gain = (winner - _spread_out(loser, plan.clip_at)) / plan.clip_at
        capital = sum(
            stake * np.cumprod(1 + bet * gain, axis=-1) for bet, stake in zip(_BET_SIZES, _STAKES, strict=True)
        )
        shown = (capital >= 1 / plan.alpha) & (_beyond_share(loser, plan.clip_at) <= BEYOND_MAX)
    shown[..., : plan.minimum - 1] = False
    return np.asarray(shown)


def _shown_now(winner: Floats, loser: Floats, plan: LiftPlan) -> bool:
    """Return whether the winner's mean is shown to be larger by all pairs of one run."""
    if len(winner) < plan.minimum:
        return False
    if plan.clip_at is None:
        return bool(_asymptotic_shown(winner - loser, plan)[-1])
    if _beyond_share(loser, plan.clip_at)[-1] > BEYOND_MAX:
        return False
    gain = (winner - _spread_out(loser, plan.clip_at)) / plan.clip_at
    log_capital = np.log1p(_BET_SIZES[:, None] * gain).sum(axis=1) + np.log(_STAKES)
    return bool(np.logaddexp.reduce(log_capital) >= -math.log(plan.alpha))


def _asymptotic_shown(x: Floats, plan: LiftPlan) -> Bools:
    """Return at which looks the mean of x is shown to be positive; the first look shows nothing."""
    n = np.arange(2, x.shape[-1] + 1)
    first, second, third = (np.cumsum(x**power, axis=-1)[..., 1:] for power in (1, 2, 3))
    mean = first / n
    squares, cubes = second - n * mean**2, third - 3 * mean * second + 2 * n * mean**3
    lower, _ = asymptotic_bounds(n, mean, squares, cubes, side_alpha=plan.alpha, tuned_for=_EARLY * plan.minimum)
    return np.concatenate([np.zeros((*x.shape[:-1], 1), dtype=bool), lower > 0], axis=-1)


def _spread_out(side: Floats, clip_at: float) -> Floats:
    """Charge what exceeds the limit to the pairs that follow, up to the limit of each; shape (..., pairs)."""
    beyond = np.cumsum(side - clip_at, axis=-1)
    carried = beyond - np.minimum(np.minimum.accumulate(beyond, axis=-1), 0)  # what is still to be charged
    before = np.concatenate([np.zeros((*side.shape[:-1], 1)), carried[..., :-1]], axis=-1)
    return np.asarray(np.clip(side + before - carried, 0, clip_at))


def _beyond_share(side: Floats, clip_at: float | None) -> Floats:
    """Return which share of a side's value so far lies above the limit; shape (..., pairs)."""
    if clip_at is None:
        return np.zeros(side.shape)
    total = np.cumsum(side, axis=-1)
    return np.cumsum(np.maximum(side - clip_at, 0), axis=-1) / np.where(total > 0, total, 1)


def _check(treatment: Floats, control: Floats) -> None:
    if treatment.shape != control.shape or treatment.shape[-1] == 0:
        raise BadInput(f"treatment has shape {treatment.shape}, control {control.shape}: give pairs, and at least one")
    for name, side in (("treatment", treatment), ("control", control)):
        if not np.isfinite(side).all() or (side < 0).any():
            raise BadInput(f"{name} has values that are negative or no numbers: observe value, not profit, per dollar")
