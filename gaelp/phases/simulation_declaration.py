"""The declaration of phase 1."""

from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.lazy_call import lazy_call
from gaelp.types import Phase

__all__ = ["SIMULATION"]

# Each attempt is another draw: with many of them, one would pass by luck sooner or later.
SIMULATION = PhaseDeclaration(
    phase=Phase.SIMULATION,
    work=lazy_call("simulation", "simulate"),
    second_attempt="another_draw",
    inconclusive="hold",
    attempts_max=3,
    hash_model=lazy_call("simulation", "hash_agent"),
    context=lazy_call("simulation_context", "simulation_context"),
)
