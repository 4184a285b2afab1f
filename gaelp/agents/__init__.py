"""Agents: learning algorithms and what they are configured with."""

from gaelp.agents.catalog import AgentKind, agent_config, agent_distributions, agent_names, find_agent
from gaelp.agents.dqn import DqnConfig, build_dqn
from gaelp.agents.qr_dqn import QrDqnConfig, build_qr_dqn
from gaelp.agents.sac import SacConfig, build_sac
from gaelp.agents.schedules import ConstantSchedule, Cosine, LinearSchedule, Log, Schedule
from gaelp.agents.td3 import Td3Config, build_td3

__all__ = [
    "AgentKind",
    "ConstantSchedule",
    "Cosine",
    "DqnConfig",
    "LinearSchedule",
    "Log",
    "QrDqnConfig",
    "SacConfig",
    "Schedule",
    "Td3Config",
    "agent_config",
    "agent_distributions",
    "agent_names",
    "build_dqn",
    "build_qr_dqn",
    "build_sac",
    "build_td3",
    "find_agent",
]
