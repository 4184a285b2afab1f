"""What GAELP demands of every learner, as checks that anyone can run on an agent of their own.

In a test module, give the kind and a config that learns after a few steps; each demand becomes one test:

    class TestMine(LearnerConformance):
        kind = MINE
        config = MineConfig(batch_size=16)

Without pytest, `check_learner(MINE, MineConfig(batch_size=16))` raises an AssertionError that says what is wrong.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from gaelp.agents.catalog import AgentKind
from gaelp.agents.conformance_world import OBSERVATION_SIZE, ROWS, ConformanceWorld, differing, leaves_of
from gaelp.agents.learner import BoxActions, DiscreteActions, Learner, Spaces, Update
from gaelp.config.base import Frozen
from gaelp.errors import BadInput, Refused

__all__ = [
    "CHECKS",
    "Bench",
    "LearnerCheck",
    "LearnerConformance",
    "a_restored_learner_continues_bit_for_bit",
    "a_state_of_another_algorithm_is_refused",
    "actions_fit_their_space",
    "actions_of_another_space_are_refused",
    "best_actions_draw_nothing",
    "check_learner",
    "cut_forgets_what_was_drawn",
    "cut_is_a_truncation",
    "global_generators_play_no_part",
    "it_continues_with_a_scaled_config",
    "it_learns",
    "progress_lies_between_start_and_end",
    "spaces_of",
    "state_is_a_copy",
    "state_is_plain",
    "the_seed_decides_everything",
    "what_is_not_finite_is_refused",
]

_CHOICES, _NUMBERS = DiscreteActions(3), BoxActions(2)


class Bench:
    """Builds learners of one kind for one world."""

    def __init__(self, kind: AgentKind[Any], config: Frozen, spaces: Spaces) -> None:
        self.kind, self.config, self.spaces = kind, config, spaces

    def build(self, seed: int = 1) -> Learner:
        """A new learner."""
        return self.kind.build(self.spaces, self.config, seed=seed)

    def trained(self, seed: int = 1, updates: int = 1) -> tuple[Learner, ConformanceWorld]:
        """A learner after some updates and one more step, and its world."""
        learner, world = self.build(seed), ConformanceWorld(self.spaces)
        world.until_learnt(learner, updates)
        world.run(learner, 1)
        return learner, world


LearnerCheck = Callable[[Bench], None]


def spaces_of(kind: AgentKind[Any]) -> tuple[Spaces, ...]:
    """The spaces that a kind is checked in: numbers, choices, or both."""
    every = (Spaces(OBSERVATION_SIZE, actions, ROWS) for actions in (_NUMBERS, _CHOICES))
    return tuple(spaces for spaces in every if kind.takes(spaces))


def check_learner(kind: AgentKind[Any], config: Frozen) -> None:
    """Run every check in every space the kind takes; AssertionError on the first that fails."""
    for spaces in spaces_of(kind):
        for check in CHECKS:
            check(Bench(kind, config, spaces))


class LearnerConformance:
    """Subclass it in a test module as `Test...`.

    `config` should learn within some dozens of steps of four rows, and from at least five steps at a time.
    """

    kind: ClassVar[AgentKind[Any]]
    config: ClassVar[Frozen]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test for each check and space."""
        owner: Any = metafunc.cls
        worlds = spaces_of(owner.kind)
        metafunc.parametrize("spaces", worlds, ids=[type(spaces.actions).__name__ for spaces in worlds])
        metafunc.parametrize("check", CHECKS, ids=[check.__name__ for check in CHECKS])

    def test_conforms(self, check: LearnerCheck, spaces: Spaces) -> None:
        """Run one check."""
        check(Bench(self.kind, self.config, spaces))


def actions_fit_their_space(bench: Bench) -> None:
    """Actions have the right shape, type and bounds, also after learning; any number of rows if not exploring."""
    wanted = (torch.int64, ()) if isinstance(bench.spaces.actions, DiscreteActions) else (torch.float32, (2,))
    for trained in (False, True):
        learner = bench.trained()[0] if trained else bench.build()
        for rows, explore in ((ROWS, True), (ROWS, False), (3 * ROWS, False)):
            action = learner.act(100 * torch.randn(rows, OBSERVATION_SIZE, generator=_generator()), explore=explore)
            given = (action.dtype, tuple(action.shape[1:]))
            _expect(len(action) == rows and given == wanted, f"actions are {given} of {len(action)} rows, not {wanted}")
            low, high = (0, _CHOICES.count - 1) if wanted[0] is torch.int64 else (-1, 1)
            inside = bool(((action >= low) & (action <= high)).all())
            _expect(inside, f"actions {action.tolist()} leave {low}..{high}")


def actions_of_another_space_are_refused(bench: Bench) -> None:
    """A kind that takes only choices, or only numbers, raises BadInput when it is built for the other."""
    for actions in (_NUMBERS, _CHOICES):
        spaces = Spaces(OBSERVATION_SIZE, actions, ROWS)
        if not bench.kind.takes(spaces):
            _refused(partial(bench.kind.build, spaces, bench.config, seed=1), f"building for {actions}")


def the_seed_decides_everything(bench: Bench) -> None:
    """The same seed and inputs give the same state; another seed gives another."""
    states = [_state(bench.trained(seed)[0]) for seed in (1, 1, 2)]
    _expect_same(states[0], states[1], "two learners of one seed")
    _expect(bool(differing(states[0], states[2])), "learners of seeds 1 and 2 are the same")


def global_generators_play_no_part(bench: Bench) -> None:
    """A learner neither uses nor moves the global generators of torch and NumPy."""
    learners = []
    for _ in range(2):
        torch.rand(3)
        np.random.rand(3)  # noqa: NPY002 - the global one is what is meant
        learners.append(bench.build())
        before = _global_generators()
        ConformanceWorld(bench.spaces).until_learnt(learners[-1], 2)
        _expect(before == _global_generators(), "a global generator was drawn from")
    _expect_same(_state(learners[0]), _state(learners[1]), "two learners between which others drew random numbers")


def best_actions_draw_nothing(bench: Bench) -> None:
    """Acting without exploring is deterministic and leaves the state as it was."""
    learner, _ = bench.trained()
    before, obs = _state(learner), torch.randn(ROWS, OBSERVATION_SIZE, generator=_generator())
    first, second = (learner.act(obs, explore=False) for _ in range(2))
    _expect(torch.equal(first, second), "the same observations gave other actions the second time")
    _expect_same(before, _state(learner), "the learner before and after acting with explore=False")


def it_learns(bench: Bench) -> None:
    """An update reports gradient steps and finite metrics, changes the state, and after three the actions (numbers)."""
    learner, world = bench.trained()
    probe = torch.randn(64, OBSERVATION_SIZE, generator=_generator())
    acted = learner.act(probe, explore=False)
    for _ in range(3):
        states: list[dict[str, Any]] = []
        [update] = world.until_learnt(learner, 1, before_update=lambda: states.append(_state(learner)))  # noqa: B023 - called at once
        _expect_figures(update)
        _expect(bool(_moved(states[-1], _state(learner))), "an update changed no tensor of the state")
    if acted.is_floating_point():
        _expect(not torch.equal(acted, learner.act(probe, explore=False)), "three updates changed no action")


def state_is_plain(bench: Bench) -> None:
    """The state is dictionaries, by text, of tensors without gradient, numbers and strings; `name` is the kind's."""
    for learner in (bench.build(), bench.trained()[0]):
        state = learner.state()
        _expect(state.get("name") == learner.name == bench.kind.name, f"name is {state.get('name')!r} in the state")
        for path, leaf in _state(learner).items():
            plain = leaf.layout is torch.strided and not leaf.requires_grad if isinstance(leaf, Tensor) else True
            _expect(plain and type(leaf) in {Tensor, bool, int, float, str}, f"state {path} is a {type(leaf).__name__}")


def state_is_a_copy(bench: Bench) -> None:
    """Later training, of this learner or of one that loaded the state, does not change a saved state."""
    learner, world = bench.trained()
    state = learner.state()
    kept = _state(learner)
    world.until_learnt(learner, 1)
    _expect_same(kept, leaves_of(state), "a state and itself after its learner trained on")
    other, world = bench.build(), ConformanceWorld(bench.spaces)
    other.load_state(state)
    world.until_learnt(other, 1)
    _expect_same(kept, leaves_of(state), "a state and itself after a learner that loaded it trained on")


def a_restored_learner_continues_bit_for_bit(bench: Bench) -> None:
    """A restored learner continues to the bit, whatever it did before, also between acting and observing."""
    for between in (False, True):
        first, world = bench.trained()
        step = world.step(first) if between else None
        second, _ = bench.trained(seed=2, updates=1)
        second.load_state(first.state())
        _expect_same(_state(first), _state(second), "a learner and one that loaded its state")
        worlds = world, world.copy()
        for learner, its_world in zip((first, second), worlds, strict=True):
            if step:
                learner.observe(step)
            its_world.until_learnt(learner, 2)
        _expect_same(_state(first), _state(second), "a learner and its restored twin, two updates later")


def what_is_not_finite_is_refused(bench: Bench) -> None:
    """NaN or infinity in a step raises BadInput and leaves the state as it was."""
    learner, world = bench.trained()
    for name in ("obs", "reward", "next_obs"):
        step = world.step(learner)
        for value in (math.nan, math.inf):
            bad = getattr(step, name).clone()
            bad[1] = value
            before = _state(learner)
            _refused(partial(learner.observe, step._replace(**{name: bad})), f"{name} with {value}")
            _expect_same(before, _state(learner), f"the learner before and after {name} with {value}")
        learner.observe(step)
        learner.update(0.5)


def cut_is_a_truncation(bench: Bench) -> None:
    """After `cut` a learner learns as if the last step of every row were truncated; a second `cut` changes nothing."""
    for steps in (1, 2):
        learners = [bench.trained() for _ in range(3)]
        for index, (learner, world) in enumerate(learners):
            last = world.run(learner, steps, truncated=index == 0)
            for _ in range(index):
                learner.cut()
            world.obs = last.next_obs  # new episodes start where the old ones ended, so only the cut separates them
            world.until_learnt(learner, 1)
        states = [_state(learner) for learner, _ in learners]
        _expect_same(states[0], states[1], "a learner whose last step was truncated, and one that was cut after it")
        _expect_same(states[1], states[2], "learners that were cut once and twice")


def cut_forgets_what_was_drawn(bench: Bench) -> None:
    """A `cut` between acting and observing drops the drawn actions; the learner continues and restores to the bit."""
    first, world = bench.trained()
    world.step(first)
    first.cut()
    world.reset()
    second = bench.build(seed=2)
    second.load_state(first.state())
    for learner, its_world in zip((first, second), (world, world.copy()), strict=True):
        its_world.until_learnt(learner, 1)
        learner.cut()
    _expect_same(_state(first), _state(second), "a learner that was cut and its restored twin")


def a_state_of_another_algorithm_is_refused(bench: Bench) -> None:
    """A state of another algorithm, or an empty one, raises BadInput and leaves the learner as it was."""
    learner, _ = bench.trained()
    before = _state(learner)
    for state in ({}, {"name": "another"}, {**learner.state(), "name": "another"}):
        _refused(partial(learner.load_state, state), f"a state with {sorted(state)}")
        _expect_same(before, _state(learner), "a learner before and after a state it refused")


def it_continues_with_a_scaled_config(bench: Bench) -> None:
    """A learner with half the learning rate loads the state and learns; so does one with half the minibatch, if any."""
    learner, world = bench.trained()
    configs = [bench.kind.scaled(bench.config, learning_rate=0.5)]
    with suppress(Refused):
        configs.append(bench.kind.scaled(bench.config, minibatch=0.5))
    for config in configs:
        _expect(type(config) is type(bench.config), f"a scaled config is a {type(config).__name__}")
        _expect(config != bench.config, "a scaled config is the same as before")
        other = bench.kind.build(bench.spaces, config, seed=2)
        other.load_state(learner.state())
        world.copy().until_learnt(other, 1)


def progress_lies_between_start_and_end(bench: Bench) -> None:
    """`update` accepts a progress of 0 and of 1, and raises BadInput above 1."""
    learner, world = bench.build(), ConformanceWorld(bench.spaces)
    world.until_learnt(learner, 1, progress=0.0)
    world.until_learnt(learner, 1, progress=1.0)
    with suppress(BadInput):
        world.until_learnt(learner, 1, progress=1.5)
        raise AssertionError("progress=1.5 was taken")


def _state(learner: Learner) -> dict[str, Any]:
    return leaves_of(learner.state())


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The tensors that differ, of those that kept their shape: an update may empty what was collected."""
    numbers = {path: leaf for path, leaf in before.items() if isinstance(leaf, Tensor) and leaf.is_floating_point()}
    kept = {path: leaf for path, leaf in numbers.items() if path in after and after[path].shape == leaf.shape}
    return differing(kept, {path: after[path] for path in kept})


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def _global_generators() -> tuple[bytes, str]:
    drawn = np.random.get_state(legacy=False)  # noqa: NPY002 - the global one is what is meant
    with np.printoptions(threshold=10_000):
        return torch.get_rng_state().numpy().tobytes(), repr(drawn)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _expect_same(first: Mapping[str, Any], second: Mapping[str, Any], who: str) -> None:
    paths = differing(first, second)
    _expect(not paths, f"{who} differ in {', '.join(paths[:5])}{' and more' if len(paths) > 5 else ''}")


def _expect_figures(update: Update) -> None:
    _expect(update.gradient_steps > 0, f"an update made {update.gradient_steps} gradient steps")
    wrong = {name: value for name, value in update.metrics.items() if not math.isfinite(value)}
    _expect(not wrong, f"metrics are {wrong}")
    _expect(type(update.gradient_steps) is int, "gradient_steps is no int")


def _refused(action: Callable[[], object], what: str) -> None:
    try:
        action()
    except BadInput:
        return
    raise AssertionError(f"{what} was not refused with a BadInput")


CHECKS: tuple[LearnerCheck, ...] = (
    actions_fit_their_space,
    actions_of_another_space_are_refused,
    the_seed_decides_everything,
    global_generators_play_no_part,
    best_actions_draw_nothing,
    it_learns,
    state_is_plain,
    state_is_a_copy,
    a_restored_learner_continues_bit_for_bit,
    what_is_not_finite_is_refused,
    cut_is_a_truncation,
    cut_forgets_what_was_drawn,
    a_state_of_another_algorithm_is_refused,
    it_continues_with_a_scaled_config,
    progress_lies_between_start_and_end,
)
