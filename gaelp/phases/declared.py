"""The phases of the pipeline, in the order in which an agent passes them; a new phase is one more line here."""

from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.simulation import SIMULATION
from gaelp.types import Phase

__all__ = ["PHASES", "declaration_of"]

PHASES: tuple[PhaseDeclaration, ...] = (
    SIMULATION,
)  # fmt: skip


def declaration_of(phase: Phase) -> PhaseDeclaration:
    """The declaration of one phase."""
    return next(declared for declared in PHASES if declared.phase == phase)
