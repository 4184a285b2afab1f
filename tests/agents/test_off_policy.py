"""What SAC and TD3 share as learners: acting, when to update, guardrails, determinism and exact resume."""

import hashlib
import math

import numpy as np
import pytest
import torch

from gaelp.agents.guarded_adam import GradientStep
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.off_policy import ReplayTally
from gaelp.agents.sac import SacConfig, build_sac
from gaelp.agents.td3 import Td3Config, build_td3
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.training.state_tree import flatten, unflatten

ROWS, SIZE, ACTIONS = 4, 3, 2
SPACES = Spaces(SIZE, BoxActions(ACTIONS), ROWS)
ALGORITHMS = {"sac": (build_sac, SacConfig), "td3": (build_td3, Td3Config)}
PLAIN = {"network": {"hidden": (8, 8)}, "batch_size": 16, "replay_capacity": 200, "learning_starts": 20}
EVERYTHING = PLAIN | {
    "priorities": {},
    "n_step": 3,
    "train_every": 2,
    "gradient_steps": 3,
    "normalise_obs": True,
    "scale_rewards": True,
    "learning_rate": {"kind": "linear", "start": 1e-3, "end": 1e-4},
}
FADING = {"exploration_noise": {"kind": "linear", "start": 0.5, "end": 0.0}}
both = pytest.mark.parametrize("name", ALGORITHMS)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def build(name, seed=0, spaces=SPACES, **settings):
    builder, config = ALGORITHMS[name]
    if name == "td3":
        settings = FADING | settings
    return builder(spaces, config(**PLAIN | settings), seed=seed)


def go_on(learner, first, last, rewards=1.0):
    """Steps `first` to `last` of an environment that depends on nothing but the time and the actions."""
    updates = []
    for time in range(first, last):
        rng = np.random.default_rng(time)
        obs, next_obs = torch.tensor(rng.normal(size=(2, ROWS, SIZE)), dtype=torch.float32)
        action = learner.act(obs, explore=True)
        reward = rewards * (action.sum(1) * obs[:, 0])
        terminated, truncated = torch.tensor(rng.random((2, ROWS)) < 0.1)
        learner.observe(Step(obs, action, reward, next_obs, terminated, truncated & ~terminated, ()))
        updates.append(learner.update(time / 100))
    return [update for update in updates if update]


def parameter_hash(learner):
    digest = hashlib.sha256()
    for name, tensor in learner.algorithm.networks.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@both
def test_choices_are_refused_with_the_way_out(name):
    with pytest.raises(BadInput, match=rf"{name} needs .* DiscreteActions\(count=3\): .* dqn or ppo"):
        build(name, spaces=Spaces(SIZE, DiscreteActions(3), ROWS))


@both
def test_actions_are_random_while_warming_up(name):
    random = build(name).act(torch.randn(3000, SIZE), explore=True)
    assert random.shape == (3000, ACTIONS)
    assert random.dtype == torch.float32
    assert random.mean().abs() < 0.05
    assert random.std().item() == pytest.approx(1 / math.sqrt(3), abs=0.02)  # of a uniform number in -1..1


@both
def test_after_the_warm_up_actions_are_the_policys_own_with_its_noise(name):
    learner = build(name, normalise_obs=True)
    go_on(learner, 0, 10)
    obs = 3 + torch.randn(3000, SIZE)
    explored, best = (learner.act(obs, explore=explore) for explore in (True, False))
    assert not torch.equal(explored, best)
    assert explored.abs().max() <= 1
    torch.testing.assert_close(explored.mean(0), best.mean(0), rtol=0.0, atol=0.05)


def test_exploration_follows_the_progress_of_training():
    learner = build("td3", normalise_obs=True)
    go_on(learner, 0, 10)
    obs = torch.randn(50, SIZE)
    assert not torch.equal(learner.act(obs, explore=True), learner.act(obs, explore=False))
    learner.update(1.0)
    # Without noise they are the same, and see the observations on the same scale.
    assert torch.equal(learner.act(obs, explore=True), learner.act(obs, explore=False))


@both
def test_with_priorities_the_errors_of_a_minibatch_become_its_priorities(name):
    learner = build(name, priorities={}, batch_size=8, learning_starts=8)
    go_on(learner, 0, 1)
    before = learner.state()["memory"]["replay.leaves"]
    go_on(learner, 1, 2)
    after = learner.state()["memory"]["replay.leaves"]
    assert (before == 1).all()  # all new, all equally likely
    assert 0 < (after != 1).sum() <= 8


@both
def test_the_best_actions_lie_in_the_box_repeat_and_leave_no_trace(name):
    learner = build(name, normalise_obs=True)
    go_on(learner, 0, 10)
    before = flatten(learner.state())
    obs = 100 * torch.randn(500, SIZE)
    first, second = (learner.act(obs, explore=False) for _ in range(2))
    assert torch.equal(first, second)
    assert first.abs().max() <= 1
    assert not first.requires_grad
    after = flatten(learner.state())
    assert after[1] == before[1]
    assert all(np.array_equal(array, after[0][key]) for key, array in before[0].items())


@both
def test_updates_come_in_turn_with_the_gradient_steps_asked_for(name):
    learner = build(name, train_every=3, gradient_steps=2)
    updates = go_on(learner, 0, 20)
    # 20 transitions are there after the fifth step; steps 5 to 20 are sixteen, five times three.
    assert [update.gradient_steps for update in updates] == [2] * 5
    assert learner.update(0.5) is None
    assert learner.state()["counters"]["steps_made"] == 10


@both
def test_an_update_reports_health_figures_that_are_all_finite(name):
    update = go_on(build(name, gradient_steps=2), 0, 12)[-1]
    wanted = {"critic_loss", "actor_loss", "gradient_norm", "gradient_norm_max", "clip_fraction", "q_abs_mean"}
    wanted |= {"q_abs_max", "td_error_abs_mean", "explained_variance", "learning_rate", "replay_size", "refused_steps"}
    wanted |= {"temperature", "entropy"} if name == "sac" else set()
    assert wanted <= update.metrics.keys()
    assert all(math.isfinite(value) for value in update.metrics.values())
    assert update.skipped == {}


@both
def test_the_learning_rate_follows_its_schedule(name):
    learner = build(name, learning_rate={"kind": "linear", "start": 1e-2, "end": 0.0, "until": 0.1})
    rates = [update.metrics["learning_rate"] for update in go_on(learner, 5, 12)]
    assert rates == pytest.approx([1e-3, 0.0, 0.0])
    at_zero = learner.algorithm.actor[0].weight.detach().clone()
    go_on(learner, 12, 14)
    assert torch.equal(learner.algorithm.actor[0].weight, at_zero)


@both
def test_the_same_seed_and_steps_give_the_same_parameters_and_another_seed_others(name):
    hashes = []
    for seed in (0, 0, 1):
        learner = build(name, seed, **EVERYTHING)
        go_on(learner, 0, 30)
        hashes.append(parameter_hash(learner))
    assert hashes[0] == hashes[1] != hashes[2]


@both
def test_nothing_is_drawn_from_the_global_generator(name):
    hashes = []
    for global_seed in (1, 2):
        torch.manual_seed(global_seed)
        learner = build(name)
        torch.manual_seed(global_seed)
        before = torch.get_rng_state()
        go_on(learner, 0, 12)
        assert torch.equal(torch.get_rng_state(), before)
        hashes.append(parameter_hash(learner))
    assert hashes[0] == hashes[1]


@both
@pytest.mark.parametrize("settings", [PLAIN, EVERYTHING], ids=["plain", "everything"])
@pytest.mark.parametrize("cut", [3, 8, 21])
def test_a_restored_learner_goes_on_bit_for_bit(name, settings, cut):
    learner = build(name, **settings)
    go_on(learner, 0, cut)
    saved = unflatten(*flatten(learner.state()))
    go_on(learner, cut, 40)
    other = build(name, seed=9, **settings)
    go_on(other, 50, 60)
    other.load_state(saved)
    go_on(other, cut, 40)
    assert parameter_hash(other) == parameter_hash(learner)
    (arrays, rest), (wanted, wanted_rest) = flatten(other.state()), flatten(learner.state())
    assert rest == wanted_rest
    assert all(np.array_equal(array, wanted[key], equal_nan=True) for key, array in arrays.items())


@both
def test_a_saved_state_does_not_change_with_the_learner(name):
    learner = build(name, **EVERYTHING)
    go_on(learner, 0, 15)
    saved = learner.state()
    before = {key: array.copy() for key, array in flatten(saved)[0].items()}
    go_on(learner, 15, 25)
    assert all(np.array_equal(array, before[key]) for key, array in flatten(saved)[0].items())


@both
def test_a_state_of_another_learner_is_refused_before_anything_is_changed(name):
    learner = build(name)
    go_on(learner, 0, 10)
    before = parameter_hash(learner)
    other = "td3" if name == "sac" else "sac"
    with pytest.raises(BadInput, match=f"of '{other}', this learner is '{name}'"):
        learner.load_state(build(other).state())
    with pytest.raises(BadInput, match=r"wanted is torch.float32"):
        learner.load_state(build(name, network={"hidden": (16, 8)}).state())
    with pytest.raises(BadInput, match=r"saved capacity is 100.0, here it is 200"):
        learner.load_state(build(name, replay_capacity=100).state())
    with pytest.raises(BadInput, match=r"wanted is .*'networks'"):
        learner.load_state({"name": name})
    assert parameter_hash(learner) == before


@both
def test_a_learner_may_go_on_with_another_learning_rate(name):
    learner = build(name)
    go_on(learner, 0, 10)
    slower = build(name, learning_rate={"kind": "constant", "start": 1e-5})
    slower.load_state(learner.state())
    assert go_on(slower, 10, 11)[0].metrics["learning_rate"] == 1e-5


# Planted faults


@both
def test_a_minibatch_whose_loss_overflows_is_skipped_and_counted(name):
    learner = build(name, gradient_steps=2)
    before = parameter_hash(learner)
    # Finite rewards, as observe demands, whose squares are not.
    update = go_on(learner, 0, 5, rewards=1e30)[0]
    assert update.skipped == {"critic_loss": 2}
    assert update.gradient_steps == 0
    assert parameter_hash(learner) == before
    assert "critic_loss" not in update.metrics


@both
@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_a_critic_gradient_that_is_not_finite_is_skipped_and_counted(name, poison):
    learner = build(name, priorities={})
    go_on(learner, 0, 10)
    before, priorities = parameter_hash(learner), learner.state()["memory"]["replay.leaves"]
    planted = learner.algorithm.critics.biases[0].register_hook(lambda gradient: gradient * poison)
    update = go_on(learner, 10, 11)[0]
    assert update.skipped == {"critic_gradient": 1}
    assert parameter_hash(learner) == before
    # New rows have the largest priority; the old ones kept theirs.
    assert torch.equal(learner.state()["memory"]["replay.leaves"][: len(priorities)], priorities)
    planted.remove()
    assert go_on(learner, 11, 12)[0].skipped == {}
    assert parameter_hash(learner) != before


@both
def test_an_actor_gradient_that_is_not_finite_leaves_the_actor_alone_and_is_counted(name):
    learner = build(name, gradient_steps=2)
    go_on(learner, 0, 10)
    actor = learner.algorithm.actor
    before = [parameter.detach().clone() for parameter in actor.parameters()]
    actor[0].bias.register_hook(lambda gradient: gradient * math.nan)
    update = go_on(learner, 10, 11)[0]
    assert update.skipped == {"actor_gradient": 2 if name == "sac" else 1}
    assert update.gradient_steps == 2
    assert all(torch.equal(one, other) for one, other in zip(actor.parameters(), before, strict=True))


@both
def test_an_exploding_gradient_is_clipped_and_reported(name):
    learner = build(name, max_gradient_norm=1e-3)
    update = go_on(learner, 0, 8)[-1]
    assert update.metrics["gradient_norm_max"] > 1e-3
    assert update.metrics["clip_fraction"] > 0


@both
@pytest.mark.parametrize("field", ["obs", "reward", "next_obs"])
def test_a_step_that_is_not_finite_is_refused(name, field):
    learner = build(name)
    flags = torch.zeros(ROWS, dtype=torch.bool)
    step = Step(
        torch.zeros(ROWS, SIZE),
        torch.zeros(ROWS, ACTIONS),
        torch.zeros(ROWS),
        torch.zeros(ROWS, SIZE),
        flags,
        flags,
        (),
    )
    bad = getattr(step, field).clone()
    bad[1] = math.nan
    with pytest.raises(BadInput, match=f"{field} of row 1 is nan"):
        learner.observe(step._replace(**{field: bad}))


@both
def test_a_progress_outside_its_range_is_refused(name):
    with pytest.raises(BadInput, match=r"progress=1.5"):
        build(name).update(1.5)


def test_a_tally_averages_what_was_applied_and_counts_what_was_not():
    tally = ReplayTally(max_norm=2.0)
    assert tally.record("critic", GradientStep(1.0, 1.0))
    assert tally.record("critic", GradientStep(3.0, 5.0))
    assert tally.record("actor", GradientStep(7.0, 0.5))
    assert not tally.record("actor", GradientStep(math.nan, math.nan, "loss"))
    assert tally.metrics() == {
        "critic_loss": 2.0,
        "critic_gradient_norm": 3.0,
        "actor_loss": 7.0,
        "actor_gradient_norm": 0.5,
        "gradient_norm": 3.0,
        "gradient_norm_max": 5.0,
        "clip_fraction": 1 / 3,
    }
    assert tally.skipped == {"actor_loss": 1}


@both
@pytest.mark.parametrize("settings", [PLAIN, EVERYTHING], ids=["plain", "everything"])
def test_a_learner_restored_after_a_cut_goes_on_bit_for_bit(name, settings):
    first, second = build(name, **settings), build(name, seed=5, **settings)
    go_on(first, 0, 12)
    first.cut()
    second.load_state(unflatten(*flatten(first.state())))
    for learner in (first, second):
        go_on(learner, 30, 40)
        learner.cut()
    assert parameter_hash(first) == parameter_hash(second)
    before, after = flatten(first.state()), flatten(second.state())
    assert before[1] == after[1]
    assert all(before[0][key].tobytes() == after[0][key].tobytes() for key in before[0])
