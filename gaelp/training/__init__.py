"""Training: what an agent learns on, in which order, and how far it has come."""

from gaelp.training.curriculum import CurriculumState
from gaelp.training.mixing import choose
from gaelp.training.task_market import build_task, build_tasks

__all__ = ["CurriculumState", "build_task", "build_tasks", "choose"]
