"""Name the episodes that judged phase 1: runs judged on the same episodes get the same name."""

import json

from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.phases.run_folder import PhaseFolder

__all__ = ["episode_window"]


class _Window(Frozen):
    market: str
    agent: str  # the algorithm
    evaluation_seed: int


def episode_window(folder: PhaseFolder, evaluation_seed: int) -> str:
    """Return a hash of market, algorithm and evaluation seed, for an attempt that has begun."""
    begun = json.loads(folder.identity.read_text(encoding="utf-8"))
    return fingerprint(
        _Window(market=begun["market"], agent=begun["recipe"]["algorithm"], evaluation_seed=evaluation_seed)
    )
