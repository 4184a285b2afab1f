import math

import numpy as np
import pytest
import torch

from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.replay_config import ReplayConfig
from gaelp.agents.replay_memory import ReplayMemory
from gaelp.errors import BadInput, Refused
from gaelp.experience.collect import Step

ROWS, SIZE = 3, 2


def config(**settings):
    return ReplayConfig(**{"batch_size": 16, "replay_capacity": 60, "learning_starts": 6} | settings)


def memory(**settings):
    return ReplayMemory(config(**settings), Spaces(SIZE, BoxActions(1), ROWS))


def step_at(time, **changes):
    rng = np.random.default_rng(time)
    obs, next_obs = torch.tensor(rng.normal(5, 3, size=(2, ROWS, SIZE)), dtype=torch.float32)
    flags = torch.zeros(ROWS, dtype=torch.bool)
    reward = torch.tensor(rng.normal(size=ROWS), dtype=torch.float32)
    step = Step(obs, torch.zeros(ROWS, 1), reward, next_obs, flags, flags, ())
    return step._replace(**changes)


def generator():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("field", ["obs", "reward", "next_obs"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused_with_row_and_value_and_leaves_no_trace(field, value):
    kept = memory(normalise_obs=True, scale_rewards=True)
    kept.add(step_at(0))
    before = kept.state()
    bad = getattr(step_at(1), field).clone()
    bad[2] = value
    with pytest.raises(BadInput, match=rf"{field} of row 2 is {value} "):
        kept.add(step_at(1, **{field: bad}))
    after = kept.state()
    assert after.keys() == before.keys()
    assert all(
        torch.equal(after[name], value) if isinstance(value, torch.Tensor) else after[name] == value
        for name, value in before.items()
    )


def test_an_action_outside_the_box_is_refused():
    with pytest.raises(Refused, match=r"actions\[1, 0\] is 1.5"):
        memory().add(step_at(0, action=torch.tensor([[0.0], [1.5], [0.0]])))


def test_a_choice_that_does_not_exist_is_refused():
    choices = ReplayMemory(config(), Spaces(SIZE, DiscreteActions(3), ROWS))
    with pytest.raises(Refused, match=r"actions\[2\] is 3"):
        choices.add(step_at(0, action=torch.tensor([0, 2, 3])))


def test_a_reward_outside_the_declared_range_stops_or_is_left_out_and_counted():
    bad = step_at(0, reward=torch.tensor([0.5, 7.0, -0.5]))
    with pytest.raises(Refused, match=r"rewards\[1\] is 7.0, allowed is -1.0..1.0"):
        memory(reward_range=(-1, 1)).add(bad)
    kept = memory(reward_range=(-1, 1), on_refused="skip", scale_rewards=True)
    kept.add(bad)
    assert kept.figures() == {"replay_size": 2.0, "refused_steps": 1.0}
    assert kept.draw(generator(), 0.0).rewards.abs().max() < 7.0
    # Nor does it widen the scale that others are measured by.
    clipped = memory(scale_rewards=True)
    clipped.add(bad._replace(reward=torch.tensor([0.5, 1.0, -0.5])))
    assert kept.state()["scaler.moments.squares"] == clipped.state()["scaler.moments.squares"]


def test_it_warms_up_until_enough_was_seen_and_then_asks_for_steps_in_turn():
    kept = memory(train_every=2, gradient_steps=3, learning_starts=7)
    asked = []
    for time in range(7):
        kept.add(step_at(time))
        asked.append((kept.warming_up, kept.due()))
    # 9 transitions after the third step are the first that suffice; it counts towards the two.
    assert asked == [(True, 0), (True, 0), (False, 0), (False, 3), (False, 0), (False, 3), (False, 0)]


def test_steps_taken_in_between_two_calls_are_all_paid_for():
    kept = memory(train_every=2, gradient_steps=3, learning_starts=3)
    for time in range(5):
        kept.add(step_at(time))
    assert kept.due() == 6
    assert kept.due() == 0
    kept.add(step_at(5))
    assert kept.due() == 3


def test_observations_are_normalised_when_drawn_by_all_that_was_seen_until_then():
    kept, plain = memory(normalise_obs=True), memory()
    observed = []
    for time in range(10):
        for each in (kept, plain):
            each.add(step_at(time))
        observed.append(step_at(time).obs)
    every = torch.cat(observed).double()
    raw, drawn = plain.draw(generator(), 0.0), kept.draw(generator(), 0.0)
    mean, std = every.mean(0), every.std(0, correction=0)
    for name in ("obs", "next_obs"):
        torch.testing.assert_close(
            getattr(drawn, name).double(), (getattr(raw, name) - mean) / std, rtol=1e-5, atol=1e-5
        )


def test_looking_at_observations_does_not_move_their_scale():
    kept = memory(normalise_obs=True)
    kept.add(step_at(0))
    obs = step_at(1).obs
    first = kept.scaled(obs)
    kept.scaled(torch.full((ROWS, SIZE), 1e6))
    assert torch.equal(kept.scaled(obs), first)


def test_rewards_are_scaled_when_drawn_and_by_one_factor():
    kept, plain = memory(scale_rewards=True), memory()
    for time in range(10):
        for each in (kept, plain):
            each.add(step_at(time, reward=100 * step_at(time).reward))
    ratios = kept.draw(generator(), 0.0).rewards / plain.draw(generator(), 0.0).rewards
    torch.testing.assert_close(ratios, ratios[:1].expand_as(ratios))
    assert 0.001 < ratios[0].item() < 0.02


def test_n_step_transitions_sum_discounted_rewards_and_stop_at_the_end_of_an_episode():
    kept = memory(n_step=3, gamma=0.5, learning_starts=1)
    ones = torch.ones(ROWS)
    over = torch.tensor([True, False, False])
    for time in range(3):
        kept.add(step_at(time, reward=ones, terminated=over if time == 1 else torch.zeros_like(over)))
    batch = kept.replay.state()
    # Row 0 ended for good with its second step; rows 1 and 2 have one whole transition each.
    assert sorted(batch["stored.rewards"].tolist()) == [1.0, 1.5, 1.75, 1.75]
    assert sorted(batch["stored.discounts"].tolist()) == [0.0, 0.0, 0.125, 0.125]


def test_with_priorities_what_was_wrong_comes_up_more_often_with_smaller_weights():
    kept = memory(priorities={"alpha": 1.0, "beta_start": 1.0}, batch_size=400)
    for time in range(4):
        kept.add(step_at(time))
    kept.replay.update_priorities(torch.arange(12), torch.tensor([50.0] + [1.0] * 11))
    batch = kept.draw(generator(), 0.0)
    assert (batch.indices == 0).float().mean() == pytest.approx(50 / 61, abs=0.05)
    assert batch.weights[batch.indices == 0].max() < batch.weights[batch.indices != 0].min()


@pytest.mark.parametrize("other", [{"normalise_obs": True}, {"scale_rewards": True}])
def test_the_state_of_a_memory_with_other_scales_is_refused(other):
    with pytest.raises(BadInput, match="normalise_obs and scale_rewards"):
        memory().load_state(memory(**other).state())
    with pytest.raises(BadInput, match="normalise_obs and scale_rewards"):
        memory(**other).load_state(memory().state())


def test_a_cut_completes_what_waits_and_ends_the_running_sum_of_rewards():
    kept = memory(n_step=3, scale_rewards=True)
    kept.add(step_at(0))
    kept.add(step_at(1))
    assert kept.replay.size == 0
    kept.cut()
    assert kept.replay.size == 2 * ROWS
    state = kept.state()
    assert not state["scaler.running"].any()
    # From the first step: two rewards, then the value where the second led.
    assert torch.equal(state["replay.stored.next_obs"], step_at(1).next_obs.repeat(2, 1))
    torch.testing.assert_close(state["replay.stored.discounts"], torch.tensor([0.99**2] * ROWS + [0.99] * ROWS))
    kept.cut()
    assert kept.replay.size == 2 * ROWS


@pytest.mark.parametrize("settings", [{}, {"priorities": {}}, {"n_step": 3, "priorities": {}}])
def test_cutting_a_memory_that_saw_nothing_does_nothing(settings):
    kept = memory(**settings)
    kept.cut()
    assert kept.replay.size == 0
