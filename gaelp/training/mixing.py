"""Which task a round of training plays: the shares of frontier and mastered tasks, and one choice by them."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import accumulate

import numpy as np

from gaelp.training.curriculum import CurriculumState, statuses
from gaelp.training.curriculum_spec import CurriculumSpec, Task

__all__ = ["choose", "task_shares"]


def task_shares(spec: CurriculumSpec, state: CurriculumState) -> dict[str, Fraction]:
    """Exact share of episodes of every task in play, in the order of the curriculum; the shares sum to 1."""
    status = statuses(spec, state)
    frontier = _weights(task for task in spec.tasks if status[task.name] == "training")
    mastered = _weights(task for task in spec.tasks if status[task.name] == "mastered")
    both = bool(frontier and mastered)
    # Given as decimals, the two shares may miss 1 by a rounding error, so they count in proportion.
    ahead, behind = Fraction(spec.mix.frontier), Fraction(spec.mix.mastered)
    shares = _scaled(frontier, ahead / (ahead + behind) if both else Fraction(1))
    shares |= _scaled(mastered, behind / (ahead + behind) if both else Fraction(1))
    return {name: shares[name] for name in spec.names if shares.get(name)}


def choose(spec: CurriculumSpec, state: CurriculumState, rng: np.random.Generator) -> str:
    """One task, drawn by its share with a single number of `rng`."""
    drawn = Fraction(rng.random())
    shares = task_shares(spec, state)
    # Exact arithmetic: the last edge is 1, and every draw lies below it.
    edges = zip(shares, accumulate(shares.values()), strict=True)
    return next(name for name, edge in edges if drawn < edge)


def _weights(tasks: Iterable[Task]) -> dict[str, Fraction]:
    return {task.name: Fraction(task.weight) for task in tasks}


def _scaled(weights: Mapping[str, Fraction], share: Fraction) -> dict[str, Fraction]:
    total = sum(weights.values())
    return {name: weight * share / total for name, weight in weights.items()}
