"""What several people have to sign before a command does it: everyone runs the same command, with their own key."""

from collections.abc import Callable
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
    from gaelp.approvals import Action, ApprovalPolicy, ApprovalStore, SigningKey, Trust

__all__ = [
    "KeyOption",
    "PassphraseFileOption",
    "ReasonOption",
    "Signature",
    "TrustOption",
    "first_open",
    "require_signed",
    "signature_from",
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
) -> None:
    """Raise unless enough people have signed exactly this action, which is then used up.

    The key at hand signs first. `what_is_needed` says, given how many have signed, what is still missing.
    """
    from gaelp.approvals import ApprovalStore, approvals_place, sign  # noqa: PLC0415 - cryptography takes its time

    clock = SystemClock()
    store = ApprovalStore(approvals_place(settings), clock)
    action = action_of(store)
    store.request(action)
    if signature.key is not None:
        if not signature.reason:
            raise BadInput("--reason is empty: say why, for that is what you sign")
        holds = min(_APPROVAL_HOLDS, timedelta(minutes=policy.valid_minutes_max))
        at = clock.now()
        signed = sign(action, signature.key, decision="approve", reason=signature.reason, at=at, valid_for=holds)
        store.submit(signed, policy, signature.trusted)
    if store.state(action, policy, signature.trusted) in ("waiting", "escalate"):
        raise WaitingForPerson(what_is_needed(len(store.approvals(action))))
    granted = store.consume(action, policy, signature.trusted, consumer=f"{action.kind} {action.subject}"[:200])
    granted.check(action, clock.now())


def first_open(store: "ApprovalStore", action: "Action", policy: "ApprovalPolicy", trusted: "Trust") -> "Action":
    """The action under the lowest number that is still open: what is done twice is asked twice."""
    for attempt in count(1):
        numbered = action.model_copy(update={"attempt": attempt})
        store.request(numbered)
        if not store.is_used(numbered) and store.state(numbered, policy, trusted) not in ("expired", "rejected"):
            return numbered
    raise Refused("no attempt is left")
