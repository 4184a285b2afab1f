import hashlib
import math

import pytest
import torch

from gaelp.agents.dqn import DqnConfig, build_dqn
from gaelp.agents.learner import BoxActions, DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.qr_dqn import QrDqnConfig, build_qr_dqn
from gaelp.agents.replay_config import Priorities
from gaelp.agents.schedules import ConstantSchedule, LinearSchedule
from gaelp.errors import BadInput, Refused
from gaelp.experience.collect import Collector, Step, open_env
from gaelp.training.state_tree import flatten, unflatten

ROWS, SIZE, ACTIONS = 4, 3, 3
SPACES = Spaces(SIZE, DiscreteActions(ACTIONS), ROWS)
SMALL = {
    "network": NetworkSpec(hidden=(16, 16)),
    "batch_size": 16,
    "replay_capacity": 200,
    "learning_starts": 20,
    "train_every": 2,
    "gradient_steps": 3,
    "epsilon": LinearSchedule(start=1.0, end=0.1),
}
EVERYTHING = {
    "double": True,
    "dueling": True,
    "priorities": Priorities(),
    "n_step": 4,
    "normalise_obs": True,
    "scale_rewards": True,
    "reward_range": (-50.0, 50.0),
    "on_refused": "skip",
}
ALGORITHMS = {"dqn": (build_dqn, DqnConfig, {}), "qr_dqn": (build_qr_dqn, QrDqnConfig, {"quantiles": 5})}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=ALGORITHMS)
def algorithm(request):
    return request.param


def build(algorithm, *, seed=0, spaces=SPACES, **changes):
    make, config, own = ALGORITHMS[algorithm]
    return make(spaces, config(**(SMALL | own | changes)), seed=seed)


def step_of(index, action, **changes):
    """A step that depends on nothing but its index; episodes end now and then."""
    generator = torch.Generator().manual_seed(1000 + index)
    obs, next_obs = torch.randn(2, ROWS, SIZE, generator=generator)
    draws = torch.rand(2, ROWS, generator=generator)
    given = {
        "obs": obs,
        "action": action,
        "reward": obs[:, 0] + action.float(),
        "next_obs": next_obs,
        "terminated": draws[0] < 0.1,
        "truncated": draws[1] < 0.05,
        "finished_returns": (),
    }
    return Step(**(given | changes))


def observe(learner, index, **changes):
    obs = step_of(index, torch.zeros(ROWS, dtype=torch.int64)).obs
    learner.observe(step_of(index, learner.act(obs, explore=True), **changes))


def run(learner, start, end, **changes):
    """Collect and learn; the reports of the updates made."""
    reports = []
    for index in range(start, end):
        observe(learner, index, **changes)
        reports.append(learner.update(index / 100))
    return [report for report in reports if report]


def fingerprint(state):
    arrays, skeleton = flatten(state)
    digest = hashlib.sha256(skeleton.encode())
    for name in sorted(arrays):
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()


def parameters(learner):
    return torch.cat([parameter.detach().flatten() for parameter in learner.online.parameters()])


# Determinism and resume


def test_numbers_instead_of_choices_are_refused(algorithm):
    with pytest.raises(BadInput, match=rf"{algorithm} .*BoxActions\(size=2\).*sac or td3.*DiscreteActions"):
        build(algorithm, spaces=Spaces(SIZE, BoxActions(2), ROWS))


@pytest.mark.parametrize("changes", [{}, EVERYTHING], ids=["plain", "everything"])
def test_the_seed_alone_decides_the_parameters(algorithm, changes):
    hashes = []
    for seed, noise in ((3, 1), (3, 2), (4, 1)):
        torch.manual_seed(noise)
        learner = build(algorithm, seed=seed, **changes)
        run(learner, 0, 20)
        hashes.append(fingerprint(learner.state()["online"]))
    assert hashes[0] == hashes[1]
    assert hashes[0] != hashes[2]


@pytest.mark.parametrize("changes", [{}, EVERYTHING, {"n_step": 3, "target_every": 7, "target_rate": 1.0}])
@pytest.mark.parametrize("saved_at", [2, 27])
def test_a_restored_learner_goes_on_bit_for_bit(algorithm, changes, saved_at):
    whole = build(algorithm, **changes)
    run(whole, 0, saved_at)
    stored = unflatten(*flatten(whole.state()))
    run(whole, saved_at, 40)
    restored = build(algorithm, seed=99, **changes)
    restored.load_state(stored)
    run(restored, saved_at, 40)
    assert fingerprint(restored.state()) == fingerprint(whole.state())
    obs = torch.randn(50, SIZE)
    assert torch.equal(restored.act(obs, explore=True), whole.act(obs, explore=True))


def test_a_saved_state_is_a_copy(algorithm):
    learner = build(algorithm, **EVERYTHING)
    run(learner, 0, 40)
    state = learner.state()
    before = fingerprint(state)
    run(learner, 40, 60)
    assert fingerprint(state) == before
    learner.load_state(state)
    run(learner, 40, 60)
    assert fingerprint(state) == before


def test_a_state_is_restored_under_another_learning_rate(algorithm):
    learner = build(algorithm)
    run(learner, 0, 40)
    slower = build(algorithm, learning_rate=ConstantSchedule(start=1e-5))
    slower.load_state(learner.state())
    assert run(slower, 40, 42)[-1].metrics["learning_rate"] == 1e-5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": NetworkSpec(hidden=(8, 8))}, "load into an object built alike"),
        ({"dueling": True}, "has no"),
        ({"priorities": Priorities()}, "has no"),
        ({"normalise_obs": True}, "wanted is .*normaliser"),
        ({"n_step": 2}, "n_step"),
    ],
)
def test_a_state_of_other_settings_is_refused(algorithm, changes, message):
    learner = build(algorithm, n_step=1)
    run(learner, 0, 40)
    with pytest.raises(BadInput, match=message):
        build(algorithm, **({"n_step": 1} | changes)).load_state(learner.state())


def test_a_state_of_the_other_algorithm_is_refused():
    with pytest.raises(BadInput, match="is of 'dqn', this learner is 'qr_dqn'"):
        build("qr_dqn").load_state(build("dqn").state())


# Guardrails


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["obs", "reward", "next_obs"])
def test_a_step_that_is_not_finite_is_refused_with_row_and_value_and_leaves_no_trace(algorithm, name, value):
    learner = build(algorithm, **EVERYTHING)
    run(learner, 0, 21)
    before = fingerprint(learner.state())
    step = step_of(21, torch.zeros(ROWS, dtype=torch.int64))
    getattr(step, name)[2] = value
    with pytest.raises(BadInput, match=rf"{name} of row 2 is {value} .*finite"):
        learner.observe(step)
    assert fingerprint(learner.state()) == before


def test_a_loss_that_is_not_finite_is_skipped_and_counted(algorithm):
    learner = build(algorithm, n_step=1)
    run(learner, 0, 10)
    before = fingerprint({name: learner.state()[name] for name in ("online", "target", "optimizer")})
    learner._memory.waiting = 0
    for index in range(10, 70):
        observe(learner, index, reward=torch.full((ROWS,), 3e38))
    report = learner.update(0.5)
    assert report.gradient_steps == 0
    assert report.skipped == {"loss": 60 // 2 * 3, "gradient": 0}
    assert "loss" not in report.metrics
    assert fingerprint({name: learner.state()[name] for name in ("online", "target", "optimizer")}) == before


def test_minibatches_beside_a_skipped_one_are_learnt_from(algorithm):
    learner = build(algorithm, n_step=1)
    observe(learner, 0, reward=torch.tensor([3e38, 0.0, 0.0, 0.0]), terminated=torch.ones(ROWS, dtype=torch.bool))
    reports = run(learner, 1, 60)
    skipped, made = (
        sum(report.skipped["loss"] + report.skipped["gradient"] for report in reports),
        sum(report.gradient_steps for report in reports),
    )
    assert skipped + made == len(reports) * 3
    assert made > 0
    assert bool(parameters(learner).isfinite().all())


def test_a_gradient_that_is_not_finite_is_skipped_and_counted(algorithm):
    learner = build(algorithm)
    run(learner, 0, 10)
    before = learner.state()
    hook = next(iter(learner.online.parameters())).register_hook(lambda gradient: gradient * math.nan)
    reports = run(learner, 10, 20)
    assert sum(report.skipped["gradient"] for report in reports) == 10 // 2 * 3
    assert sum(report.gradient_steps + report.skipped["loss"] for report in reports) == 0
    after = learner.state()
    for part in ("online", "target", "optimizer"):
        assert fingerprint(after[part]) == fingerprint(before[part])
    hook.remove()
    assert run(learner, 20, 24)[-1].gradient_steps == 3


def test_the_gradient_is_clipped_and_its_norm_reported(algorithm):
    learner = build(algorithm, max_gradient_norm=1e-3, gradient_steps=1)
    [report] = run(learner, 0, 20)[:1]
    assert report.metrics["gradient_norm"] > 1e-3
    assert report.metrics["clip_fraction"] == 1.0
    learner = build(algorithm, max_gradient_norm=1e-3, gradient_steps=1)
    index = 0
    while not learner.state()["optimizer"]:
        run(learner, index, index + 1)
        index += 1
    first = [value for name, value in learner.state()["optimizer"].items() if name.endswith("exp_avg")]
    # After one step Adam's first moment is a tenth of the gradient it was given.
    norm = 10 * torch.cat([value.flatten() for value in first]).norm().item()
    assert norm == pytest.approx(1e-3, rel=1e-2)


def test_a_reward_outside_the_declared_range_stops_training_or_is_left_out_and_counted(algorithm):
    outlier = torch.tensor([0.0, 7.0, 0.0, 0.0])
    strict = build(algorithm, reward_range=(-1.0, 1.0))
    with pytest.raises(Refused, match=r"rewards\[1\] is 7.0, allowed is -1.0..1.0"):
        observe(strict, 0, reward=outlier)
    lenient, tame = (
        build(algorithm, reward_range=(-1.0, 1.0), on_refused="skip", n_step=1, scale_rewards=True) for _ in range(2)
    )
    for index in range(10):
        observe(lenient, index, reward=outlier)
        observe(tame, index, reward=outlier.clamp(max=1.0))
    report = lenient.update(0.1)
    assert report.metrics["refused_steps"] == 10
    assert report.metrics["replay_size"] == 30
    assert fingerprint(lenient.state()["scaler"]) == fingerprint(tame.state()["scaler"])


def test_an_action_that_does_not_exist_is_refused(algorithm):
    with pytest.raises(Refused, match=r"actions\[0\] is 3"):
        build(algorithm).observe(step_of(0, torch.full((ROWS,), 3)))


def test_the_health_of_an_update_is_reported(algorithm):
    report = run(build(algorithm), 0, 30)[-1]
    assert report.gradient_steps == 3
    assert report.skipped == {"loss": 0, "gradient": 0}
    assert report.metrics.keys() == {
        "clip_fraction",
        "epsilon",
        "explained_variance",
        "gradient_norm",
        "gradient_norm_max",
        "learning_rate",
        "loss",
        "q_abs_max",
        "q_abs_mean",
        "refused_steps",
        "replay_size",
        "td_error_abs_mean",
    }
    assert all(math.isfinite(value) for value in report.metrics.values())
    assert report.metrics["gradient_norm_max"] >= report.metrics["gradient_norm"] > 0
    assert report.metrics["q_abs_max"] >= report.metrics["q_abs_mean"] > 0


# Acting


def test_the_best_action_has_the_highest_value_and_draws_nothing(algorithm):
    learner = build(algorithm, dueling=True)
    run(learner, 0, 30)
    before = fingerprint(learner.state())
    obs = torch.randn(200, SIZE)
    best = learner.act(obs, explore=False)
    assert torch.equal(best, learner.online(obs).mean(2).argmax(1))
    assert len(best.unique()) > 1
    assert fingerprint(learner.state()) == before


@pytest.mark.parametrize(("progress", "epsilon"), [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)])
def test_exploration_follows_the_schedule(algorithm, progress, epsilon):
    learner = build(algorithm, epsilon=LinearSchedule(start=1.0, end=0.0))
    learner.update(progress)
    obs = torch.randn(20_000, SIZE)
    other = (learner.act(obs, explore=True) != learner.act(obs, explore=False)).float().mean().item()
    assert other == pytest.approx(epsilon * (1 - 1 / ACTIONS), abs=0.015)


def test_observations_are_normalised_while_training_and_frozen_while_evaluating(algorithm):
    learner = build(algorithm, normalise_obs=True)
    inputs = []
    learner.online.register_forward_pre_hook(lambda _module, given: inputs.append(given[0]))
    for index in range(50):
        step = step_of(index, torch.zeros(ROWS, dtype=torch.int64))
        learner.observe(step._replace(obs=500 + 20 * step.obs, next_obs=500 + 20 * step.next_obs))
    before = fingerprint(learner.state())
    learner.act(500 + 20 * torch.randn(4000, SIZE), explore=False)
    assert fingerprint(learner.state()) == before
    assert inputs[-1].mean().item() == pytest.approx(0, abs=0.2)
    assert inputs[-1].std().item() == pytest.approx(1, abs=0.2)
    inputs.clear()
    learner.update(0.5)
    assert len(inputs) >= 3
    assert all(obs.abs().max() < 10 for obs in inputs)


def test_scaled_rewards_make_the_unit_of_reward_irrelevant(algorithm):
    learnt = []
    for unit in (1.0, 1024.0):
        learner = build(algorithm, scale_rewards=True, epsilon=ConstantSchedule(start=1.0))
        for index in range(60):
            step = step_of(index, torch.randint(ACTIONS, (ROWS,), generator=torch.Generator().manual_seed(index)))
            learner.observe(step._replace(reward=unit * step.reward))
            learner.update(0.5)
        learnt.append(parameters(learner))
    torch.testing.assert_close(learnt[0], learnt[1], rtol=0, atol=1e-4)


# Learning


def test_gradient_steps_are_made_every_so_many_steps_once_replay_suffices(algorithm):
    learner = build(algorithm, n_step=1, learning_starts=20, train_every=3, gradient_steps=2)
    made = []
    for index in range(14):
        observe(learner, index)
        report = learner.update(0.0)
        made.append(report.gradient_steps if report else 0)
    # Four rows fill 20 places with the fifth step, which is the first that counts.
    assert made == [0] * 6 + [2, 0, 0, 2, 0, 0, 2, 0]


def test_steps_that_came_in_without_an_update_are_made_up_for(algorithm):
    learner = build(algorithm, n_step=1, learning_starts=20, train_every=3, gradient_steps=2)
    for index in range(12):
        observe(learner, index)
    assert learner.update(0.0).gradient_steps == 8 // 3 * 2
    assert learner.update(0.0) is None
    observe(learner, 12)
    assert learner.update(0.0).gradient_steps == 2


def test_a_hard_target_is_copied_every_so_many_gradient_steps(algorithm):
    learner = build(algorithm, gradient_steps=1, train_every=1, target_every=3, target_rate=1.0)
    first, followed = learner.state()["target"], []
    for index in range(20):
        if run(learner, index, index + 1):
            state = learner.state()
            followed.append(fingerprint(state["target"]) == fingerprint(state["online"]))
            if len(followed) < 3:
                assert fingerprint(state["target"]) == fingerprint(first)
    assert followed[:9] == [False, False, True] * 3


def test_a_soft_target_goes_part_of_the_way_with_every_gradient_step(algorithm):
    learner = build(algorithm, gradient_steps=1, train_every=1, target_every=1, target_rate=0.25)
    run(learner, 0, 8)
    before = learner.state()["target"]
    run(learner, 8, 9)
    state = learner.state()
    for name, target in state["target"].items():
        torch.testing.assert_close(target, 0.75 * before[name] + 0.25 * state["online"][name], rtol=0, atol=1e-7)


def test_the_learning_rate_follows_its_schedule(algorithm):
    moved = {}
    for rate in (1e-3, 1e-6):
        learner = build(algorithm, learning_rate=LinearSchedule(start=1.0, end=rate))
        for index in range(10):
            observe(learner, index)
        before = parameters(learner)
        report = learner.update(1.0)
        assert report.metrics["learning_rate"] == rate
        # A parameter whose gradient keeps its sign goes one learning rate a step under Adam.
        moved[rate] = (parameters(learner) - before).abs().max().item() / report.gradient_steps
    assert moved == {rate: pytest.approx(rate, rel=0.2) for rate in moved}


def test_rows_the_learner_was_wrong_about_are_drawn_more_often(algorithm):
    learner = build(algorithm, priorities=Priorities(alpha=1.0), n_step=1, train_every=100)
    never = torch.ones(ROWS, dtype=torch.bool)
    for index in range(25):
        observe(
            learner, index, reward=torch.tensor([30.0, 0.0, 0.0, 0.0]), terminated=never, obs=torch.zeros(ROWS, SIZE)
        )
    learner._memory.waiting = 2000
    learner.update(0.0)
    batch = learner._memory.replay.sample(1000, torch.Generator().manual_seed(0), 0.0)
    assert (batch["rewards"] == 30).float().mean() > 0.5
    assert batch["weights"].min() < 1


def test_importance_weights_enter_the_loss(algorithm):
    losses = []
    for beta in (0.0, 1.0):
        learner = build(algorithm, priorities=Priorities(alpha=1.0, beta_start=beta), n_step=1, gradient_steps=1)
        for index in range(30):
            observe(learner, index)
        leaves = torch.rand(120, generator=torch.Generator().manual_seed(0))
        learner._memory.replay.update_priorities(torch.arange(120), leaves)
        learner._memory.waiting = 2
        losses.append(learner.update(0.0).metrics["loss"])
    assert losses[1] < 0.9 * losses[0]


def test_an_n_step_target_sums_rewards_and_stops_at_the_end_of_an_episode(algorithm):
    learner = build(algorithm, n_step=3, gamma=0.5)
    over = torch.zeros(ROWS, dtype=torch.bool)
    for index in range(5):
        ended = over.clone().fill_(index == 4)
        observe(learner, index, reward=torch.full((ROWS,), 2.0**index), terminated=ended, truncated=over)
    stored = learner.state()["replay"]
    assert stored["stored.rewards"][::ROWS].tolist() == [3.0, 6.0, 12.0, 16.0, 16.0]
    assert stored["stored.discounts"][::ROWS].tolist() == [0.125, 0.125, 0.0, 0.0, 0.0]


def test_a_truncated_episode_is_bootstrapped_from_its_last_observation_and_a_terminated_one_is_not(algorithm):
    learner = build(algorithm, n_step=1, gamma=0.5)
    flags = torch.tensor([[True, False, False, True], [False, True, False, True]])
    observe(learner, 0, terminated=flags[0], truncated=flags[1])
    assert learner.state()["replay"]["stored.discounts"].tolist() == [0.0, 0.5, 0.5, 0.0]


def test_the_same_learner_runs_in_a_real_environment(algorithm):
    env = open_env("CartPole-v1", 4)
    collector = Collector(env, seed=0)
    learner = build(algorithm, spaces=Spaces(4, DiscreteActions(2), 4))
    made = 0
    for index in range(60):
        learner.observe(collector.step(lambda obs: learner.act(obs, explore=True)))
        report = learner.update(index / 60)
        made += report.gradient_steps if report else 0
    env.close()
    assert made > 60


def test_a_cut_completes_what_waits_and_ends_the_running_sum_of_rewards(algorithm):
    learner = build(algorithm, n_step=4, scale_rewards=True)
    nothing = torch.zeros(ROWS, dtype=torch.bool)
    for index in range(3):
        observe(learner, index, terminated=nothing, truncated=nothing)
    assert learner.state()["replay"]["size"] == 0
    learner.cut()
    state = learner.state()
    assert state["replay"]["size"] == 3 * ROWS
    assert not state["scaler"]["running"].any()
    last = step_of(2, torch.zeros(ROWS, dtype=torch.int64)).next_obs
    assert torch.equal(state["replay"]["stored.next_obs"], last.repeat(3, 1))


@pytest.mark.parametrize("settings", [{}, EVERYTHING], ids=["plain", "everything"])
def test_a_learner_restored_after_a_cut_goes_on_bit_for_bit(algorithm, settings):
    first, second = build(algorithm, **settings), build(algorithm, seed=5, **settings)
    run(first, 0, 12)
    first.cut()
    second.load_state(unflatten(*flatten(first.state())))
    for learner in (first, second):
        run(learner, 30, 40)
        learner.cut()
    before, after = flatten(first.state()), flatten(second.state())
    assert before[1] == after[1]
    assert all(before[0][key].tobytes() == after[0][key].tobytes() for key in before[0])
