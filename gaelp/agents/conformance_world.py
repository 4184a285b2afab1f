"""A small deterministic world for conformance checks, and the comparison of saved states."""

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
_ENDS = 0.05  # chance of a row's episode to terminate in a step, and the same again to be truncated


class ConformanceWorld:
    """Observations are drawn; the reward is for a first number, or choice, near the first observation."""

    def __init__(self, spaces: Spaces) -> None:
        self._rows, self._size = spaces.rows, spaces.observation_size
        self._time = 0
        self.obs = self._drawn(0)

    def copy(self) -> "ConformanceWorld":
        """A world that continues in the same way."""
        return copy.copy(self)

    def reset(self) -> None:
        """Start new episodes in all rows."""
        self._time += 1
        self.obs = self._drawn(1)

    def step(self, learner: Learner, *, truncated: bool | None = None) -> Step:
        """Let the learner act once; `truncated` ends all episodes (True) or none (False) instead of some at random."""
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
        """Step, observe and update, except after the last step, which is returned; `truncated` applies to that step."""
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
        """Step until this many updates were made; AssertionError if that takes too many steps."""
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
    """The values of a state by path, tensors as copies; AssertionError if a key is not text."""
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
    """The paths at which two states differ, to the bit."""
    alone = first.keys() ^ second.keys()
    return sorted(alone | {path for path in first.keys() & second.keys() if not _same(first[path], second[path])})


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        if first.dtype != second.dtype or first.shape != second.shape:
            return False
        return first.contiguous().numpy().tobytes() == second.contiguous().numpy().tobytes()
    return type(first) is type(second) and repr(first) == repr(second)
