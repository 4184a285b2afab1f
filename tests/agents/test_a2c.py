import math

import numpy as np
import pytest
import torch

from gaelp.agents.a2c import A2cConfig, a2c_loss, build_a2c
from gaelp.agents.actor_critic import Predicted
from gaelp.agents.learner import DiscreteActions, Spaces
from gaelp.agents.networks import NetworkSpec
from gaelp.agents.value_figures import explained_variance
from gaelp.errors import BadInput
from gaelp.experience.collect import Step
from gaelp.experience.returns import Steps, gae, n_step_returns
from gaelp.experience.transitions import Batch

ROWS, SIZE, LENGTH = 4, 3, 8
SPACES = Spaces(SIZE, DiscreteActions(2), ROWS)
SMALL = {"network": NetworkSpec(hidden=(16,)), "steps_per_update": LENGTH}


@pytest.mark.parametrize("entropy_weight", [0.0, 0.03])
def test_the_loss_is_the_one_computed_by_hand_in_double_precision(entropy_weight):
    rng = np.random.default_rng(0)
    log_probs, values, entropies, advantages, targets = rng.normal(size=(5, 50))
    policy_loss = -math.fsum(advantages * log_probs) / 50
    value_loss = math.fsum((values - targets) ** 2) / 50
    entropy = math.fsum(entropies) / 50
    single = [torch.tensor(array, dtype=torch.float32) for array in (log_probs, values, entropies)]
    rows = Batch({name: torch.tensor(x).float() for name, x in (("advantages", advantages), ("targets", targets))})
    actual = a2c_loss(Predicted(*single), rows, value_weight=0.4, entropy_weight=entropy_weight)
    expected = (policy_loss + 0.4 * value_loss - entropy_weight * entropy, policy_loss, value_loss, entropy)
    np.testing.assert_allclose([figure.item() for figure in actual], expected, rtol=1e-6, atol=1e-6)


def collect(learner):
    rng = torch.Generator().manual_seed(3)
    obs = torch.randn(ROWS, SIZE, generator=rng)
    for _ in range(LENGTH):
        action, led_to = learner.act(obs, explore=True), torch.randn(ROWS, SIZE, generator=rng)
        flags = torch.zeros(2, ROWS, dtype=torch.bool)
        learner.observe(Step(obs, action, torch.randn(ROWS, generator=rng), led_to, *flags, ()))
        obs = led_to
    kept = learner.state()["collection"]
    values = learner.networks.all_values(torch.cat([kept["steps"]["obs"], kept["next_obs"].unsqueeze(0)]))
    never = torch.zeros(LENGTH, ROWS, dtype=torch.bool)
    return Steps(kept["steps"]["rewards"], values[:-1], values[1:], never, never)


def test_there_is_one_gradient_step_a_collection():
    learner = build_a2c(SPACES, A2cConfig(**SMALL), seed=0)
    for _ in range(3):
        collect(learner)
        assert learner.update(0.0).gradient_steps == 1


@pytest.mark.parametrize("pieces", [2, 5, ROWS * LENGTH])
def test_pieces_make_the_same_step_from_fewer_rows_at_once(pieces):
    whole, cut = (build_a2c(SPACES, A2cConfig(**SMALL, pieces=number), seed=0) for number in (1, pieces))
    seen, predict = [], cut.networks.predict
    cut.networks.predict = lambda obs, actions: seen.append(len(obs)) or predict(obs, actions)
    collect(whole), collect(cut)
    wanted, actual = whole.update(0.0), cut.update(0.0)
    assert max(seen) == math.ceil(ROWS * LENGTH / pieces)
    assert sum(seen) == ROWS * LENGTH
    assert actual.gradient_steps == 1
    assert actual.metrics == pytest.approx(wanted.metrics, rel=1e-4, abs=1e-6)
    ours, theirs = (learner.state()["parameters"] for learner in (cut, whole))
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-6) for name in theirs)


def test_more_pieces_than_rows_are_refused():
    with pytest.raises(BadInput, match=r"pieces=33 cannot share the 32 rows"):
        build_a2c(SPACES, A2cConfig(**SMALL, pieces=33), seed=0)


@pytest.mark.parametrize("n_step", [None, 1, 3])
def test_targets_sum_as_many_rewards_as_asked_for(n_step):
    learner = build_a2c(SPACES, A2cConfig(**SMALL, n_step=n_step, gae_lambda=0.8), seed=0)
    steps = collect(learner)
    if n_step:
        targets = n_step_returns(steps, gamma=0.99, n_step=n_step)
    else:
        targets = gae(steps, gamma=0.99, gae_lambda=0.8).targets
    metrics = learner.update(0.0).metrics
    assert metrics["explained_variance"] == pytest.approx(explained_variance(steps.values, targets), abs=1e-5)
    assert metrics["value_loss"] == pytest.approx((steps.values - targets).square().mean().item(), rel=1e-5)
