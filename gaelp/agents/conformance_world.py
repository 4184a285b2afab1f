"""A small world for conformance checks, the same for the same actions, and states taken apart to be compared."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from gaelp.agents.learner import Learner, Spaces, Update
from gaelp.experience.collect import Step

__all__ = ["OBSERVATION_SIZE", "ROWS", "ConformanceWorld", "differing", "leaves_of"]

OBSERVATION_SIZE, ROWS = 3, 4
_STEPS_MAX = 1_000
_ENDS = 0.05  # the chance that a row's episode terminates in a step, and as much that it is truncated


class ConformanceWorld:
    """Observations are drawn; the reward is for a first number, or choice, near the first observation."""

    def __init__(self, spaces: Spaces) -> None:
        self._rows, self._size = spaces.rows, spaces.observation_size
        self._time = 0
        self.obs = self._drawn(0)

    def copy(self) -> "ConformanceWorld":
        """One that goes on the same."""
        return copy.copy(self)

    def reset(self) -> None:
        """Begin new episodes in all rows."""
        self._time += 1
        self.obs = self._drawn(1)

    def step(self, learner: Learner, *, truncated: bool | None = None) -> Step:
        """What the learner's next actions lead to; with `truncated`, whether all rows end by it and none otherwise."""
        action = learner.act(self.obs, explore=True)
        self._time += 1
        led_to, ends = self._drawn(0), torch.rand(2, self._rows, generator=self._generator(2)) < _ENDS
        if truncated is not None:
            ends = torch.tensor([False, truncated]).unsqueeze(1).expand(2, self._rows).clone()
        reward = -(self.obs[:, 0] - action.float().reshape(self._rows, -1)[:, 0]).abs()
        step = Step(self.obs, action, reward, led_to, ends[0], ends[1] & ~ends[0], ())
        self.obs = torch.where(ends.any(0).unsqueeze(1), self._drawn(1), led_to)
        return step

    def run(self, learner: Learner, steps: int, *, truncated: bool | None = None) -> Step:
        """Step, observe and update, but not after the last step, which is returned; `truncated` is for that alone."""
        for _ in range(steps - 1):
            learner.observe(self.step(learner))
            learner.update(0.5)
        last = self.step(learner, truncated=truncated)
        learner.observe(last)
        return last

    def until_learnt(
        self,
        learner: Learner,
        updates: int,
        *,
        progress: float = 0.5,
        before_update: Callable[[], None] = lambda: None,
    ) -> list[Update]:
        """Go on until so many updates were made; AssertionError if that takes too long."""
        made: list[Update] = []
        for _ in range(_STEPS_MAX):
            before_update()
            if update := learner.update(progress):
                made.append(update)
            if len(made) == updates:
                return made
            learner.observe(self.step(learner))
        raise AssertionError(
            f"{len(made)} of {updates} updates were made in {_STEPS_MAX} steps of {self._rows} rows:"
            " give a config that learns sooner"
        )

    def _drawn(self, stream: int) -> Tensor:
        return torch.randn(self._rows, self._size, generator=self._generator(stream))

    def _generator(self, stream: int) -> torch.Generator:
        return torch.Generator().manual_seed(3 * self._time + stream)


def leaves_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a state holds, by path; tensors as copies. AssertionError if a key is not text."""
    return dict(_walk(state, ""))


def _walk(node: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if not isinstance(key, str):
            raise AssertionError(f"a key below {above or 'the state'} is {key!r}: keys are text")  # noqa: TRY004 - a check that fails
        path = f"{above}/{key}"
        if isinstance(value, dict):
            yield from _walk(value, path)
        else:
            yield path, value.detach().clone() if isinstance(value, Tensor) and not value.requires_grad else value


def differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """The paths where two states are not the same to the bit."""
    alone = first.keys() ^ second.keys()
    return sorted(alone | {path for path in first.keys() & second.keys() if not _same(first[path], second[path])})


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return one.contiguous().numpy().tobytes() == other.contiguous().numpy().tobytes()
    return type(one) is type(other) and repr(one) == repr(other)
