"""Experience: transitions and their returns, replay buffers, normalisation."""

from gaelp.experience.normalise import ObservationNormaliser, RewardScaler, RunningMoments
from gaelp.experience.prioritized import PrioritizedReplay
from gaelp.experience.replay import ReplayBuffer, ReplaySource
from gaelp.experience.returns import Credit, Steps, gae, n_step_returns, values_after, vtrace
from gaelp.experience.saved import SavedState
from gaelp.experience.transitions import Batch
from gaelp.experience.value_guard import FieldSpec

__all__ = [
    "Batch",
    "Credit",
    "FieldSpec",
    "ObservationNormaliser",
    "PrioritizedReplay",
    "ReplayBuffer",
    "ReplaySource",
    "RewardScaler",
    "RunningMoments",
    "SavedState",
    "Steps",
    "gae",
    "n_step_returns",
    "values_after",
    "vtrace",
]
