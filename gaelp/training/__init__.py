"""Training: what an agent learns on, in which order, and how far it has come."""

from gaelp.training.curriculum import CurriculumState
from gaelp.training.mixing import choose

__all__ = ["CurriculumState", "choose"]
