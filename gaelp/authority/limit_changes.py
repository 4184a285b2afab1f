"""Change how much may be spent: anyone may lower a limit; raising one takes the signatures that the policy asks for.

The order is always the same, because each step depends on the one before: check everything that can be checked; use up
the signatures; change the ledger, in a transaction that checks again and remembers the signatures; write the audit log.
So no signature is used for what cannot be done, and nothing is recorded that has not happened. After a crash between
two steps, repeating the command completes it: used approvals are valid again for the same action on the same ledger,
the ledger makes a signed change once, and the log gets every signed change of the ledger that it lacks. A ledger that
lacks what the log has is an older or another one, and nothing is raised on it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from gaelp.approvals import ApprovalPolicy, ApprovalStore, RequestFacts, SignedAction, action_hash, load_policy
from gaelp.approvals.action import LiveOrSandbox
from gaelp.approvals.policy import policy_name
from gaelp.authority.audit_records import (
    check_approvals_know,
    check_books_know,
    check_unsigned_allowed,
    open_approvals,
    record,
    record_unsigned_limit,
    report_unrecorded,
    signed_body,
    unsigned_body,
)
from gaelp.authority.limit_audit import LIMIT_SET
from gaelp.authority.signatures import Signer, describe_rejections, next_open_attempt, require_signed
from gaelp.budget.ledger import (
    Cap,
    ExpectedLimit,
    Ledger,
    LimitSet,
    SignedChange,
    books_id,
    check_limit,
    check_unsigned,
    set_limit,
    signed_changes,
)
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.money import Money

__all__ = ["LimitChange", "change_limit", "change_with_authority", "lower"]

Made = TypeVar("Made")
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class LimitChange:
    """One change of a limit or a cap; `still_wanted` raises if it was made or has become another one meanwhile."""

    kind: str  # of the row in the audit log
    subject: str  # what people sign
    account: str
    most: Money
    cap: str
    before: Money | None
    still_wanted: Callable[[], object]
    options: str = ""  # what an advised command needs to have the same settings

    def facts(self, before: Money | None) -> dict[str, str]:
        """What the audit log records of it in any case."""
        limits = {"limit": str(self.most), "before": str(before or "none")}
        return {"cap": self.cap, "account": self.account, **limits}

    @property
    def request_facts(self) -> RequestFacts:
        """What a request for it depends on."""
        if self.kind != LIMIT_SET:
            return RequestFacts(change="reopen", cap=self.cap)
        return RequestFacts(change="limit", cap=self.cap, before_micros=self.before.micros if self.before else None)


def change_limit(
    settings: Settings,
    world: Callable[[], LiveOrSandbox],
    ledger: Ledger,
    cap: Cap,
    limit: Money,
    signer: Callable[[], Signer],
    *,
    account_id: str,
    options: str = "",
) -> LimitSet:
    """Set a limit; `account_id` is empty for a total. World and signer are asked for only if it rises."""
    before = check_limit(ledger, cap, limit, account_id=account_id)
    expected = ExpectedLimit(before)
    change = LimitChange(
        kind=LIMIT_SET,
        subject=f"limit {cap.kind} {cap.subject}: {before or 'none'} -> {limit}",
        account=account_id or "all",
        most=limit,
        cap=f"{cap.kind}:{cap.subject}",
        before=before,
        still_wanted=lambda: check_limit(ledger, cap, limit, account_id=account_id, expected=expected),
        options=options,
    )
    if before is not None and limit <= before:
        return lower(
            settings, ledger, change, lambda: set_limit(ledger, cap, limit, account_id=account_id, expected=expected)
        )
    return change_with_authority(
        settings,
        world(),
        ledger,
        change,
        signer,
        lambda signed: set_limit(ledger, cap, limit, account_id=account_id, expected=expected, signed=signed),
    )


def lower(settings: Settings, ledger: Ledger, change: LimitChange, make: Callable[[], LimitSet]) -> LimitSet:
    """Lower a limit: neither the policy, nor the list of approvers, nor the audit log can prevent that."""
    done = make()
    _record_unsigned(settings, ledger, change, done.before)
    return done


def change_with_authority(
    settings: Settings,
    world: LiveOrSandbox,
    ledger: Ledger,
    change: LimitChange,
    signer: Callable[[], Signer],
    make: Callable[[SignedChange | None], Made],
) -> Made:
    """Make a change that lets more be spent: with signatures, or without where no real money can move.

    `world` is that of the ad platform; in a live one, a policy for the sandbox never applies.
    """
    name = policy_name(settings, world)
    policy = load_policy(name)
    if not policy.sandbox:
        return _with_signatures(settings, ledger, change, (name, policy, signer()), make)
    check_unsigned(ledger, change.subject)
    check_unsigned_allowed(settings, change.subject)
    record(settings, ledger)  # fails before anything is changed if the log cannot be written
    made = make(None)
    _record_unsigned(settings, ledger, change, change.before)
    return made


def _record_unsigned(settings: Settings, ledger: Ledger, change: LimitChange, before: Money | None) -> None:
    body = unsigned_body(settings, change.facts(before))

    def write() -> None:
        if change.kind == LIMIT_SET:
            record_unsigned_limit(settings, ledger, body, (before, change.most))
        else:
            record(settings, ledger, change.kind, body)

    report_unrecorded(change.subject, write)


def _with_signatures(
    settings: Settings,
    ledger: Ledger,
    change: LimitChange,
    authority: tuple[str, ApprovalPolicy, Signer],
    make: Callable[[SignedChange | None], Made],
) -> Made:
    name, policy, signer = authority
    check_approvals_know(settings, ledger)
    check_books_know(settings, ledger)
    books = books_id(ledger)
    used_for = f"books {books}: "
    store = open_approvals(settings)
    done = {known.action_hash for known in signed_changes(ledger)}
    change.still_wanted()  # after reading what is done: whoever finished in between is noticed
    action = next_open_attempt(store, _action(change), policy, signer.trust, done, used_for=used_for)
    needed = (
        f"{change.subject} needs the signatures of {policy.quorum} people: each runs this command with --key FILE"
        f" --reason WHY{_how_to_ask(store, action, signer, change.options)}"
    )
    if rejections := describe_rejections(store, action, policy, signer.trust):
        needed = f"{rejections}. {needed}"
    granted = require_signed(store, action, policy, signer, needed, used_for=used_for, facts=change.request_facts)
    body = signed_body({**change.facts(change.before), "books": books}, name, granted)
    made = make(SignedChange(granted.action_hash, name, change.kind, json.dumps(body)))
    report_unrecorded(change.subject, lambda: record(settings, ledger))
    return made


def _how_to_ask(store: ApprovalStore, action: SignedAction, signer: Signer, options: str) -> str:
    """The other way to sign, for whoever has no key."""
    if signer.key is not None:
        return ""
    if signer.asks or store.is_requested(action):
        return f", or `gaelp approvals approve {action_hash(action)[:_DIGITS]} --key FILE --reason WHY{options}`"
    return ". To ask them, repeat it with --request, which stores the request"


def _action(change: LimitChange) -> SignedAction:
    try:
        # The requester is nobody's name, so that everyone may approve and all of them sign the same action.
        return SignedAction(
            kind="budget",
            run_id="ledger",
            requester="ledger",
            subject=change.subject,
            account=change.account,
            currency=change.most.currency,
            limits_micros={"limit": change.most.micros},
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise BadInput(
            f"{change.subject[:60]!r} cannot be signed: {first['msg']}. Choose a shorter, plain id"
        ) from None
