"""Who may change a limit: lowering is for everybody, and what lets more be spent takes what the policy asks for.

The order is always the same, because each step rests on the one before: everything that can be checked is checked; then
the signatures are used up; then the books are changed, in a transaction that checks again and remembers the signatures;
then the audit log is told. So no signature is used for what cannot be done, and nothing is recorded that has not
happened. A crash between two steps is mended by repeating the command: used approvals are given again to the same
action on the same books, which make a signed change once, and the log is told of every signed change in the books that
it lacks. Books that lack what the log tells of are older or other ones, and nothing is raised on them.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gaelp.cli.ledger_audit import LIMIT_SET
from gaelp.cli.ledger_records import (
    check_books,
    check_log,
    check_log_unsigned,
    done_then_recorded,
    record,
    record_unsigned_limit,
    signed_body,
    unsigned_body,
)
from gaelp.cli.signing import Signature, first_open, require_signed
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.money import Money

if TYPE_CHECKING:
    from gaelp.approvals import Action, ApprovalPolicy, ApprovalStore
    from gaelp.budget.ledger import Ledger, LimitSet, SignedChange

__all__ = ["Change", "lowered", "with_authority"]

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be changed; `still_wanted` raises if it is done or has become something else meanwhile."""

    kind: str  # of the row in the audit log
    words: str  # what people sign
    account: str
    most: Money
    cap: str
    before: Money | None
    still_wanted: Callable[[], object]

    def told(self, before: Money | None) -> dict[str, str]:
        """What the audit log says of it in any case."""
        limits = {"limit": str(self.most), "before": str(before or "none")}
        return {"cap": self.cap, "account": self.account, **limits}


def lowered(settings: Settings, ledger: "Ledger", change: Change, make: Callable[[], "LimitSet"]) -> "LimitSet":
    """Lower a limit: neither the policy, nor the list of approvers, nor the audit log can keep anybody from it."""
    done = make()
    _record_unsigned(settings, ledger, change, done.before)
    return done


def with_authority(
    settings: Settings,
    ledger: "Ledger",
    change: Change,
    signature: Callable[[], Signature],
    make: "Callable[[SignedChange | None], Made]",
) -> Made:
    """Make a change that lets more be spent: with signatures, or without where no real money can move."""
    from gaelp.approvals import load_policy  # noqa: PLC0415 - cryptography takes its time
    from gaelp.budget.ledger import check_unsigned  # noqa: PLC0415 - sqlalchemy takes its time

    name = _policy_name(settings)
    policy = load_policy(name)
    if not policy.sandbox:
        return _with_signatures(settings, ledger, change, (name, policy, signature()), make)
    check_unsigned(ledger, change.words)
    check_log_unsigned(settings, change.words)
    record(settings, ledger)  # only to see, before anything is changed, that it can be written
    made = make(None)
    _record_unsigned(settings, ledger, change, change.before)
    return made


def _record_unsigned(settings: Settings, ledger: "Ledger", change: Change, before: Money | None) -> None:
    body = unsigned_body(settings, change.told(before))

    def write() -> None:
        if change.kind == LIMIT_SET:
            record_unsigned_limit(settings, ledger, body, (before, change.most))
        else:
            record(settings, ledger, change.kind, body)

    done_then_recorded(change.words, write)


def _with_signatures(
    settings: Settings,
    ledger: "Ledger",
    change: Change,
    authority: "tuple[str, ApprovalPolicy, Signature]",
    make: "Callable[[SignedChange | None], Made]",
) -> Made:
    from gaelp.budget.ledger import SignedChange, books_id, signed_changes  # noqa: PLC0415 - sqlalchemy takes its time

    name, policy, signature = authority
    check_log(settings, ledger)
    check_books(settings, ledger)
    books = books_id(ledger)
    used_for = f"books {books}: "
    action = _action(change)

    def open_action(store: "ApprovalStore") -> "Action":
        done = {known.action_hash for known in signed_changes(ledger)}
        change.still_wanted()  # after the look at what is done: whoever finished in between is noticed
        return first_open(store, action, policy, signature.trusted, done, used_for=used_for)

    granted = require_signed(
        settings, policy, open_action, signature, lambda given: _needed(change, given, policy), used_for=used_for
    )
    body = signed_body({**change.told(change.before), "books": books}, name, granted)
    made = make(SignedChange(granted.action_hash, name, change.kind, json.dumps(body)))
    done_then_recorded(change.words, lambda: record(settings, ledger))
    return made


def _policy_name(settings: Settings) -> str:
    """The policy in force: where real money can move on the platform of the settings, never one for the sandbox."""
    from gaelp.approvals.policy import policy_name  # noqa: PLC0415 - cryptography takes its time
    from gaelp.platforms.catalog import connect_platform  # noqa: PLC0415 - as above

    return policy_name(settings, connect_platform(settings).world if settings.platform.name else "sandbox")


def _action(change: Change) -> "Action":
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from gaelp.approvals import Action  # noqa: PLC0415 - as above

    try:
        # Nobody in person is the one who asks, so that everyone may approve and all of them sign the same action.
        return Action(
            kind="budget",
            run_id="ledger",
            requester="ledger",
            subject=change.words,
            account=change.account,
            currency=change.most.currency,
            limits_micros={"limit": change.most.micros},
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise BadInput(f"{change.words[:60]!r} cannot be signed: {first['msg']}. Choose a shorter, plain id") from None


def _needed(change: Change, given: int, policy: "ApprovalPolicy") -> str:
    return (
        f"{change.words}: needs the signatures of {policy.quorum} people, {given} have signed. Each runs this command"
        " with --key FILE --reason WHY"
    )
