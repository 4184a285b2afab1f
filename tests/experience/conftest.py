"""Streams of steps whose numbers tell where they come from, and the n-step transitions they must become."""

import json

import pytest
import torch
from safetensors import torch as safetensors

from gaelp.experience.value_guard import FieldSpec

GAMMA = 0.9


class Stream:
    """Steps of N environments; an observation is (environment, time), and episodes end at random for both reasons."""

    def __init__(self, envs, length, *, seed=0, segments=(), ending=0.25):
        rng = torch.Generator().manual_seed(seed)
        self.envs, self.length = envs, length
        self.rewards = torch.rand(length, envs, *segments, generator=rng)
        self.ended = torch.rand(length, envs, generator=rng) < ending
        self.terminated = self.ended & (torch.rand(length, envs, generator=rng) < 0.5)
        self.fields = {
            "obs": FieldSpec((2,)),
            "actions": FieldSpec(dtype=torch.int64),
            "rewards": FieldSpec(segments, value_low=0.0, value_high=1.0),
        }

    def step(self, t):
        env = torch.arange(self.envs)
        return {
            "obs": torch.stack([env, torch.full_like(env, t)], 1).float(),
            "actions": env * 1000 + t,
            "rewards": self.rewards[t].clone(),
            "next_obs": torch.stack([env, torch.full_like(env, t)], 1) + 0.5,
            "ended": self.ended[t].clone(),
            "terminated": self.terminated[t].clone(),
        }

    def expected(self, n_step, refused=(), length=None):
        """Each completed transition by hand: (env, first step) -> (rewards, last step, discount)."""
        transitions = {}
        for env in range(self.envs):
            bad = {t for t, e in refused if e == env}
            for start in range(length or self.length):
                if start in bad:
                    continue
                summed = list(self._summed(env, start, n_step, bad, length or self.length))
                last, complete = summed[-1]
                if complete:
                    steps = last - start + 1
                    rewards = sum(GAMMA**k * self.rewards[start + k, env].double() for k in range(steps))
                    future = 0.0 if self.terminated[last, env] else GAMMA**steps
                    transitions[env, start] = (rewards, last, future)
        return transitions

    def _summed(self, env, start, n_step, bad, length):
        """The steps of one transition, each with whether it completes it."""
        for t in range(start, min(start + n_step, length)):
            cut = t + 1 in bad and t + 1 < length
            yield t, bool(self.ended[t, env]) or t - start + 1 == n_step or cut
            if self.ended[t, env] or cut:
                return


def check_rows(rows, stream, expected):
    """Rows are exactly the expected transitions, each once."""
    places = {(int(env), int(t)): index for index, (env, t) in enumerate(rows["obs"].tolist())}
    assert len(places) == len(rows["obs"])
    assert places.keys() == expected.keys()
    for (env, start), (rewards, last, discount) in expected.items():
        index = places[env, start]
        assert int(rows["actions"][index]) == env * 1000 + start
        assert rows["next_obs"][index].tolist() == [env + 0.5, last + 0.5]
        torch.testing.assert_close(rows["rewards"][index].double(), torch.as_tensor(rewards), rtol=1e-6, atol=0)
        assert abs(float(rows["discounts"][index]) - discount) < 1e-7


@pytest.fixture(scope="session")
def stream():
    """Builds a Stream."""
    return Stream


@pytest.fixture(scope="session")
def check():
    """Compares completed rows with those computed by hand."""
    return check_rows


@pytest.fixture(scope="session")
def same_state():
    """Whether two states are equal bit for bit."""

    def same(one, other):
        assert one.keys() == other.keys()
        for name, value in one.items():
            if isinstance(value, torch.Tensor):
                assert value.dtype == other[name].dtype, name
                assert torch.equal(value, other[name]), name
            else:
                assert (type(value), value) == (type(other[name]), other[name]), name

    return same


@pytest.fixture(scope="session")
def stored():
    """Passes a state through what a checkpoint without pickle can hold: safetensors, and JSON for the rest."""

    def through(state):
        assert all(type(value) in (torch.Tensor, int, float, str) for value in state.values())
        tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
        others = {name: value for name, value in state.items() if name not in tensors}
        return safetensors.load(safetensors.save(tensors)) | json.loads(json.dumps(others))

    return through
