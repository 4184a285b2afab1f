"""Act with the present policy and keep the last T steps of all rows, time-major, until they are learned from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gaelp.agents.actor_critic import ActorCritic
from gaelp.agents.learner import BoxActions, Spaces
from gaelp.errors import BadInput
from gaelp.experience.collect import NOTHING_DRAWN, Step, refuse_not_finite, refuse_other_step
from gaelp.experience.normalise import ObservationNormaliser, RewardScaler
from gaelp.experience.returns import Credit, Steps, values_after
from gaelp.experience.saved import integer_of, tensor_of
from gaelp.experience.transitions import Batch

__all__ = ["Collected", "Collection"]


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """T steps of N rows. Their memory is reused when the next step is observed.

    obs         (T + 1, N, size)  as given to the policy; the last ones follow the last step
    actions     (T, N) or (T, N, size), as drawn, before they were limited to -1..1
    log_probs   (T, N)  of the actions when they were drawn
    rewards     (T, N)  scaled, if so configured
    ended       (T, N)  bool
    terminated  (T, N)  bool
    cut_places  (K,)    places in T * N where an episode was truncated
    cut_obs     (K, size)  the last observations of those episodes
    """

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    rewards: Tensor
    ended: Tensor
    terminated: Tensor
    cut_places: Tensor
    cut_obs: Tensor

    def valued(self, networks: ActorCritic) -> Steps:
        """The steps with the critic's present values; each observation is valued once."""
        values = networks.all_values(self.obs)
        final = torch.zeros_like(self.rewards)
        if len(self.cut_places):
            final.view(-1)[self.cut_places] = networks.all_values(self.cut_obs)
        after = values_after(values[:-1], values[-1], ended=self.ended, final_values=final)
        return Steps(self.rewards, values[:-1], after, self.ended, self.terminated)

    def rows(self, steps: Steps, credit: Credit) -> Batch:
        """All steps as rows to learn from, in memory order."""
        collected = {
            "obs": self.obs[:-1],
            "actions": self.actions,
            "log_probs": self.log_probs,
            "values": steps.values,
            "advantages": credit.advantages,
            "targets": credit.targets,
        }
        return Batch(collected).flatten()


class _Drawn(NamedTuple):
    """What was drawn for each row, and the action as it was returned."""

    obs: Tensor
    action: Tensor
    log_prob: Tensor
    given: Tensor


class Collection:
    """Draws actions and keeps the steps they led to until there are T."""

    def __init__(
        self,
        spaces: Spaces,
        networks: ActorCritic,
        *,
        length: int,
        gamma: float,
        normalise_obs: bool,
        scale_rewards: bool,
        generator: torch.Generator,
    ) -> None:
        size, rows = spaces.observation_size, spaces.rows
        self._networks, self._generator, self._length = networks, generator, length
        self._box = isinstance(spaces.actions, BoxActions)
        action = (spaces.actions.size,) if isinstance(spaces.actions, BoxActions) else ()
        self._kept = {
            "obs": torch.zeros(length + 1, rows, size),  # the last place is for the observations after the last step
            "actions": torch.zeros(length, rows, *action, dtype=torch.float32 if self._box else torch.int64),
            "log_probs": torch.zeros(length, rows),
            "rewards": torch.zeros(length, rows),
            "ended": torch.zeros(length, rows, dtype=torch.bool),
            "terminated": torch.zeros(length, rows, dtype=torch.bool),
        }
        self._normaliser = ObservationNormaliser((size,)) if normalise_obs else None
        self._scaler = RewardScaler((rows,), gamma=gamma) if scale_rewards else None
        self._count = 0
        self._drawn: _Drawn | None = None
        self._next_obs = torch.zeros(rows, size)
        self._cut: list[tuple[Tensor, Tensor]] = []  # places in (T * N,) and last observations of truncated episodes

    @property
    def full(self) -> bool:
        """Whether T steps are collected."""
        return self._count == self._length

    @torch.no_grad()
    def act(self, obs: Tensor, *, explore: bool) -> Tensor:
        """Actions for observations (rows, size): drawn and remembered, or the likeliest ones."""
        scaled = self._scaled(obs)
        policy = self._networks.policy(scaled)
        action = policy.sample(self._generator) if explore else policy.mode()
        given = action.clamp(-1.0, 1.0) if self._box else action
        if explore:
            self._drawn = _Drawn(scaled, action, policy.log_prob(action), given)
        return given

    @property
    def normaliser(self) -> ObservationNormaliser | None:
        """The scale of observations, if they are scaled."""
        return self._normaliser

    def observe(self, step: Step) -> None:
        """Keep the step that the drawn actions led to; a step that cannot be used is refused and changes nothing.

        The tensors of a step belong to the learner from here on.
        """
        drawn = self._checked(step)
        if self._count and step.obs is not self._next_obs:
            self._end_where_rows_jumped(step.obs)
        at, kept = self._count, self._kept
        kept["obs"][at], kept["actions"][at], kept["log_probs"][at] = drawn[:3]
        kept["rewards"][at] = step.reward
        kept["terminated"][at] = step.terminated
        torch.logical_or(step.terminated, step.truncated, out=kept["ended"][at])
        if self._normaliser:
            self._normaliser.observe(step.obs)
        self._keep_last(at, step.next_obs, step.truncated & ~step.terminated)
        self._next_obs, self._drawn = step.next_obs, None
        self._count += 1

    def cut(self) -> None:
        """End open episodes, which are not continued: the last step of every row counts as truncated."""
        self._drawn = None
        if self._count:
            self._end(torch.ones_like(self._kept["ended"][0]))
        elif self._scaler:  # otherwise its sums end with the steps just marked
            self._scaler.cut()

    def take(self) -> Collected:
        """Everything collected; the next step starts a new collection."""
        if not self.full:
            raise BadInput(f"{self._count} of {self._length} steps are collected: wait until it is full")
        kept = self._kept
        kept["obs"][-1] = self._scaled(self._next_obs)
        rewards = kept["rewards"]
        if self._scaler:
            self._scaler.observe(rewards, kept["ended"])
            rewards = self._scaler(rewards)
        places, last = self._cut_short()
        self._count, self._cut = 0, []
        return Collected(**{**kept, "rewards": rewards, "cut_places": places, "cut_obs": last})

    def state(self) -> dict[str, Any]:
        """The steps so far, what was drawn last, and the scales."""
        places, last = self._cut_short()
        return {
            "steps": {name: tensor[: self._count].clone() for name, tensor in self._kept.items()},
            "next_obs": self._next_obs.clone(),
            "cut": {"places": places, "obs": last},
            "drawn": {name: value.clone() for name, value in self._drawn._asdict().items()} if self._drawn else {},
            **{name: part.state() for name, part in self._scales().items()},
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from `state`, which must come from a collection built alike."""
        count = integer_of({"count": len(state["steps"]["rewards"])}, "count", at_most=self._length)
        steps = {name: tensor_of(state["steps"], name, tensor[:count]) for name, tensor in self._kept.items()}
        next_obs = tensor_of(dict(state), "next_obs", self._next_obs).clone()
        for name, part in self._scales().items():
            part.load_state(state[name])
        for name, tensor in steps.items():
            self._kept[name][:count] = tensor
        self._count, self._next_obs = count, next_obs
        self._cut = [(state["cut"]["places"].clone(), state["cut"]["obs"].clone())]
        self._drawn = (
            _Drawn(**{name: value.clone() for name, value in state["drawn"].items()}) if state["drawn"] else None
        )

    def _scaled(self, obs: Tensor) -> Tensor:
        """Observations on the scale of the networks."""
        return self._normaliser(obs) if self._normaliser else obs

    def _scales(self) -> dict[str, ObservationNormaliser | RewardScaler]:
        optional = {"normaliser": self._normaliser, "scaler": self._scaler}
        return {name: part for name, part in optional.items() if part}

    def _checked(self, step: Step) -> _Drawn:
        """The actions that led to this step; BadInput if they did not, NotFinite if it is not finite."""
        if self.full:
            raise BadInput(f"{self._count} steps are collected, which is all that fit: call update first")
        if self._drawn is None:
            raise BadInput(NOTHING_DRAWN)
        refuse_other_step(step, self._drawn.given, self._next_obs.shape)
        for name in ("obs", "next_obs", "reward"):
            if getattr(step, name) is not self._next_obs:  # which was checked one step ago
                refuse_not_finite(name, getattr(step, name))
        return self._drawn

    def _end_where_rows_jumped(self, obs: Tensor) -> None:
        """End the episodes of rows that were reset from outside: their last step does not lead to `obs`."""
        ended = self._kept["ended"][self._count - 1]
        if not torch.equal(torch.where(ended.unsqueeze(1), obs, self._next_obs), obs):
            self._end((obs != self._next_obs).any(1))

    def _end(self, rows: Tensor) -> None:
        """End the episodes of these rows (N,) with the last step, as truncated where they had not ended already."""
        last = self._count - 1
        ended = self._kept["ended"][last]
        self._keep_last(last, self._next_obs, rows & ~ended)
        ended |= rows

    def _keep_last(self, at: int, next_obs: Tensor, truncated: Tensor) -> None:
        """Keep the last observations of truncated episodes: their future has a value."""
        rows = truncated.nonzero().squeeze(1)
        if len(rows):
            self._cut.append((rows + at * len(next_obs), self._scaled(next_obs[rows])))

    def _cut_short(self) -> tuple[Tensor, Tensor]:
        none = (torch.zeros(0, dtype=torch.int64), self._next_obs[:0])
        places, obs = zip(none, *self._cut, strict=True)
        return torch.cat(places), torch.cat(obs)
