"""The part of a learner that acts, as one network: from raw observations to the best known actions, nothing else."""

from typing import Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from gaelp.errors import Refused
from gaelp.experience.normalise import ObservationNormaliser

__all__ = ["ActingNetwork", "ActsByNetwork", "Choice", "acting_network"]

Choice = Literal["clamped", "tanh_of_means", "likeliest", "best_mean", "as_it_is"]


class ActingNetwork(nn.Module):
    """Observations (rows, size) become what `learner.act(obs, explore=False)` returns."""

    shift: Tensor
    scale: Tensor

    def __init__(self, body: nn.Module, choice: Choice, normaliser: ObservationNormaliser | None) -> None:
        super().__init__()
        self.body, self.choice = body, choice
        self.clip = None if normaliser is None else normaliser.clip
        if normaliser is not None:
            shift, scale = normaliser.shift_and_scale
            self.register_buffer("shift", shift.clone())
            self.register_buffer("scale", scale.clone())

    def forward(self, obs: Tensor) -> Tensor:
        """Actions: int64 (rows,) for discrete learners, else float32 (rows, size)."""
        if self.clip is not None:
            obs = ((obs - self.shift) * self.scale).clamp(-self.clip, self.clip)
        outputs: Tensor = self.body(obs)
        match self.choice:
            case "clamped":
                return outputs.clamp(-1.0, 1.0)
            case "tanh_of_means":
                return torch.tanh(outputs.chunk(2, dim=-1)[0])
            case "likeliest":
                return outputs.log_softmax(-1).argmax(-1)
            case "best_mean":
                return outputs.mean(2).argmax(1)
        return outputs


@runtime_checkable
class ActsByNetwork(Protocol):
    """A learner whose best known actions come from one network."""

    def acting_network(self) -> ActingNetwork:
        """The network, sharing the learner's parameters."""
        ...


def acting_network(learner: object, name: str) -> ActingNetwork:
    """The network of a learner; Refused if the learner does not offer one."""
    if not isinstance(learner, ActsByNetwork):
        raise Refused(
            f"{name} offers no network that can be exported; allowed: a2c, dqn, ppo, qr_dqn, sac, td3, or a learner"
            " with a method acting_network() that returns an ActingNetwork. Export another agent, or add the method"
        )
    return learner.acting_network().eval()
