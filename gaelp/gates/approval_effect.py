"""What an approval at a gate allows, and what it does not, for whoever has to decide."""

from typing import NamedTuple

from gaelp.types import Phase

__all__ = ["ApprovalEffect", "approval_effect"]


class ApprovalEffect(NamedTuple):
    """Both continue the sentence "Approving ...", without a full stop."""

    allows: str
    does_not_allow: str


_EFFECTS = {
    Phase.SIMULATION: ApprovalEffect(
        allows="testing this agent on logs of past campaigns (phase 2, history)",
        does_not_allow="any spending. No money moves at this gate: no ad account is touched, no budget is granted",
    ),
    Phase.HISTORY: ApprovalEffect(
        allows="a pilot with real money (phase 3), at most the daily budget named in the approval",
        does_not_allow="more than that daily budget. Every cap, the emergency stop and the signatures on orders remain"
        " in force",
    ),
    Phase.PILOT: ApprovalEffect(
        allows="spending more real money (phase 4, scale), at most the daily budget named in the approval",
        does_not_allow="more than that daily budget. Every cap, the emergency stop and the signatures on orders remain"
        " in force",
    ),
    Phase.SCALE: ApprovalEffect(
        allows="keeping the present budget and copying this agent to other products",
        does_not_allow="a higher budget: raising a cap needs an approval of its own",
    ),
}


def approval_effect(follows: Phase) -> ApprovalEffect:
    """The effect of approving at the gate after this phase."""
    return _EFFECTS[follows]
