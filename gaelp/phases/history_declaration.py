"""The declaration of phase 2."""

from gaelp.phases.declaration import PhaseDeclaration
from gaelp.phases.lazy_call import lazy_call
from gaelp.types import Phase

__all__ = ["HISTORY", "WITHOUT_PROPENSITIES"]

WITHOUT_PROPENSITIES = "history-without-propensities"

# A sealed window that is looked at again until somebody passes proves nothing.
HISTORY = PhaseDeclaration(
    phase=Phase.HISTORY,
    work=lazy_call("history", "validate_on_history"),
    second_attempt="never_look_again",
    inconclusive="hold",
    other_gates=(WITHOUT_PROPENSITIES,),
    hash_model=lazy_call("simulation", "hash_agent"),
    context=lazy_call("history_context", "history_context"),
    on_passed=lazy_call("agent_registration", "register_agent"),
)
