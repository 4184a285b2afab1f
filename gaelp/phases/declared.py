"""The phases of the pipeline, in the order in which an agent passes them; a new phase is one more line here."""

from gaelp.errors import BadInput
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.simulation_declaration import SIMULATION
from gaelp.types import Phase

__all__ = ["PHASES", "declaration_of"]

PHASES: tuple[PhaseDeclaration, ...] = (
    SIMULATION,
)  # fmt: skip


def declaration_of(phase: Phase) -> PhaseDeclaration:
    """Return the declaration of one phase; BadInput lists the declared ones."""
    for declared in PHASES:
        if declared.phase == phase:
            return declared
    raise BadInput(f"phase {phase} is not declared; there are {', '.join(declared.phase for declared in PHASES)}")
