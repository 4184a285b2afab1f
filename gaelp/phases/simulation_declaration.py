"""The declaration of phase 1. Its functions import torch and the market when they are called.

Whoever lists the phases (`gaelp up`, `gaelp status`, a run that resumes at its gate) starts seconds earlier this way.
"""

from pathlib import Path
from types import ModuleType

from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.declaration import Assignment, PhaseDeclaration
from gaelp.phases.phase_result import PhaseResult
from gaelp.types import Phase

__all__ = ["SIMULATION"]


def _simulation() -> ModuleType:
    from gaelp.phases import simulation  # noqa: PLC0415 - see above

    return simulation


def _simulate(given: Assignment) -> PhaseResult:
    result: PhaseResult = _simulation().simulate(given)
    return result


def _hash_agent(path: Path) -> str:
    return str(_simulation().hash_agent(path))


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
