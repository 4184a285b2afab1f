import hashlib
import math

import pytest
import torch

from gaelp.agents.a2c import A2cConfig, build_a2c
from gaelp.agents.gradient_step import OptimizerSpec
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.on_policy import with_normalised_advantages
from gaelp.agents.ppo import PpoConfig, VTrace, build_ppo
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.agents.value_figures import explained_variance
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.experience.returns import gae
from gaelp.experience.transitions import Batch
from gaelp.training.state_tree import flatten, unflatten

ROWS, SIZE, LENGTH = 4, 3, 6
SPACES = {"box": Spaces(SIZE, BoxActions(2), ROWS), "choice": Spaces(SIZE, DiscreteActions(3), ROWS)}
SMALL = {
    "network": NetworkSpec(hidden=(16, 16)),
    "steps_per_update": LENGTH,
    "learning_rate": LinearSchedule(start=1e-2, end=1e-3),
    "entropy_weight": ConstantSchedule(start=0.01),
}
EVERYTHING = {"normalise_obs": True, "scale_rewards": True, "normalise_advantages": True}
LEARNERS = {
    "ppo": (build_ppo, PpoConfig, {}),
    "ppo-vtrace": (build_ppo, PpoConfig, {"vtrace": VTrace(), "value_clip": 0.2, "target_kl": 0.05}),
    "a2c": (build_a2c, A2cConfig, {}),
    "a2c-adam": (build_a2c, A2cConfig, {"n_step": 3, "optimizer": OptimizerSpec(kind="adam")}),
}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=LEARNERS)
def kind(request):
    return request.param


@pytest.fixture(params=SPACES)
def spaces(request):
    return SPACES[request.param]


def build(kind, spaces=SPACES["box"], *, seed=0, **changes):
    make, config, own = LEARNERS[kind]
    return make(spaces, config(**(SMALL | own | changes)), seed=seed)


def step_of(index, act, **changes):
    """A step that depends on its index and the actions alone; rows continue unless they ended."""
    obs, led_to = (torch.randn(ROWS, SIZE, generator=torch.Generator().manual_seed(9 + i)) for i in (index, index + 1))
    terminated, truncated = torch.rand(2, ROWS, generator=torch.Generator().manual_seed(5000 + index)) < 0.1
    action = act(obs)
    reward = obs[:, 0] + action.float().reshape(ROWS, -1)[:, 0]
    return Step(obs, action, reward, led_to, terminated, truncated, ())._replace(**changes)


def observe(learner, index, **changes):
    learner.observe(step_of(index, lambda obs: learner.act(obs, explore=True), **changes))


def run(learner, steps, start=0):
    updates = []
    for index in range(start, start + steps):
        observe(learner, index)
        updates.append(learner.update(min(index / 100, 1.0)))
    return [update for update in updates if update]


def parameters(learner):
    return torch.cat([tensor.flatten() for tensor in learner.networks.state_dict().values()])


def parameter_hash(learner):
    return hashlib.sha256(parameters(learner).numpy().tobytes()).hexdigest()


def test_the_same_seed_gives_the_same_parameters_and_another_seed_others(kind, spaces):
    hashes = []
    for seed in (1, 1, 2):
        learner = build(kind, spaces, seed=seed, **EVERYTHING)
        torch.rand(3)  # what others draw from the global generator plays no part
        run(learner, 3 * LENGTH)
        hashes.append(parameter_hash(learner))
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("saved_after", [0, LENGTH + 2, 2 * LENGTH])
def test_a_restored_learner_goes_on_bit_for_bit(kind, spaces, saved_after):
    first = build(kind, spaces, **EVERYTHING)
    run(first, saved_after)
    saved = flatten(first.state())
    run(first, 3 * LENGTH, start=saved_after)
    second = build(kind, spaces, seed=7, **EVERYTHING)
    run(second, 4)
    second.load_state(unflatten(*saved))
    run(second, 3 * LENGTH, start=saved_after)
    assert parameter_hash(first) == parameter_hash(second)
    before, after = flatten(first.state()), flatten(second.state())
    assert before[1] == after[1]
    assert all(before[0][name].tobytes() == after[0][name].tobytes() for name in before[0])


def test_a_learner_saved_between_acting_and_observing_goes_on_bit_for_bit(kind):
    first, second = build(kind), build(kind, seed=7)
    run(first, 2)
    step = step_of(2, lambda obs: first.act(obs, explore=True))
    second.load_state(first.state())
    for learner in (first, second):
        learner.observe(step)
        run(learner, LENGTH, start=3)
    assert parameter_hash(first) == parameter_hash(second)


def test_a_saved_state_is_a_copy(kind):
    learner = build(kind, **EVERYTHING)
    run(learner, LENGTH + 2)
    arrays, _ = flatten(learner.state())
    saved = learner.state()
    run(learner, 2 * LENGTH, start=LENGTH + 2)
    again, _ = flatten(saved)
    assert all(arrays[name].tobytes() == again[name].tobytes() for name in arrays)


def test_a_state_of_another_learner_is_refused(kind):
    learner = build(kind)
    with pytest.raises(BadInput, match="'dqn'"):
        learner.load_state(learner.state() | {"name": "dqn"})
    with pytest.raises(BadInput, match=r"shape|wanted"):
        learner.load_state(build(kind, network=NetworkSpec(hidden=(8,))).state())
    with pytest.raises(BadInput, match="wanted"):
        learner.load_state(build(kind, SPACES["choice"]).state())


def test_it_learns_only_when_enough_was_collected(kind):
    learner = build(kind)
    for index in range(LENGTH):
        assert learner.update(0.0) is None
        observe(learner, index)
    assert learner.update(0.0).gradient_steps >= 1
    assert learner.update(0.0) is None


def test_it_learns_which_action_pays(kind, spaces):
    learner = build(kind, spaces, learning_rate=ConstantSchedule(start=2e-2), gamma=0.0)
    run(learner, (150 if "a2c" in kind else 40) * LENGTH)
    obs = torch.randn(50, SIZE, generator=torch.Generator().manual_seed(1))
    best = learner.act(obs, explore=False).float().reshape(50, -1)[:, 0]
    assert best.mean() > (0.5 if spaces is SPACES["box"] else 1.8)


def test_figures_are_finite_and_tell_how_learning_goes(kind, spaces):
    [update] = run(build(kind, spaces), LENGTH)
    wanted = {"loss", "policy_loss", "value_loss", "entropy", "explained_variance", "gradient_norm", "learning_rate"}
    assert update.metrics.keys() >= wanted | {"gradient_norm_max", "entropy_weight", "value_abs_mean"}
    assert ("action_std" in update.metrics) == (spaces is SPACES["box"])
    assert all(math.isfinite(figure) for figure in update.metrics.values())
    assert update.skipped == {"gradient": 0, "loss": 0}


def test_schedules_follow_the_progress(kind):
    learner = build(kind, entropy_weight=LinearSchedule(start=0.1, end=0.0))
    values = []
    for progress in (0.0, 0.5, 1.0):
        for index in range(LENGTH):
            observe(learner, index)
        metrics = learner.update(progress).metrics
        values.append((metrics["learning_rate"], metrics["entropy_weight"]))
    assert values == [(1e-2, 0.1), (pytest.approx(5.5e-3), 0.05), (1e-3, 0.0)]


@pytest.mark.parametrize("reason", ["loss", "gradient"])
def test_a_minibatch_that_is_not_finite_is_skipped_and_counted(kind, reason, monkeypatch):
    learner = build(kind, normalise_advantages=False)
    before, step = parameters(learner), learner._stepper.step

    def step_of_a_faulty_gradient(loss, rate):
        learner._stepper.gradient[0] = math.inf
        return step(loss, rate)

    for index in range(LENGTH):
        observe(learner, index, **({"reward": torch.full((ROWS,), 1e30)} if reason == "loss" else {}))
    if reason == "gradient":  # put where autograd's gradients and those by hand both end up
        monkeypatch.setattr(learner._stepper, "step", step_of_a_faulty_gradient)
    update = learner.update(0.0)
    assert update.gradient_steps == 0
    assert update.skipped[reason] == sum(update.skipped.values()) == (12 if "ppo" in kind else 1)
    assert torch.equal(parameters(learner), before)
    assert "loss" not in update.metrics
    monkeypatch.undo()
    assert run(learner, LENGTH)[0].gradient_steps >= 1


def test_only_the_minibatch_with_the_fault_is_skipped():
    learner = build("ppo", minibatches=4, epochs=2, gamma=0.0)
    for index in range(LENGTH):
        reward = torch.zeros(ROWS)
        reward[1] = 1e30 if index == 2 else 0.0
        observe(learner, index, reward=reward)
    update = learner.update(0.0)
    assert update.skipped == {"gradient": 0, "loss": 2}
    assert update.gradient_steps == 6
    assert parameters(learner).isfinite().all()


def test_gradients_by_hand_and_by_autograd_lead_to_the_same_place(kind, spaces):
    fast, plain = build(kind, spaces), build(kind, spaces, fast_gradients=False)
    for learner in (fast, plain):
        run(learner, 2 * LENGTH)
    torch.testing.assert_close(parameters(fast), parameters(plain), rtol=1e-4, atol=1e-5)


def test_a_schedule_below_zero_is_refused(kind):
    with pytest.raises(ValueError, match="learning_rate reaches -1"):
        build(kind, learning_rate=LinearSchedule(start=1e-3, end=-1.0))


def test_normalised_advantages_have_mean_zero_and_deviation_one():
    rows = Batch({"advantages": torch.tensor([1.0, 2.0, 6.0]), "obs": torch.ones(3, 1)})
    scaled = with_normalised_advantages(rows)["advantages"]
    assert scaled.mean().item() == pytest.approx(0, abs=1e-6)
    assert scaled.std().item() == pytest.approx(1)
    single = Batch({"advantages": torch.tensor([3.0])})
    assert with_normalised_advantages(single)["advantages"].tolist() == [3.0]


def test_explained_variance_is_one_for_the_truth_and_zero_for_a_constant():
    targets = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(targets, targets) == 1
    assert explained_variance(torch.zeros(3), targets) == pytest.approx(0)
    assert explained_variance(torch.zeros(3), torch.ones(3)) == 0


@pytest.mark.parametrize("steps", [LENGTH, LENGTH + 1, 2 * LENGTH - 1])
def test_a_learner_restored_after_a_cut_goes_on_bit_for_bit(kind, spaces, steps):
    first, second = build(kind, spaces, **EVERYTHING), build(kind, spaces, seed=7, **EVERYTHING)
    run(first, steps)
    first.cut()
    run(second, 3)
    second.load_state(unflatten(*flatten(first.state())))
    for learner in (first, second):
        run(learner, 2 * LENGTH, start=500)  # where rows are elsewhere
    before, after = flatten(first.state()), flatten(second.state())
    assert before[1] == after[1]
    assert all(before[0][name].tobytes() == after[0][name].tobytes() for name in before[0])


def test_what_comes_after_a_cut_changes_nothing_of_what_came_before_it(kind):
    advantages = []
    for reward in (0.0, 1000.0):
        learner = build(kind)
        run(learner, 2)
        learner.cut()
        for index in range(2, LENGTH):
            observe(learner, index, reward=torch.full((ROWS,), reward))
        steps = learner._collection.take().valued(learner.networks)
        advantages.append(gae(steps, gamma=0.9, gae_lambda=0.9).advantages[:2])
    assert torch.equal(*advantages)
