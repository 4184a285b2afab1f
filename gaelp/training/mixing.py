"""Which task an episode plays: shares of frontier and mastered tasks, a single choice, or the split of a batch."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import accumulate

import numpy as np

from gaelp.errors import BadInput
from gaelp.training.curriculum import CurriculumState, statuses
from gaelp.training.curriculum_spec import CurriculumSpec, Task

__all__ = ["choose", "task_mix", "task_shares"]


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


def task_mix(spec: CurriculumSpec, state: CurriculumState, campaigns: int) -> dict[str, int]:
    """How many campaigns of a batch play each task, by largest remainder; tasks that get none are left out.

    The split depends on spec, state and number alone. A batch with fewer campaigns than tasks in play always leaves out
    the same ones: use `choose` there.
    """
    if campaigns < 1:
        raise BadInput(f"campaigns={campaigns} cannot be split over tasks: give at least 1")
    exact = {name: share * campaigns for name, share in task_shares(spec, state).items()}
    counts = {name: int(quota) for name, quota in exact.items()}
    # Sorting is stable: of equal remainders the task that stands first in the curriculum is served first.
    by_remainder = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in by_remainder[: campaigns - sum(counts.values())]:
        counts[name] += 1
    return {name: count for name, count in counts.items() if count}


def _weights(tasks: Iterable[Task]) -> dict[str, Fraction]:
    return {task.name: Fraction(task.weight) for task in tasks}


def _scaled(weights: Mapping[str, Fraction], share: Fraction) -> dict[str, Fraction]:
    total = sum(weights.values())
    return {name: weight * share / total for name, weight in weights.items()}
