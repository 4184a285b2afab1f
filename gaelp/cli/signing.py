"""What several people have to sign before a command does it: everyone runs the same command, with their own key."""

import os
import pwd
from collections.abc import Callable, Container
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaelp.cli.keys import PassphraseFileOption, TrustOption, load_trusted, open_key
from gaelp.clock import SystemClock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, Refused, WaitingForPerson

if TYPE_CHECKING:
    from gaelp.approvals import Action, ApprovalPolicy, ApprovalStore, Authorisation, SigningKey, Trust
    from gaelp.approvals.authorise import Tally

__all__ = [
    "KeyOption",
    "PassphraseFileOption",
    "ReasonOption",
    "Signature",
    "TrustOption",
    "first_open",
    "machine_user",
    "require_signed",
    "signature_from",
    "still_needed",
]

_APPROVAL_HOLDS = timedelta(hours=8)

KeyOption = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="Approve it with this private key.", show_default=False)
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; signed with the approval.")]


@dataclass(frozen=True, slots=True)
class Signature:
    """Who is trusted, and the key and reason of whoever is at the keyboard; no key: only to see how it stands."""

    trusted: "Trust"
    key: "SigningKey | None"
    reason: str


def signature_from(
    settings: Settings, key: Path | None, reason: str, passphrase_file: Path | None, trust_file: Path | None
) -> Signature:
    """What the options of a command say about signing it."""
    trusted = load_trusted(trust_file, settings)
    return Signature(trusted, None if key is None else open_key(key, passphrase_file), reason.strip())


def require_signed(
    settings: Settings,
    policy: "ApprovalPolicy",
    action_of: "Callable[[ApprovalStore], Action]",
    signature: Signature,
    what_is_needed: Callable[[int], str],
    *,
    used_for: str = "",
) -> "Authorisation":
    """Raise unless enough people have signed exactly this action, which is then used up.

    The key at hand signs first. `what_is_needed` says, given how many people have signed, what it is about; what the
    policy still asks for is added to that. Where the approvals were used up already, by another who signed at the same
    moment or before a crash, the answer is the same again, but only for what they were `used_for`.
    """
    from gaelp.approvals import ApprovalStore, approvals_place  # noqa: PLC0415 - cryptography takes its time
    from gaelp.cli.ledger_records import check_kept  # noqa: PLC0415 - it needs this module

    check_kept(settings)
    clock = SystemClock()
    store = ApprovalStore(approvals_place(settings), clock)
    action = action_of(store)
    store.request(action)
    if not store.is_used(action):
        _sign(store, action, policy, signature)
        found = store.tally(action, policy, signature.trusted)
        undecided = store.state(action, policy, signature.trusted) in ("waiting", "escalate")
        if undecided and found.missing and not store.is_used(action):
            people = len({entry.approval.statement.approver for entry in found.of("approves")})
            raise WaitingForPerson(f"{what_is_needed(people)}. {still_needed(found)}")
    granted = store.consume(action, policy, signature.trusted, consumer=_consumer(action, used_for))
    granted.check(action, clock.now())
    return granted


def still_needed(found: "Tally") -> str:
    """Whose approvals count, what does not count and why, and what the policy still asks for."""
    who = sorted({entry.approval.statement.approver for entry in found.of("approves")})
    idle = [f"{entry.approval.statement.approver} ({entry.why})" for entry in (*found.of("idle"), *found.of("void"))]
    besides = f", without effect by {'; '.join(idle)}" if idle else ""
    return f"Signed by {', '.join(who) or 'nobody'}{besides}. Still needed: {', '.join(found.missing)}"


def first_open(
    store: "ApprovalStore",
    action: "Action",
    policy: "ApprovalPolicy",
    trusted: "Trust",
    done: Container[str],
    *,
    used_for: str,
) -> "Action":
    """The action under the lowest number that is still open: what is done twice is asked twice.

    One whose approvals were used and that is not among the hashes of what is `done` is open while they are in force: a
    crash came between, and repeating it has to get through. Not so if they were used for anything else, such as other
    books that stood in this place: there it may well have been done.
    """
    from gaelp.approvals import action_hash  # noqa: PLC0415 - cryptography takes its time

    for attempt in count(1):
        numbered = action.model_copy(update={"attempt": attempt})
        store.request(numbered)
        if action_hash(numbered) in done:
            continue
        if used := store.use(numbered):
            same = store.consumer_of(numbered) == _consumer(numbered, used_for)
            if same and SystemClock().now() < used.expires_at:
                return numbered
        elif store.state(numbered, policy, trusted) not in ("expired", "rejected"):
            return numbered
    raise Refused("no attempt is left")


def machine_user() -> str:
    """Who is at the keyboard, as the machine knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"


def _consumer(action: "Action", used_for: str) -> str:
    """What approvals are used up for: the same again gets the same answer, anything else none."""
    return f"{used_for}{action.kind} {action.subject}"[:200]


def _sign(store: "ApprovalStore", action: "Action", policy: "ApprovalPolicy", signature: Signature) -> None:
    from gaelp.approvals import sign  # noqa: PLC0415 - cryptography takes its time

    if signature.key is None:
        return
    if not signature.reason:
        raise BadInput("--reason is empty: say why, for that is what you sign")
    holds = min(_APPROVAL_HOLDS, timedelta(minutes=policy.valid_minutes_max))
    at = SystemClock().now()
    signed = sign(action, signature.key, decision="approve", reason=signature.reason, at=at, valid_for=holds)
    store.submit(signed, policy, signature.trusted)
