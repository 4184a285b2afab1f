"""The declaration of phase 3."""

from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.lazy_call import lazy_call
from gaelp.types import Phase

__all__ = ["PILOT"]

# What a pilot spent is gone: its result counts, and no second attempt spends again.
PILOT = PhaseDeclaration(
    phase=Phase.PILOT,
    work=lazy_call("pilot", "run_pilot"),
    second_attempt="never_spend_again",
    inconclusive="hold",
    long_running=True,
    hash_model=lazy_call("simulation", "hash_agent"),
    context=lazy_call("pilot_context", "pilot_context"),
    on_passed=lazy_call("agent_registration", "register_agent"),
)
