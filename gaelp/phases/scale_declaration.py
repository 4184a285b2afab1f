"""The declaration of phase 4."""

from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.lazy_call import lazy_call
from gaelp.types import Phase

__all__ = ["SCALE"]

# What a release spent is gone: its result counts, and no second attempt spends again.
SCALE = PhaseDeclaration(
    phase=Phase.SCALE,
    work=lazy_call("scale", "run_scale"),
    second_attempt="never_spend_again",
    inconclusive="hold",
    long_running=True,
    hash_model=lazy_call("simulation", "hash_agent"),
    context=lazy_call("scale_context", "scale_context"),
    on_passed=lazy_call("agent_registration", "register_agent"),
)
