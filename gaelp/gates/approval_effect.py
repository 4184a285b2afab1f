"""What each answer at a gate does, and what an approval allows and does not, for whoever has to decide."""

from collections.abc import Sequence
from typing import NamedTuple

from gaelp.gates.decisions import GateChoice
from gaelp.types import Phase

__all__ = ["ApprovalEffect", "answer_effects", "approval_effect"]

_ANSWERS: dict[GateChoice, str] = {
    "approve": "approve continues",
    "reject": "reject ends the run",
    "rerun": "rerun trains with another seed",
}


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


def answer_effects(choices: Sequence[GateChoice]) -> str:
    """What each of the answers that are offered does, without a full stop."""
    return ", ".join(_ANSWERS[choice] for choice in choices)
