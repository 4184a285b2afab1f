import math

import pytest
import torch

from gaelp.agents.actor_critic import ActorCritic
from gaelp.agents.collection import Collection
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.errors import BadInput
from gaelp.experience.collect import Collector, Step, open_env
from gaelp.experience.returns import Credit

ROWS, SIZE, LENGTH = 4, 3, 5
BOX, CHOICE = BoxActions(2), DiscreteActions(3)


def collection(actions=CHOICE, *, length=LENGTH, log_std=0.0, spaces=None, **options):
    spaces = spaces or Spaces(SIZE, actions, ROWS)
    networks = ActorCritic(
        spaces,
        NetworkSpec(hidden=(8,)),
        log_std_start=log_std,
        fast=True,
        generator=torch.Generator().manual_seed(0),
    )
    settings = {"gamma": 0.9, "normalise_obs": False, "scale_rewards": False} | options
    made = Collection(spaces, networks, length=length, generator=torch.Generator().manual_seed(1), **settings)
    return made, networks


class World:
    """Rows whose observations are drawn; nothing ends unless asked to."""

    def __init__(self, seed=2):
        self.rng = torch.Generator().manual_seed(seed)
        self.obs = self.draw()

    def draw(self):
        return torch.randn(ROWS, SIZE, generator=self.rng)

    def step(self, made, *, terminated=(), truncated=(), **changes):
        action = made.act(self.obs, explore=True)
        flags = torch.zeros(2, ROWS, dtype=torch.bool)
        flags[0, list(terminated)], flags[1, list(truncated)] = True, True
        ended = flags.any(0)
        led_to = self.draw()
        following = torch.where(ended.unsqueeze(1), self.draw(), led_to) if ended.any() else led_to
        reward = torch.randn(ROWS, generator=self.rng)
        step = Step(self.obs, action, reward, led_to, flags[0], flags[1], ())._replace(**changes)
        made.observe(step)
        self.obs = following
        return step


def same(first, second):
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    return torch.equal(first, second) if isinstance(first, torch.Tensor) else first == second


@pytest.mark.parametrize("actions", [BOX, CHOICE])
def test_what_was_seen_and_done_comes_back_time_major(actions):
    made, networks = collection(actions)
    world = World()
    steps = [world.step(made, terminated=[t % ROWS], truncated=[(t + 1) % ROWS]) for t in range(LENGTH)]
    assert made.full
    taken = made.take()
    assert not made.full
    assert torch.equal(taken.obs, torch.stack([*(step.obs for step in steps), steps[-1].next_obs]))
    assert torch.equal(taken.rewards, torch.stack([step.reward for step in steps]))
    assert torch.equal(taken.terminated, torch.stack([step.terminated for step in steps]))
    assert torch.equal(taken.ended, torch.stack([step.terminated | step.truncated for step in steps]))
    given = taken.actions.clamp(-1, 1) if actions is BOX else taken.actions
    assert torch.equal(given, torch.stack([step.action for step in steps]))
    torch.testing.assert_close(taken.log_probs, networks.all_log_probs(taken.obs[:-1], taken.actions))


def test_numbers_given_out_lie_in_their_range_but_are_remembered_as_drawn():
    made, _ = collection(BOX, log_std=1.5)
    world = World()
    actions = torch.stack([world.step(made).action for _ in range(LENGTH)])
    assert actions.abs().max() == 1
    drawn = made.take().actions
    assert drawn.abs().max() > 1
    assert torch.equal(drawn.clamp(-1, 1), actions)


def test_each_step_is_followed_by_the_value_of_what_it_led_to():
    made, networks = collection()
    world = World()
    steps = [
        world.step(made),
        world.step(made, truncated=[0, 2]),
        world.step(made, terminated=[1]),
        world.step(made, truncated=[3], terminated=[3]),
        world.step(made, truncated=[1], terminated=[2]),
    ]
    valued = made.take().valued(networks)
    led_to = torch.stack([step.next_obs for step in steps])
    expected = networks.all_values(led_to).masked_fill(valued.terminated, 0.0)
    torch.testing.assert_close(valued.next_values.masked_fill(valued.terminated, 0.0), expected)
    torch.testing.assert_close(valued.values, networks.all_values(torch.stack([step.obs for step in steps])))


def test_rows_reset_from_outside_are_cut_short_where_they_were():
    made, networks = collection()
    world = World()
    before = [world.step(made), world.step(made)]
    world.obs = world.obs.clone()
    world.obs[[1, 3]] = 7.0
    after = [world.step(made) for _ in range(LENGTH - 2)]
    valued = made.take().valued(networks)
    assert valued.ended.nonzero().tolist() == [[1, 1], [1, 3]]
    assert not valued.terminated.any()
    led_to = torch.stack([step.next_obs for step in (*before, *after)])
    torch.testing.assert_close(valued.next_values, networks.all_values(led_to))


def test_rows_to_learn_from_are_the_steps_in_memory_order():
    made, networks = collection()
    world = World()
    for _ in range(LENGTH):
        world.step(made)
    taken = made.take()
    steps = taken.valued(networks)
    rows = taken.rows(steps, Credit(torch.arange(20.0).reshape(LENGTH, ROWS), steps.values))
    assert rows.rows == LENGTH * ROWS
    assert rows["advantages"].tolist() == list(range(20))
    assert rows["obs"].is_contiguous()
    assert torch.equal(rows["obs"][ROWS + 2], taken.obs[1, 2])


@pytest.mark.parametrize("name", ["obs", "next_obs", "reward"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_with_row_and_value_and_leaves_no_trace(name, value):
    made, _ = collection(normalise_obs=True, scale_rewards=True)
    world = World()
    world.step(made)
    step = Step(
        world.obs, made.act(world.obs, explore=True), torch.zeros(ROWS), world.draw(), *torch.zeros(2, ROWS) > 0, ()
    )
    bad = getattr(step, name).clone()
    bad[2] = value
    before = made.state()
    with pytest.raises(BadInput, match=rf"{name} of row 2 is {value}"):
        made.observe(step._replace(**{name: bad}))
    assert same(made.state(), before)
    made.observe(step)


def test_steps_that_do_not_belong_are_refused():
    made, _ = collection()
    world = World()
    good = world.step(made)
    with pytest.raises(BadInput, match="explore=True first"):
        made.observe(good)
    made.act(world.obs, explore=False)
    with pytest.raises(BadInput, match="explore=True first"):
        made.observe(good)
    given = made.act(world.obs, explore=True)
    with pytest.raises(BadInput, match="not those drawn last"):
        made.observe(good._replace(action=(given + 1) % 3))
    with pytest.raises(BadInput, match="reward has shape"):
        made.observe(good._replace(action=given, reward=torch.zeros(ROWS, 1)))
    for _ in range(LENGTH - 1):
        world.step(made)
    with pytest.raises(BadInput, match="call update first"):
        world.step(made)


def test_a_collection_that_is_not_full_is_not_taken():
    made, _ = collection()
    World().step(made)
    with pytest.raises(BadInput, match="1 of 5 steps"):
        made.take()


def test_observations_are_normalised_as_they_come_and_evaluation_changes_nothing():
    made, _ = collection(normalise_obs=True, length=200)
    world = World()
    world.draw = lambda: 5 + 3 * torch.randn(ROWS, SIZE, generator=world.rng)
    for _ in range(200):
        world.step(made)
        before = made.state()
        made.act(world.obs, explore=False)
        assert same(made.state(), before)
    late = made.take().obs[100:].flatten(0, 1)
    assert late.mean(0).abs().max() < 0.3
    assert late.std(0).sub(1).abs().max() < 0.2


def test_rewards_are_scaled_by_the_spread_of_their_sums():
    plain, _ = collection()
    scaled, _ = collection(scale_rewards=True)
    for made in (plain, scaled):
        world = World()
        for _ in range(LENGTH):
            world.step(made)
    ratio = scaled.take().rewards / plain.take().rewards
    torch.testing.assert_close(ratio, ratio[0, 0].expand_as(ratio))
    assert ratio[0, 0] != 1


def test_episodes_that_the_pendulum_cuts_short_are_bootstrapped():
    made, _ = collection(length=200, spaces=Spaces(3, BoxActions(1), 2))
    collector = Collector(open_env("Pendulum-v1", 2), seed=0)
    for _ in range(200):
        made.observe(collector.step(lambda obs: made.act(obs, explore=True)))
    taken = made.take()
    assert taken.cut_places.tolist() == [398, 399]
    assert not torch.equal(taken.cut_obs, collector.obs)
    assert not taken.terminated.any()


@pytest.mark.parametrize("length", [2, LENGTH])
def test_rows_that_are_cut_end_there_and_are_worth_what_their_last_observation_is(length):
    made, networks = collection(length=length)
    world = World()
    world.step(made)
    last = world.step(made, terminated=[0], truncated=[1])
    made.cut()
    world.obs = world.draw()
    while not made.full:
        world.step(made)
    collected = made.take()
    assert collected.ended[1].all()
    assert collected.terminated[1].tolist() == [True, False, False, False]
    after = collected.valued(networks).next_values[1]
    torch.testing.assert_close(after[1:], networks.all_values(last.next_obs)[1:])


def test_cutting_forgets_the_action_that_was_drawn():
    made, _ = collection()
    world = World()
    step = world.step(made)
    made.act(world.obs, explore=True)
    made.cut()
    with pytest.raises(BadInput, match="no action was drawn"):
        made.observe(step)


@pytest.mark.parametrize("length", [2, 4])
def test_the_running_sum_of_rewards_does_not_outlive_a_cut(length):
    """Neither in the middle of a collection nor between two."""
    made, _ = collection(length=length, scale_rewards=True)
    world = World()
    for _ in range(2):
        world.step(made)
    if made.full:
        made.take()
    made.cut()
    world.obs = world.draw()
    rewards = [world.step(made).reward.double() for _ in range(2)]
    made.take()
    torch.testing.assert_close(made.state()["scaler"]["running"], 0.9 * rewards[0] + rewards[1])
