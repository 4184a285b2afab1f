"""The true state of every request for signatures: also whether what was asked for can still be done."""

from dataclasses import dataclass
from datetime import date, datetime

from gaelp.approvals import ApprovalRequest, ApprovalStore, RequestFacts, SignedAction, Trust, action_hash, policy_for
from gaelp.authority.mandates import mandate_statuses
from gaelp.authority.requests import existing_approvals, has_approvals
from gaelp.budget.kill_switch import StopState
from gaelp.budget.ledger import Ledger, known_account, overview
from gaelp.budget.ledger.limits import limits_in_force
from gaelp.clock import account_day
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError

__all__ = ["RequestStatus", "request_statuses"]

_OPEN = ("approved", "escalate", "waiting")


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """A request with its state (used, waiting, ...), who has decided on it, and when it expires."""

    action: SignedAction
    action_hash: str
    state: str
    signed_by: tuple[str, ...]
    expires_at: datetime


def request_statuses(
    settings: Settings, trust: Trust, *, ledger: Ledger | None = None, stop: StopState | None = None
) -> list[RequestStatus]:
    """Every request with its state, the oldest first; none where nobody has requested anything.

    Besides the states of the approvals: `superseded` if the limit, the cap or the stop has changed since the request,
    `ended` if its last day or its stop is over, and for a mandate that is no longer in force, its own state, such as
    `revoked`. Without ledger or stop (None: not known), and for requests without facts, what they would show is left
    out.
    """
    if not has_approvals(settings):
        return []
    store = existing_approvals(settings)
    now = _Now(ledger, stop, _mandate_states(settings, ledger, store, trust))
    statuses = []
    for request in store.requests():
        action, policy = request.action, policy_for(settings, request.action.world)
        state: str = store.state(action, policy, trust)
        if store.is_used(action):
            state = now.why_mandate_ended(action) or "used"
        elif state in _OPEN:
            state = now.why_useless(request) or state
        signed_by = store.signed_by(action)
        statuses.append(RequestStatus(action, action_hash(action), state, signed_by, request.expires_at(policy)))
    return statuses


def _mandate_states(settings: Settings, ledger: Ledger | None, store: ApprovalStore, trust: Trust) -> dict[str, str]:
    if ledger is None:
        requests = [request.action for request in store.requests() if request.action.kind == "mandate"]
        return {wanted: "revoked" for action in requests if store.is_revoked(wanted := action_hash(action))}
    return {status.id: status.state for status in mandate_statuses(settings, ledger, store, trust)}


@dataclass(frozen=True, slots=True)
class _Now:
    """What requests are compared with."""

    ledger: Ledger | None
    stop: StopState | None
    mandates: dict[str, str]

    def why_mandate_ended(self, action: SignedAction) -> str:
        """The state of a mandate that was signed and is no longer in force; empty for one in force and for others."""
        state = self.mandates.get(action_hash(action), "")
        return "" if state == "in force" else state

    def why_useless(self, request: ApprovalRequest) -> str:
        """The state of an open request that can no longer be used; empty if it can, or if that is not known."""
        action = request.action
        if action.kind == "mandate":
            state = self.mandates.get(action_hash(action), "")
            return "" if state in _OPEN else state
        if action.kind == "revive" and self.stop is not None:
            same = action.subject == ", ".join(self.stop.stop_ids)
            return "" if same else ("superseded" if self.stop.is_stopped else "ended")
        if request.facts is not None and self.ledger is not None:
            return _why_budget_is_useless(self.ledger, action, request.facts)
        return ""


def _why_budget_is_useless(ledger: Ledger, action: SignedAction, facts: RequestFacts) -> str:
    if facts.change == "limit":
        limit = limits_in_force(ledger).get(facts.cap or "")
        return "" if (limit.micros if limit else None) == facts.before_micros else "superseded"
    if facts.change == "reopen":
        breached = {cap.id for cap in overview(ledger).caps if cap.breached}
        return "" if facts.cap in breached else "superseded"
    is_over = facts.last_day and action.account and facts.last_day < _today(ledger, action.account)
    return "ended" if is_over else ""


def _today(ledger: Ledger, account: str) -> date:
    try:
        return account_day(ledger.clock.now(), known_account(ledger, account).time_zone)
    except GaelpError:  # an account of another ledger
        return date.min
