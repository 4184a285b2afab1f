"""From rewards and values to learning targets: GAE, n-step and discounted returns, V-trace.

Tensors are time-major, (T, N) or (T, N, S) for credit per segment. Sums run in float64; results have the rewards' type.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gaelp.errors import BadInput

__all__ = ["Credit", "Steps", "gae", "n_step_returns", "values_after", "vtrace"]


class Credit(NamedTuple):
    """What the policy and the critic learn from, both shaped like the rewards."""

    advantages: Tensor
    targets: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """T steps of N environments; step t leads from the observation `obs[t]` to `after[t]`.

    rewards      (T, N, ...)  of step t
    values       (T, N, ...)  the critic at obs[t]
    next_values  (T, N, ...)  the critic at after[t]. Where an episode ended, after[t] is its last observation, not the
                              first one of the next episode (with same-step autoreset: `info["final_obs"]`)
    ended        (T, N) bool  the episode ended with step t, for either reason: nothing flows back over this edge
    terminated   (T, N) bool  it ended for good: the future has no value, `next_values` is not read here.
                              An episode that ended without being terminated was cut short and is bootstrapped
    """

    rewards: Tensor
    values: Tensor
    next_values: Tensor
    ended: Tensor
    terminated: Tensor

    def __post_init__(self) -> None:
        """Refuse shapes that would broadcast silently."""
        for name in ("values", "next_values"):
            _same_shape(name, getattr(self, name), self.rewards)
        for name in ("ended", "terminated"):
            _flags_fit(name, getattr(self, name), self.rewards)
        if bool((self.terminated & ~self.ended).any()):
            t, n = (self.terminated & ~self.ended).nonzero()[0].tolist()
            raise BadInput(
                f"step {t} of environment {n} is terminated but not ended: ended must be terminated | truncated"
            )


@torch.no_grad()
def gae(steps: Steps, *, gamma: float, gae_lambda: float) -> Credit:
    """Generalised advantage estimation (Schulman et al. 2016); the targets are the lambda returns."""
    _shares(gamma=gamma, gae_lambda=gae_lambda)
    values = steps.values.double()
    deltas = _one_step_targets(steps, gamma) - values
    advantages = _sum_backwards(deltas, gamma * gae_lambda * _carries(steps))
    return _credit(steps, advantages, advantages + values)


@torch.no_grad()
def n_step_returns(steps: Steps, *, gamma: float, n_step: int) -> Tensor:
    """The sum of `n_step` discounted rewards and the discounted value after them.

    Fewer steps are summed where the episode or the window ends before; the value there is the one after the last step.
    """
    _shares(gamma=gamma)
    if n_step < 1:
        raise BadInput(f"n_step={n_step} sums no reward: give at least 1")
    shortest = _one_step_targets(steps, gamma)
    rewards = steps.rewards.double()[:-1]
    carries = _carries(steps)[:-1].bool()
    longer = shortest
    for _ in range(min(n_step, len(shortest)) - 1):
        longer = torch.cat([torch.where(carries, rewards + gamma * longer[1:], shortest[:-1]), shortest[-1:]])
    return longer.to(steps.rewards.dtype)


@torch.no_grad()
def vtrace(steps: Steps, log_ratios: Tensor, *, gamma: float, rho_bar: float = 1.0, c_bar: float = 1.0) -> Credit:
    """V-trace (Espeholt et al. 2018): targets vs and policy-gradient advantages, for experience of an older policy.

    `log_ratios` is log(current policy / policy that acted) of the actions taken, (T, N) or shaped like the rewards.
    `rho_bar` clips the weight of each temporal difference and so sets the policy whose value is learned, `c_bar` clips
    how far a difference is traced back. The advantages hold their clipped weight already.
    """
    _shares(gamma=gamma)
    if not 0 < c_bar <= rho_bar:
        raise BadInput(f"c_bar={c_bar} and rho_bar={rho_bar}: V-trace needs 0 < c_bar <= rho_bar; lower c_bar")
    ratios = _fitting_ratios(log_ratios, steps.rewards).double().exp()
    rhos, values = ratios.clamp(max=rho_bar), steps.values.double()
    deltas = rhos * (_one_step_targets(steps, gamma) - values)
    targets = values + _sum_backwards(deltas, gamma * ratios.clamp(max=c_bar) * _carries(steps))
    after = _bootstraps(steps)
    after[:-1] = torch.where(_carries(steps)[:-1].bool(), targets[1:], after[:-1])
    advantages = rhos * (steps.rewards + gamma * after - values)
    return _credit(steps, advantages, targets)


@torch.no_grad()
def values_after(values: Tensor, last_values: Tensor, *, ended: Tensor, final_values: Tensor) -> Tensor:
    """`next_values` of `Steps` without running the critic twice: `values` moved up by one step.

    `last_values` (N, ...) is the critic at the observations after the window. `final_values` (T, N, ...) is the critic
    at the last observations of ended episodes; it is read only where `ended` holds.
    """
    _same_shape("final_values", final_values, values)
    _flags_fit("ended", ended, values)
    moved = torch.cat([values[1:], last_values.unsqueeze(0)])
    return torch.where(_spread(ended, values), final_values, moved)


def _sum_backwards(terms: Tensor, decays: Tensor) -> Tensor:
    """terms[t] + decays[t] * (terms[t + 1] + ...), in place."""
    for t in range(len(terms) - 2, -1, -1):
        terms[t].addcmul_(decays[t], terms[t + 1])
    return terms


def _one_step_targets(steps: Steps, gamma: float) -> Tensor:
    return steps.rewards + gamma * _bootstraps(steps)


def _bootstraps(steps: Steps) -> Tensor:
    """The value after each step, zero where the episode terminated, even if the value there is NaN."""
    return steps.next_values.double().masked_fill(_spread(steps.terminated, steps.rewards), 0.0)


def _carries(steps: Steps) -> Tensor:
    """One where the next row continues the episode, zero where it does not."""
    return _spread(~steps.ended, steps.rewards).double()


def _credit(steps: Steps, advantages: Tensor, targets: Tensor) -> Credit:
    return Credit(advantages.to(steps.rewards.dtype), targets.to(steps.rewards.dtype))


def _spread(flags: Tensor, like: Tensor) -> Tensor:
    """(T, N) flags with as many trailing dimensions of one as `like` has."""
    return flags.reshape(flags.shape + (1,) * (like.ndim - flags.ndim))


def _fitting_ratios(log_ratios: Tensor, rewards: Tensor) -> Tensor:
    if log_ratios.shape not in (rewards.shape, rewards.shape[:2]):
        raise BadInput(
            f"log_ratios has shape {tuple(log_ratios.shape)}; allowed are {tuple(rewards.shape[:2])}"
            f" and the rewards' {tuple(rewards.shape)}: sum or reshape the log probabilities"
        )
    return _spread(log_ratios, rewards)


def _same_shape(name: str, tensor: Tensor, like: Tensor) -> None:
    if tensor.shape != like.shape or like.ndim < 2 or not len(like):
        raise BadInput(
            f"{name} has shape {tuple(tensor.shape)} beside {tuple(like.shape)}:"
            " both must be the same (T, N, ...) with T >= 1"
        )


def _flags_fit(name: str, flags: Tensor, like: Tensor) -> None:
    if flags.dtype != torch.bool or flags.shape != like.shape[:2]:
        raise BadInput(
            f"{name} is {flags.dtype} of shape {tuple(flags.shape)}; it must be bool of shape {tuple(like.shape[:2])}"
        )


def _shares(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number <= 1:
            raise BadInput(f"{name}={number} must lie in 0..1")
