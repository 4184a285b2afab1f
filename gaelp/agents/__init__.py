"""Agents: learning algorithms and what they are configured with."""

from gaelp.agents.schedules import Constant, Cosine, Linear, Log, Schedule

__all__ = ["Constant", "Cosine", "Linear", "Log", "Schedule"]
