"""The true state of every request for signatures: also whether what was asked for can still be done."""

import re
from dataclasses import dataclass
from datetime import date, datetime

from gaelp.approvals import ApprovalStore, SignedAction, Trust, action_hash, policy_for
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
_LIMIT = re.compile(r"limit (\S+) (.+): (.+) -> .+")
_REOPEN = re.compile(r"reopen (.+)")
_ORDER = re.compile(r"\S+ .+ until (\d{4}-\d\d-\d\d) as .+")


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

    Besides the states of the approvals: `superseded` if the books or the stop are no longer those that the request
    names, `ended` if its last day or its stop is over, `revoked` for a mandate. Without ledger or stop (None: not
    known), what they would show is left out.
    """
    if not has_approvals(settings):
        return []
    store = existing_approvals(settings)
    now = _Now(ledger, stop, _mandate_states(settings, ledger, store, trust))
    statuses = []
    for request in store.requests():
        action, policy = request.action, policy_for(settings, request.action.world)
        state: str = "used" if store.is_used(action) else store.state(action, policy, trust)
        if state in _OPEN:
            state = now.why_useless(action) or state
        signed_by = store.signed_by(action)
        statuses.append(RequestStatus(action, action_hash(action), state, signed_by, request.expires_at(policy)))
    return statuses


def _mandate_states(settings: Settings, ledger: Ledger | None, store: ApprovalStore, trust: Trust) -> dict[str, str]:
    if ledger is None:
        return {}
    return {status.id: status.state for status in mandate_statuses(settings, ledger, store, trust)}


@dataclass(frozen=True, slots=True)
class _Now:
    """What requests are compared with."""

    ledger: Ledger | None
    stop: StopState | None
    mandates: dict[str, str]

    def why_useless(self, action: SignedAction) -> str:
        """The state of an open request that can no longer be used; empty if it can, or if that is not known."""
        if action.kind == "mandate":
            state = self.mandates.get(action_hash(action), "")
            return "" if state in _OPEN else state
        if action.kind == "revive" and self.stop is not None:
            same = action.subject == ", ".join(self.stop.stop_ids)
            return "" if same else ("superseded" if self.stop.is_stopped else "ended")
        if action.kind == "budget" and self.ledger is not None:
            return _why_budget_is_useless(self.ledger, action, action.subject or "")
        return ""


def _why_budget_is_useless(ledger: Ledger, action: SignedAction, subject: str) -> str:
    if action.run_id == "ledger":
        if change := _LIMIT.fullmatch(subject):
            kind, of, before = change.groups()
            return "" if str(limits_in_force(ledger).get(f"{kind}:{of}", "none")) == before else "superseded"
        if reopened := _REOPEN.fullmatch(subject):
            breached = {cap.id for cap in overview(ledger).caps if cap.breached}
            return "" if reopened[1] in breached else "superseded"
    elif (order := _ORDER.fullmatch(subject)) and action.account:
        return "ended" if date.fromisoformat(order[1]) < _today(ledger, action.account) else ""
    return ""


def _today(ledger: Ledger, account: str) -> date:
    try:
        return account_day(ledger.clock.now(), known_account(ledger, account).time_zone)
    except GaelpError:  # an account of other books
        return date.min
