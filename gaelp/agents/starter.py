"""An agent to start from: a straight line from what it observes to how far it moves the rule's bid.

Each update fits two straight lines to the steps collected: which reward was to be expected, and how much more there was
where an action was tried above the best known one. The weights then move along the second. In the market, the reward of
an hour already charges what its spend would have been worth later, so the agent need not look further ahead.
"""

import torch
from pydantic import Field, PositiveFloat
from torch import Tensor

from gaelp.agents.batch_learner import BatchConfig, BatchLearner
from gaelp.experience.collect import Step

__all__ = ["KIND", "StarterAgent", "StarterAgentConfig"]


class StarterAgentConfig(BatchConfig):
    """Settings of this agent; a recipe changes them under `settings`."""

    exploration: PositiveFloat = Field(
        default=0.12, le=1, description="standard deviation of the actions tried around the best known one (-1 to 1)"
    )


class StarterAgent(BatchLearner[StarterAgentConfig]):
    """Starts at zero, which leaves the rule's bids as they are, and learns when to bid more or less than the rule."""

    name = "starter"
    actions = "continuous"

    def start(self) -> dict[str, Tensor]:
        """One weight for each feature and one for none, in a column for each number of an action."""
        return {"weights": torch.zeros(self.spaces.observation_size + 1, self.action_size)}

    def best_actions(self, obs: Tensor) -> Tensor:
        """Where the line is now."""
        return _with_one(obs) @ self.parameters["weights"]

    def explored_actions(self, obs: Tensor) -> Tensor:
        """The best known actions with normal noise."""
        best = self.best_actions(obs)
        return best + self.config.exploration * torch.randn(best.shape, generator=self.generator)

    def learn(self, steps: Step, progress: float) -> dict[str, float]:
        """Move the line towards actions that brought more than expected; steps shrink to zero over training."""
        obs, action, reward = (part.flatten(0, 1) for part in (steps.obs, steps.action, steps.reward.unsqueeze(-1)))
        features = _with_one(obs)
        surprise = reward - features @ _fitted(features, reward)
        surprise /= surprise.std() + 1e-8
        tried = (action - self.best_actions(obs).clamp(-1.0, 1.0)) / self.config.exploration
        slope = _fitted(features, surprise * tried)
        rate = self.config.learning_rate * (1 - progress)
        self.parameters["weights"] += rate * slope
        return {"learning_rate": rate, "slope": slope.abs().mean().item(), "reward": reward.mean().item()}


def _with_one(obs: Tensor) -> Tensor:
    return torch.cat([obs, torch.ones(len(obs), 1)], 1)


def _fitted(features: Tensor, targets: Tensor) -> Tensor:
    """Least squares with a little shrinkage, so that features which move together do no harm."""
    squares = features.T @ features + 1e-3 * len(features) * torch.eye(features.shape[1])
    weights: Tensor = torch.linalg.solve(squares, features.T @ targets)
    return weights


KIND = StarterAgent.kind(StarterAgentConfig)
