"""The phases of the pipeline, in the order in which an agent passes them; a new phase is one more line here."""

from gaelp.errors import BadInput
from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.scale_declaration import SCALE
from gaelp.phases.simulation_declaration import SIMULATION
from gaelp.types import Phase

__all__ = ["PHASES", "declaration_of", "phases_until"]

PHASES: tuple[PhaseDeclaration, ...] = (
    SIMULATION,
    HISTORY,
    PILOT,
    SCALE,
)  # fmt: skip


def declaration_of(phase: Phase) -> PhaseDeclaration:
    """Return the declaration of one phase; BadInput lists the declared ones."""
    for declared in PHASES:
        if declared.phase == phase:
            return declared
    raise BadInput(f"phase {phase} is not declared; there are {', '.join(declared.phase for declared in PHASES)}")


def phases_until(last: Phase | None) -> tuple[PhaseDeclaration, ...]:
    """Return the phases up to this one, or all of them."""
    return PHASES if last is None else PHASES[: PHASES.index(declaration_of(last)) + 1]
