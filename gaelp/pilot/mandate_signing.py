"""The mandate of a plan, in force: a name signs it where no real money can move, else the pilot waits for people."""

from datetime import timedelta

from gaelp.approvals import ApprovalStore, Mandate, load_policy
from gaelp.approvals.action import LiveOrSandbox
from gaelp.approvals.approval import unsigned
from gaelp.approvals.policy import ApprovalPolicy, policy_name
from gaelp.approvals.trust import Trust
from gaelp.authority.mandates import (
    MandateStatus,
    find_mandate,
    mandate_statuses,
    propose_mandate,
    sign_mandate,
)
from gaelp.authority.signatures import Signer
from gaelp.budget.kill_switch import StopState
from gaelp.budget.ledger import Ledger
from gaelp.budget.platform_budget import Overdelivery
from gaelp.config.settings import Settings
from gaelp.errors import Refused
from gaelp.pilot.pilot_plan import PilotPlan, pilot_mandate

__all__ = ["require_mandate"]

_SIGNER = "local-pilot"  # a name that no person has: it only counts where a name without a signature is enough
_IN_FORCE = "in force"
_OPEN = ("waiting", "escalate", "approved", "signed, not opened")


def require_mandate(
    settings: Settings,
    world: LiveOrSandbox,
    ledger: Ledger,
    store: ApprovalStore,
    plan: PilotPlan,
    terms: Overdelivery,
    trust: Trust,
    *,
    stop: StopState,
    options: str = "",
) -> str:
    """Return the id of the plan's mandate, which is in force.

    One that nobody has decided on is proposed. Under a sandbox policy it is then signed with a name; otherwise
    WaitingForPerson says who can sign it with which command. Refused if it was rejected, revoked or has ended: what a
    person or the kill switch has ended is never signed again by a program.
    """
    mandate = pilot_mandate(plan, terms)
    known = [status for status in mandate_statuses(settings, ledger, store, trust) if _is_of(status, mandate, world)]
    for status in known:
        if status.state == _IN_FORCE:
            return status.id
    for status in known:
        if status.state not in _OPEN and not (status.state == "expired" and status.use is None):
            why = f": {status.why}" if status.why else ""
            raise Refused(
                f"the mandate {mandate.name} ({status.id[:12]}) is {status.state}{why}."
                " Have people propose and sign it again (`gaelp mandate propose`), or begin another run"
            )
    proposed, _ = propose_mandate(settings, ledger, store, mandate, world, trust)
    policy = load_policy(policy_name(settings, world))
    if policy.sandbox:
        _sign_by_name(store, proposed, policy, trust)
    sign_mandate(settings, ledger, store, proposed, Signer(trust, None, ""), stop=stop, options=options)
    return proposed


def _is_of(status: MandateStatus, mandate: Mandate, world: LiveOrSandbox) -> bool:
    return status.mandate == mandate and status.action.world == world


def _sign_by_name(store: ApprovalStore, proposed: str, policy: ApprovalPolicy, trust: Trust) -> None:
    action, _ = find_mandate(store, proposed)
    if store.is_used(action) or not store.tally(action, policy, trust).missing:
        return
    given = unsigned(
        action,
        _SIGNER,
        decision="approve",
        reason="no real money can move on this platform",
        at=store.clock.now(),
        valid_for=timedelta(minutes=policy.valid_minutes_max),
    )
    store.submit(given, policy, trust)
