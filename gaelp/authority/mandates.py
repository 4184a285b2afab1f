"""Propose, sign, list and revoke mandates: what an agent may order and bid without a new signature for each step.

A mandate is requested like any action, signed by as many people as the policy asks for, and opened in the ledger by the
last signature. Everyone may revoke one: stopping needs no signature.
"""

import json
from dataclasses import dataclass
from datetime import date
from typing import Literal

from pydantic import ValidationError

from gaelp.approvals import (
    ApprovalPolicy,
    ApprovalStore,
    AuditLog,
    Mandate,
    SignedAction,
    action_hash,
    approvals_place,
    load_policy,
    policy_for,
)
from gaelp.approvals import open_database as open_approvals_database
from gaelp.approvals.action import LiveOrSandbox
from gaelp.approvals.policy import policy_name
from gaelp.approvals.trust import Trust
from gaelp.authority.audit_records import (
    check_approvals_know,
    check_books_know,
    check_unsigned_allowed,
    record,
    report_unrecorded,
    signed_body,
    unsigned_body,
)
from gaelp.authority.limit_audit import MANDATE_GRANTED
from gaelp.authority.requests import existing_approvals, find_request
from gaelp.authority.signatures import Signer, describe_rejections, next_open_attempt, require_signed
from gaelp.budget.kill_switch import StopState
from gaelp.budget.ledger import (
    AdAccount,
    Ledger,
    MandateRoom,
    MandateUse,
    SignedChange,
    books_id,
    check_unsigned,
    close_mandate,
    is_fenced,
    known_account,
    mandate_use,
    open_mandate,
    signed_before_release,
    signed_changes,
)
from gaelp.budget.stop_report_text import describe_stops
from gaelp.clock import account_day
from gaelp.config.fingerprint import fingerprint
from gaelp.config.machine_user import machine_user
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError, Refused

__all__ = [
    "MandateStatus",
    "Revoked",
    "find_mandate",
    "mandate_action",
    "mandate_statuses",
    "propose_mandate",
    "revoke_mandate",
    "sign_mandate",
    "why_ended",
    "why_sign_later",
]

_DIGITS = 12
_STOPPED = "the kill switch was set after it was signed"
_SIGN_LATER = (
    "The release of a stop voids every signature that a mandate got before it: release the stop (`gaelp revive`), then"
    " sign"
)


@dataclass(frozen=True, slots=True)
class MandateStatus:
    """A mandate by its id (the hash of its action), its state, who signed it, and what was used of it.

    `why` says why it can no longer be used; empty if it can, or if the state says it all.
    """

    id: str
    action: SignedAction
    mandate: Mandate
    state: str
    signed_by: tuple[str, ...]
    use: MandateUse | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Revoked:
    """A mandate that was revoked, and its state before; `proposed`: it never was in force."""

    id: str
    name: str
    before: Literal["ended", "in force", "proposed", "revoked"]


def mandate_action(mandate: Mandate, world: LiveOrSandbox) -> SignedAction:
    """What people sign: the whole mandate. The requester is nobody's name, so that everyone may approve it."""
    try:
        subject = f"mandate {mandate.name} until {mandate.last_day.isoformat()}"
        return SignedAction(
            kind="mandate", run_id="mandate", requester="mandate", world=world, subject=subject, mandate=mandate
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise BadInput(f"the mandate {mandate.name!r} cannot be signed: {first['msg']}") from None


def propose_mandate(
    settings: Settings, ledger: Ledger, store: ApprovalStore, mandate: Mandate, world: LiveOrSandbox, trust: Trust
) -> tuple[str, str]:
    """Ask people to sign a mandate, and return its id; proposing one again that is open changes nothing.

    If an equal one was used, rejected, has expired or was signed before a stop, this is a new request with the next
    attempt number. The second text says who rejected earlier ones, and why.
    """
    _check_account(ledger, mandate)
    policy = load_policy(policy_name(settings, world))
    action = mandate_action(mandate, world)
    known = [request.action for request in store.requests() if request.action.kind == "mandate"]
    ended = {action_hash(action) for action in known if _signed_before_release(ledger, store, action)}
    proposed = next_open_attempt(store, action, policy, trust, store.used_actions() | ended, used_for="")
    store.request(proposed)
    return action_hash(proposed), describe_rejections(store, proposed, policy, trust)


def why_sign_later(stop: StopState) -> str:
    """What to do before anybody signs a mandate during a stop; empty if nothing is stopped."""
    return f"{describe_stops(stop.stops)}. {_SIGN_LATER}" if stop.is_stopped else ""


def sign_mandate(
    settings: Settings,
    ledger: Ledger,
    store: ApprovalStore,
    mandate_id: str,
    signer: Signer,
    *,
    stop: StopState,
    options: str = "",
) -> bool:
    """Sign a mandate that was proposed; the last signature needed opens it.

    False if it is in force already: nothing is signed or granted again, whatever the policy of these settings. Refused
    during a `stop`, because its release would void the signature. `options` are what a further signer has to add to the
    command. The checks and their order are those of a limit that is raised (see limit_changes.py).
    """
    action, mandate = find_mandate(store, mandate_id)
    name = policy_name(settings, action.world)
    policy = load_policy(name)
    check_approvals_know(settings, ledger)
    check_books_know(settings, ledger)
    account = _check_account(ledger, mandate)
    if store.is_revoked(action_hash(action)):
        raise Refused(f"the mandate {mandate.name} was revoked: propose a new one")
    if use := mandate_use(ledger, action_hash(action)):
        _confirm_in_force(settings, ledger, store, action, signer.trust, use)
        return False
    if _signed_before_release(ledger, store, action):
        raise Refused(
            f"the mandate {mandate.name} was signed before the kill switch was released, so those signatures no"
            " longer count: propose it again (`gaelp mandate propose`), and have that signed"
        )
    if later := why_sign_later(stop):
        raise Refused(f"nothing was signed. {later}")
    if policy.sandbox:
        check_unsigned(ledger, str(action.subject))
        check_unsigned_allowed(settings, str(action.subject))
    books = books_id(ledger)
    needed = (
        f"{action.subject} needs the signatures of {policy.quorum} people: each runs"
        f" `gaelp mandate sign {action_hash(action)[:_DIGITS]} --key FILE --reason WHY{options}`"
    )
    granted = require_signed(store, action, policy, signer, needed, used_for=f"books {books}: ")
    if granted.policy_hash != fingerprint(policy):
        raise Refused(
            f"the signatures of the mandate {mandate.name} were used up under another policy than {name}, and it was"
            " not opened: repeat the command with the settings of then, or propose a new one"
        )
    room = MandateRoom(granted.action_hash, mandate.total_micros, mandate.account_daily_micros)
    used = [approval for approval in store.approvals(action) if approval.statement.nonce in granted.nonces]
    first = min(approval.statement.issued_at for approval in used)
    if policy.sandbox:
        opened = open_mandate(ledger, room, account, None, first_signed_at=first)
        _record_unsigned(settings, store, granted.action_hash, mandate)
        return opened
    body = signed_body({**_facts(mandate), "books": books}, name, granted)
    change = SignedChange(granted.action_hash, name, MANDATE_GRANTED, json.dumps(body))
    opened = open_mandate(ledger, room, account, change, first_signed_at=first)
    report_unrecorded(str(action.subject), lambda: record(settings, ledger))
    return opened


def _confirm_in_force(
    settings: Settings, ledger: Ledger, store: ApprovalStore, action: SignedAction, trust: Trust, use: MandateUse
) -> None:
    """Refuse unless a mandate that was opened is in force; what a crash kept from the audit log is added to it."""
    wanted, mandate, policy = action_hash(action), action.mandate, policy_for(settings, action.world)
    if use.closed:
        raise Refused(
            f"{action.subject} has ended: the kill switch was set or released after it was signed, or cost went beyond"
            " its ceiling. Propose a new one (`gaelp mandate propose`), and have that signed"
        )
    granted = store.use(action)
    if any(change.action_hash == wanted for change in signed_changes(ledger)):
        report_unrecorded(str(action.subject), lambda: record(settings, ledger))
    elif mandate and granted and policy.sandbox and granted.policy_hash == fingerprint(policy):
        _record_unsigned(settings, store, wanted, mandate)
    store.in_force(wanted, policy, trust)


def _record_unsigned(settings: Settings, store: ApprovalStore, wanted: str, mandate: Mandate) -> None:
    body = {**unsigned_body(settings, _facts(mandate)), "action_hash": wanted}
    log = AuditLog(open_approvals_database(approvals_place(settings)))
    log.append_once(MANDATE_GRANTED, body, store.clock.now(), action_hash=wanted)


def _facts(mandate: Mandate) -> dict[str, str]:
    return {"mandate": mandate.name, "account": mandate.account, "limit": str(mandate.money(mandate.total_micros))}


def revoke_mandate(ledger: Ledger, store: ApprovalStore, mandate_id: str, reason: str) -> Revoked:
    """End a mandate at once: first in the ledger, where orders take their room, then in the log."""
    action, mandate = find_mandate(store, mandate_id)
    whole = action_hash(action)
    use, was_revoked = mandate_use(ledger, whole), store.is_revoked(whole)
    close_mandate(ledger, whole)
    store.revoke(whole, by=machine_user(), reason=reason)
    if was_revoked:
        return Revoked(whole, mandate.name, "revoked")
    return Revoked(whole, mandate.name, "proposed" if use is None else "ended" if use.closed else "in force")


def find_mandate(store: ApprovalStore, mandate_id: str) -> tuple[SignedAction, Mandate]:
    """The only mandate whose id begins with these digits."""
    action = find_request(store, mandate_id, "mandate").action
    if action.mandate is None:
        raise BadInput(f"action {mandate_id} is no mandate")
    return action, action.mandate


def mandate_statuses(settings: Settings, ledger: Ledger, store: ApprovalStore, trust: Trust) -> list[MandateStatus]:
    """Every mandate that was proposed, the oldest first."""
    return [
        _status(settings, ledger, store, trust, request.action, request.action.mandate)
        for request in store.requests()
        if request.action.mandate is not None
    ]


def _status(
    settings: Settings, ledger: Ledger, store: ApprovalStore, trust: Trust, action: SignedAction, mandate: Mandate
) -> MandateStatus:
    wanted = action_hash(action)
    policy = load_policy(policy_name(settings, action.world))
    use, why = mandate_use(ledger, wanted), _why_ended(ledger, store, action)
    if why:
        state = "revoked" if store.is_revoked(wanted) else "ended"
    elif _signed_before_release(ledger, store, action):
        state, why = "ended", _STOPPED
    elif not store.is_used(action):
        state = store.state(action, policy, trust)
        if state in ("approved", "escalate", "waiting") and _is_over(ledger, mandate):
            state, why = "ended", f"its last day was {mandate.last_day}"
    elif use is None:
        state = "signed, not opened"
    else:
        state = _state_in_force(ledger, store, action, trust, policy)
    return MandateStatus(wanted, action, mandate, state, store.signed_by(action), use, why)


def why_ended(settings: Settings, ledger: Ledger) -> dict[str, str]:
    """Why each mandate that the ledger has closed has ended, by its id; none if the approvals cannot be read."""
    try:
        store = existing_approvals(settings)
        actions = [request.action for request in store.requests() if request.action.mandate is not None]
        return {action_hash(action): why for action in actions if (why := _why_ended(ledger, store, action))}
    except GaelpError:
        return {}


def _why_ended(ledger: Ledger, store: ApprovalStore, action: SignedAction) -> str:
    """Why a mandate was revoked or closed; empty if it was not."""
    if revocation := store.revocation(action_hash(action)):
        return f"revoked by {revocation.by}: {revocation.reason}"
    use = mandate_use(ledger, action_hash(action))
    return _why_closed(ledger, store, action, use) if use is not None and use.closed else ""


def _why_closed(ledger: Ledger, store: ApprovalStore, action: SignedAction, use: MandateUse) -> str:
    """Why the ledger has closed a mandate that nobody revoked."""
    if use.spent.micros > use.total.micros:
        return f"its cost, {use.spent}, went beyond its ceiling of {use.total}"
    if is_fenced(ledger) or _signed_before_release(ledger, store, action):
        return _STOPPED
    return "the cost of one of its campaigns went beyond what was reserved (`gaelp violations list`)"


def _signed_before_release(ledger: Ledger, store: ApprovalStore, action: SignedAction) -> bool:
    """Whether somebody signed it before the last release of a stop: then it can no longer be put in force."""
    return signed_before_release(ledger, [given.statement.issued_at for given in store.approvals(action)])


def _state_in_force(
    ledger: Ledger, store: ApprovalStore, action: SignedAction, trust: Trust, policy: ApprovalPolicy
) -> str:
    mandate = action.mandate
    if mandate is None or _is_over(ledger, mandate):
        return "expired"
    try:
        store.in_force(action_hash(action), policy, trust)
    except Refused:
        return "keys revoked"
    return "in force"


def _check_account(ledger: Ledger, mandate: Mandate) -> AdAccount:
    account = known_account(ledger, mandate.account)
    if account.currency != mandate.currency:
        raise BadInput(f"the mandate is in {mandate.currency}, account {account.id} is billed in {account.currency}")
    if _today(ledger, account) > mandate.last_day:
        raise BadInput(
            f"the mandate's last_day is {mandate.last_day}, today is {_today(ledger, account)}: name today or a later"
            " day"
        )
    return account


def _is_over(ledger: Ledger, mandate: Mandate) -> bool:
    return _today(ledger, known_account(ledger, mandate.account)) > mandate.last_day


def _today(ledger: Ledger, account: AdAccount) -> date:
    return account_day(ledger.clock.now(), account.time_zone)
