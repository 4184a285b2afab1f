from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.training.curriculum import record, start
from gaelp.training.curriculum_spec import CurriculumSpec
from gaelp.training.mixing import choose, task_shares


def curriculum(weights, frontier=0.75):
    """A first task, a second on top of it, and then any number side by side on top of that."""
    rules = {"why": "a test", "market": "calm", "promote_at": 0.9, "demote_below": 0.1}
    rules |= {"window": 1, "minimum_evaluations": 1}
    before = {"first": [], "second": ["first"]}
    tasks = [
        {**rules, "name": name, "weight": weight, "requires": before.get(name, ["second"])}
        for name, weight in weights.items()
    ]
    return CurriculumSpec.model_validate({"tasks": tasks, "mix": {"frontier": frontier, "mastered": 1 - frontier}})


def mastered(spec, *names):
    state = start(spec)
    for name in names:
        state = record(spec, state, name, 1.0)
    return state


def shares(spec, state):
    return {name: float(share) for name, share in task_shares(spec, state).items()}


SPEC = curriculum({"first": 1, "second": 3, "third": 1, "fourth": 3})


def test_before_anything_is_mastered_every_episode_plays_the_frontier():
    assert shares(SPEC, start(SPEC)) == {"first": 1}


def test_mastered_tasks_keep_their_share_by_weight():
    assert shares(SPEC, mastered(SPEC, "first")) == {"first": 0.25, "second": 0.75}
    both = {"first": 0.0625, "second": 0.1875, "third": 0.1875, "fourth": 0.5625}
    assert shares(SPEC, mastered(SPEC, "first", "second")) == both


def test_after_the_last_task_is_mastered_all_are_played_by_weight():
    state = mastered(SPEC, "first", "second", "third", "fourth")
    assert shares(SPEC, state) == {"first": 0.125, "second": 0.375, "third": 0.125, "fourth": 0.375}


def test_without_a_share_for_mastered_tasks_they_rest_until_all_are_mastered():
    spec = curriculum({"first": 1, "second": 1}, frontier=1.0)
    assert shares(spec, mastered(spec, "first")) == {"second": 1}
    assert choose(spec, mastered(spec, "first"), np.random.default_rng(0)) == "second"
    assert shares(spec, mastered(spec, "first", "second")) == {"first": 0.5, "second": 0.5}


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=2), st.floats(0.001, 1))
def test_the_shares_sum_to_exactly_one(weights, frontier):
    spec = curriculum({"first": 1, "second": 1, "third": weights[0], "fourth": weights[1]}, frontier)
    assert sum(task_shares(spec, mastered(spec, "first", "second")).values()) == Fraction(1)


def test_single_choices_follow_the_shares():
    rng = np.random.default_rng(7)
    state = mastered(SPEC, "first", "second")
    drawn = Counter(choose(SPEC, state, rng) for _ in range(4000))
    for name, share in task_shares(SPEC, state).items():
        assert drawn[name] / 4000 == pytest.approx(float(share), abs=0.03)


def test_the_same_generator_gives_the_same_choices_and_each_takes_one_number():
    state = mastered(SPEC, "first", "second")
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    assert [choose(SPEC, state, rng) for _ in range(50)] == [choose(SPEC, state, again) for _ in range(50)]
    fresh = np.random.default_rng(3)
    fresh.random(50)
    assert rng.bit_generator.state == fresh.bit_generator.state


class _Fixed:
    """A generator that returns a given number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


@pytest.mark.parametrize(
    ("number", "name"),
    [(0.0, "first"), (np.nextafter(0.25, 0), "first"), (0.25, "second"), (np.nextafter(1.0, 0), "second")],
)
def test_a_choice_at_the_edge_of_a_share_belongs_to_the_next_task(number, name):
    assert choose(SPEC, mastered(SPEC, "first"), _Fixed(number)) == name
