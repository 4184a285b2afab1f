"""How often a watched lift is called better or worse although it is neither, and how soon a true one is found.

Both sides have mean 1 and unequal spread, as an agent that changes the mix of campaigns produces: a test that keeps its
alpha for identical sides can lose it here. Each run is looked at after every pair, by the code that computes a gate's
figures.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from gaelp.arrays import Floats, Ints
from gaelp.gates.lift_test import LiftPlan, first_look

__all__ = ["FALSE_ALARMS_MAX", "SIDES", "DrawValues", "lift_trial", "lognormal", "not_kept", "zero_inflated"]

FALSE_ALARMS_MAX = 0.06  # alpha is 5%; 2,000 runs have a standard error of half a point
EFFECTS = (-0.3, 0.15)  # compared with no lift: a rollback, and any improvement
PROMOTED = (0.3, 0.5)  # lifts that a gate is to promote

DrawValues = Callable[[Generator, tuple[int, int]], Floats]
Sides = tuple[DrawValues, DrawValues]


def lognormal(log_sd: float) -> DrawValues:
    """Values of mean 1."""
    return lambda rng, shape: rng.lognormal(-(log_sd**2) / 2, log_sd, shape)


def zero_inflated(chance: float, log_sd: float = 0.0) -> DrawValues:
    """Nothing in most campaign-days, else one order; `log_sd` is the spread of its value."""
    return lambda rng, shape: (rng.random(shape) < chance) * lognormal(log_sd)(rng, shape) / chance


def _with_days(draw: DrawValues, sd: float, campaigns: int) -> DrawValues:
    """The campaigns of a day share an effect, so that their pairs are not independent."""

    def drawn(rng: Generator, shape: tuple[int, int]) -> Floats:
        days = rng.normal(1, sd, (shape[0], -(-shape[1] // campaigns)))
        return draw(rng, shape) * np.maximum(np.repeat(days, campaigns, axis=1)[:, : shape[1]], 0)

    return drawn


SIDES: dict[str, Sides] = {
    "lognormal 1.5 against 0.5": (lognormal(1.5), lognormal(0.5)),
    "lognormal 0.5 against 1.5": (lognormal(0.5), lognormal(1.5)),
    "zero-inflated 0.02 against 0.10": (zero_inflated(0.02), zero_inflated(0.10)),
    "zero-inflated 0.10 against 0.02": (zero_inflated(0.10), zero_inflated(0.02)),
    "zero-inflated 0.05 against 0.20, orders of log-sd 0.5": (zero_inflated(0.05, 0.5), zero_inflated(0.20, 0.5)),
    "lognormal 1.5 against 0.5, 20 campaigns share a day": (_with_days(lognormal(1.5), 0.2, 20), lognormal(0.5)),
    "lognormal 1 against 1": (lognormal(1), lognormal(1)),
}
"""Treatment and control, each with mean 1."""


def lift_trial(
    plan: LiftPlan, threshold: float, *, runs: int, looks: int, seed: int, sides: Mapping[str, Sides] = SIDES
) -> dict[str, dict[str, Any]]:
    """Return for each pair of sides the share of false alarms and the share of runs that find each effect.

    `false_better` is also the share of lifts of exactly `threshold` that are promoted, because the test divides the
    treatment by 1 + threshold. `power` compares with a lift of zero, `promoted` with the threshold. The median counts
    pairs and is none if fewer than half of the runs find the effect.
    """
    return {
        name: _trial(plan, threshold, pair, runs, looks, np.random.default_rng([seed, number]))
        for number, (name, pair) in enumerate(sides.items())
    }


def not_kept(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return every false alarm rate above what is allowed, in words."""
    return [
        f"{sides}: {kind} in {figures[kind]:.1%} of the runs, allowed are {FALSE_ALARMS_MAX:.0%}"
        for sides, figures in results.items()
        for kind in ("false_better", "false_worse")
        if figures[kind] > FALSE_ALARMS_MAX
    ]


def _trial(plan: LiftPlan, threshold: float, sides: Sides, runs: int, looks: int, rng: Generator) -> dict[str, Any]:
    treatment, control = (draw(rng, (runs, looks)) for draw in sides)

    def found_at(effect: float, finds: Literal["better", "worse"], lift: float = 0.0) -> Ints:
        return first_look(treatment * (1 + effect), control, plan, lift=lift, finds=finds)

    return {
        "false_better": float((found_at(0, "better") > 0).mean()),
        "false_worse": float((found_at(0, "worse") > 0).mean()),
        "power": {
            f"{effect:+.0%}": _power(found_at(effect, "worse" if effect < 0 else "better")) for effect in EFFECTS
        },
        "promoted": {f"{effect:+.0%}": _power(found_at(effect, "better", threshold)) for effect in PROMOTED},
    }


def _power(looks: Ints) -> dict[str, float | int | None]:
    share = float((looks > 0).mean())
    median = int(np.median(np.where(looks > 0, looks, np.iinfo(np.int64).max))) if share > 0.5 else None
    return {"found": share, "median_pairs": median}
