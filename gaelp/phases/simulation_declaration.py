"""The declaration of phase 1. Its functions import torch and the market when they are called.

Whoever lists the phases (`gaelp up`, `gaelp status`, a run that resumes at its gate) starts seconds earlier this way.
"""

from pathlib import Path

from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.declaration import Assignment, PhaseDeclaration
from gaelp.phases.phase_result import PhaseResult
from gaelp.types import Phase

__all__ = ["SIMULATION"]


def _simulate(given: Assignment) -> PhaseResult:
    from gaelp.phases.simulation import simulate  # noqa: PLC0415 - see above

    return simulate(given)


def _hash_agent(path: Path) -> str:
    from gaelp.phases.simulation import hash_agent  # noqa: PLC0415 - see above

    return hash_agent(path)


def _context(result: PhaseResult, home: Path) -> VerdictContext:
    from gaelp.phases.simulation_context import simulation_context  # noqa: PLC0415 - see above

    return simulation_context(result, home)


# Each attempt is another draw: with many of them, one would pass by luck sooner or later.
SIMULATION = PhaseDeclaration(
    phase=Phase.SIMULATION,
    work=_simulate,
    second_attempt="another_draw",
    inconclusive="hold",
    attempts_max=3,
    hash_model=_hash_agent,
    context=_context,
)
