import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from gaelp.errors import BadInput, Refused
from gaelp.experience.prioritized import PrioritizedReplay
from gaelp.experience.replay import ReplayBuffer

GAMMA = 0.9


def replay_for(stream, capacity=1000, n_step=1, **settings):
    buffer = ReplayBuffer(stream.fields, capacity=capacity, envs=stream.envs, gamma=GAMMA, n_step=n_step)
    return PrioritizedReplay(buffer, **settings)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def filled(stream, rows=12, **settings):
    steps = stream(4, rows // 4)
    replay = replay_for(steps, **settings)
    for t in range(rows // 4):
        replay.add(steps.step(t))
    return replay


def frequencies(replay, draws=400, rows=50, seed=1):
    rng = generator(seed)
    counts = sum(torch.bincount(replay.sample(rows, rng, 0.0)["indices"], minlength=replay.size) for _ in range(draws))
    return counts.numpy()


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_transitions_come_up_in_proportion_to_their_priority(stream, alpha):
    replay = filled(stream, alpha=alpha)
    errors = torch.linspace(0.1, 4.0, 12) * torch.tensor([1.0, -1.0]).repeat(6)
    replay.update_priorities(torch.arange(12), errors)
    priorities = errors.abs().double().numpy() ** alpha
    counts = frequencies(replay)
    assert chisquare(counts, counts.sum() * priorities / priorities.sum()).pvalue > 0.001
    if alpha:
        assert chisquare(counts).pvalue < 1e-6


def test_each_share_of_the_total_priority_gives_one_draw(stream):
    replay = filled(stream, alpha=1.0)
    for seed in range(20):
        assert sorted(replay.sample(12, generator(seed), 0.0)["indices"].tolist()) == list(range(12))


def test_a_new_transition_has_the_largest_priority_seen(stream):
    steps = stream(4, 4)
    replay = replay_for(steps, alpha=1.0)
    replay.add(steps.step(0))
    replay.update_priorities(torch.arange(4), torch.tensor([7.0, 0.5, 0.5, 0.5]))
    replay.update_priorities(torch.tensor([0]), torch.tensor([0.5]))
    replay.add(steps.step(1))
    share = frequencies(replay)[4:].sum() / 20_000
    assert share == pytest.approx(28 / 30, abs=0.01)


def test_an_overwritten_transition_leaves_its_priority_behind(stream):
    steps = stream(4, 4)
    replay = replay_for(steps, capacity=8, alpha=1.0)
    replay.add(steps.step(0))
    replay.add(steps.step(1))
    replay.update_priorities(torch.arange(8), torch.tensor([1.0] * 4 + [1e-9] * 4))
    replay.add(steps.step(2))
    assert set(replay.sample(100, generator(), 0.0)["actions"].remainder(1000).tolist()) == {2}
    replay.update_priorities(torch.arange(4), torch.full((4,), 1e-9))
    replay.add(steps.step(3))
    assert set(replay.sample(100, generator(), 0.0)["actions"].remainder(1000).tolist()) == {3}


@pytest.mark.parametrize(("progress", "beta"), [(0.0, 0.4), (0.5, 0.7), (1.0, 1.0)])
def test_weights_undo_the_bias_more_and_more(stream, progress, beta):
    replay = filled(stream, alpha=1.0, beta_start=0.4)
    errors = torch.linspace(0.5, 4.0, 12)
    replay.update_priorities(torch.arange(12), errors)
    sample = replay.sample(64, generator(), progress)
    probability = (errors / errors.sum())[sample["indices"]].double()
    expected = (12 * probability) ** -beta
    torch.testing.assert_close(sample["weights"].double(), expected / expected.max(), rtol=1e-5, atol=0)
    assert sample["weights"].dtype == torch.float32


def test_the_weighted_mean_of_a_full_correction_is_the_plain_mean(stream):
    replay = filled(stream, alpha=1.0)
    errors = torch.linspace(0.5, 4.0, 12)
    replay.update_priorities(torch.arange(12), errors)
    sample = replay.sample(50_000, generator(), 1.0)
    weights = sample["weights"].double()
    mean = float((weights * sample["indices"]).sum() / weights.sum())
    assert mean == pytest.approx(5.5, abs=0.02)


def test_replay_resumes_bit_for_bit_after_it_has_wrapped(stream, stored, same_state):
    steps = stream(4, 40)
    replay, resumed = (replay_for(steps, capacity=19, n_step=2) for _ in range(2))
    one, other = generator(1), generator(1)
    for t in range(20):
        replay.add(steps.step(t))
    replay.update_priorities(torch.arange(19), 5 * torch.rand(19, generator=generator(5)))
    resumed.load_state(stored(replay.state()))
    for t in range(20, 40):
        assert torch.equal(replay.add(steps.step(t)), resumed.add(steps.step(t)))
        samples = replay.sample(7, one, t / 40), resumed.sample(7, other, t / 40)
        assert all(torch.equal(samples[0][name], samples[1][name]) for name in samples[0].tensors)
        for part, sample in zip((replay, resumed), samples, strict=True):
            part.update_priorities(sample["indices"], sample["rewards"])
    same_state(replay.state(), resumed.state())


def test_an_error_that_is_not_finite_is_refused_by_its_place(stream):
    replay = filled(stream)
    before = replay.state()["leaves"]
    with pytest.raises(Refused, match=r"errors\[1\] is nan"):
        replay.update_priorities(torch.arange(3), torch.tensor([1.0, math.nan, 1.0]))
    assert torch.equal(replay.state()["leaves"], before)


def test_an_error_that_is_not_finite_can_be_skipped_and_counted(stream):
    replay = filled(stream, alpha=1.0, on_refused="skip")
    replay.update_priorities(torch.arange(3), torch.tensor([5.0, math.inf, 3.0]))
    assert replay.refused_errors == 1
    np.testing.assert_allclose(replay.state()["leaves"][:3], [5.0, 1.0, 3.0], rtol=1e-5)
    replay.update_priorities(torch.arange(1), torch.tensor([math.nan]))
    assert replay.refused_errors == 2


def test_cutting_gives_what_is_completed_a_priority(stream):
    steps = stream(4, 6, ending=0.0)
    replay = replay_for(steps, n_step=3)
    replay.add(steps.step(0))
    assert replay.size == 0
    assert len(replay.cut()) == 4
    assert replay.sample(4, generator(), 0.0)["indices"].tolist() == [0, 1, 2, 3]


def test_what_cannot_work_is_refused(stream):
    steps = stream(4, 4)
    replay = replay_for(steps)
    with pytest.raises(BadInput, match="empty"):
        replay.sample(1, generator(), 0.0)
    replay.add(steps.step(0))
    with pytest.raises(BadInput, match=r"progress=1\.5"):
        replay.sample(1, generator(), 1.5)
    with pytest.raises(BadInput, match="below 4"):
        replay.update_priorities(torch.tensor([4]), torch.ones(1))
    with pytest.raises(BadInput, match="one shape"):
        replay.update_priorities(torch.tensor([1, 2]), torch.ones(1))
    with pytest.raises(BadInput, match=r"alpha=1\.5"):
        replay_for(steps, alpha=1.5)
    with pytest.raises(BadInput, match=r"saved alpha is 0\.6, here it is 0\.5"):
        replay_for(steps, alpha=0.5).load_state(replay.state())
    buffer = ReplayBuffer(steps.fields, capacity=8, envs=4, gamma=GAMMA)
    buffer.add(steps.step(0))
    with pytest.raises(BadInput, match="4 transitions without priority"):
        PrioritizedReplay(buffer)
