"""Collect signatures for one action until its policy is satisfied, then use them up: request, sign, consume.

Everyone who approves runs the same command with their own key; the last signature needed completes it.
"""

from collections.abc import Container
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

from gaelp.approvals import (
    ApprovalPolicy,
    ApprovalStore,
    Authorisation,
    SignedAction,
    SigningKey,
    Trust,
    action_hash,
    sign,
)
from gaelp.approvals.approval import Approval, ApprovalDecision
from gaelp.approvals.authorise import ApprovalTally
from gaelp.approvals.policy import RequestFacts, RequestState
from gaelp.errors import BadInput, Refused, WaitingForPerson

__all__ = [
    "Signer",
    "describe_missing",
    "describe_rejections",
    "has_signed",
    "next_open_attempt",
    "require_signed",
    "submit_decision",
]

_APPROVAL_HOLDS = timedelta(hours=8)
_CONSUMER_MAX = 200
_DIGITS = 12
_NOBODY_CAN_SIGN = "nobody who is trusted can: `gaelp keys trust FILE --role ROLE` adds a person"


@dataclass(frozen=True, slots=True)
class Signer:
    """The key and reason of the person who decides, and whose keys are trusted.

    No key: only report the state, or with `asks`, ask others to sign.
    """

    trust: Trust
    key: SigningKey | None
    reason: str
    asks: bool = False


def submit_decision(
    store: ApprovalStore,
    action: SignedAction,
    policy: ApprovalPolicy,
    signer: Signer,
    decision: ApprovalDecision = "approve",
    *,
    valid_for: timedelta | None = None,
) -> RequestState:
    """Sign a decision on an action that was requested, store it, and return the request's state.

    It is valid for as long as the policy allows, or for `valid_for` if that is shorter.
    """
    store.submit(_decision(store, action, policy, signer, decision, valid_for), policy, signer.trust)
    return store.state(action, policy, signer.trust)


def _decision(
    store: ApprovalStore,
    action: SignedAction,
    policy: ApprovalPolicy,
    signer: Signer,
    decision: ApprovalDecision,
    valid_for: timedelta | None,
) -> Approval:
    if signer.key is None:
        raise BadInput("no key to sign with: give one with --key FILE")
    if not signer.reason:
        raise BadInput("--reason is empty: say why, for that is what you sign")
    longest = timedelta(minutes=policy.valid_minutes_max)
    holds = longest if valid_for is None else min(valid_for, longest)
    at = store.clock.now()
    return sign(action, signer.key, decision=decision, reason=signer.reason, at=at, valid_for=holds)


def has_signed(store: ApprovalStore, action: SignedAction, policy: ApprovalPolicy, signer: Signer) -> bool:
    """Whether an approval by the signer counts for an open request: another one would change nothing."""
    if store.is_used(action) or store.state(action, policy, signer.trust) in ("expired", "rejected"):
        return False
    counting = store.tally(action, policy, signer.trust).of("approves")
    return signer.key is not None and signer.key.name in {entry.approval.statement.approver for entry in counting}


def require_signed(
    store: ApprovalStore,
    action: SignedAction,
    policy: ApprovalPolicy,
    signer: Signer,
    what_is_needed: str,
    *,
    used_for: str = "",
    facts: RequestFacts | None = None,
) -> Authorisation:
    """Use up the approvals of exactly this action; WaitingForPerson while the policy asks for more of them.

    The signer's key signs first. While signatures are missing, the message has `what_is_needed`: what is approved, and
    how to sign it. Approvals that were used up already, by another last signer or before a crash, give the same answer
    again if they were used for the same action and the same `used_for`.

    Without a key nothing is stored, unless the signer asks others to sign; nor with a key that does not count. A
    request that is stored keeps the `facts`.
    """
    if not store.is_requested(action):
        _check_can_request(store, action, policy, signer, what_is_needed)
        store.request(action, facts)
    if not store.is_used(action):
        is_new = _sign_if_open(store, action, policy, signer)
        given = store.tally(action, policy, signer.trust)
        undecided = store.state(action, policy, signer.trust) in ("waiting", "escalate")
        if undecided and given.missing and not store.is_used(action):
            raise WaitingForPerson(f"{_effect(action, signer, is_new)}{what_is_needed}. {describe_missing(given)}")
    granted = store.consume(action, policy, signer.trust, consumer=_consumer(action, used_for))
    granted.check(action, store.clock.now())
    return granted


def _check_can_request(
    store: ApprovalStore, action: SignedAction, policy: ApprovalPolicy, signer: Signer, what_is_needed: str
) -> None:
    if signer.key is not None:
        would_sign = _decision(store, action, policy, signer, "approve", _APPROVAL_HOLDS)
        store.check_counts(would_sign, action, policy, signer.trust)
    elif not signer.asks:
        missing = describe_missing(store.tally(action, policy, signer.trust))
        raise WaitingForPerson(f"{what_is_needed}. {missing}. Nothing is stored yet")


def _sign_if_open(store: ApprovalStore, action: SignedAction, policy: ApprovalPolicy, signer: Signer) -> bool:
    """Sign unless there is no key or the signer has signed; return whether a signature was added.

    Where another signer has used the approvals meanwhile, no signature is needed.
    """
    if signer.key is None or has_signed(store, action, policy, signer):
        return False
    try:
        submit_decision(store, action, policy, signer, valid_for=_APPROVAL_HOLDS)
    except Refused:
        if not store.is_used(action):
            raise
        return False
    return True


def _effect(action: SignedAction, signer: Signer, is_new: bool) -> str:
    """What the signer has changed, as the beginning of a message."""
    if signer.key is None:
        return f"Requested as {action_hash(action)[:_DIGITS]}. " if signer.asks else ""
    if is_new:
        return f"The signature of {signer.key.name} is recorded, and more are needed. "
    return f"{signer.key.name} has signed this already, which counts once: nothing new is recorded. "


def describe_missing(given: ApprovalTally) -> str:
    """Who has approved, which signatures do not count and why, what the policy still asks for, and who can give it."""
    who = sorted({entry.approval.statement.approver for entry in given.of("approves")})
    idle = [f"{entry.approval.statement.approver} ({entry.why})" for entry in (*given.of("idle"), *given.of("void"))]
    besides = f", without effect by {'; '.join(idle)}" if idle else ""
    signed = f"Signed by {', '.join(who) or 'nobody'}{besides}"
    if not given.missing:
        return f"{signed}. A decision that cannot be trusted stops everything: run `gaelp audit verify`"
    can_sign = f"{' or '.join(given.can_sign)} can sign" if given.can_sign else _NOBODY_CAN_SIGN
    return f"{signed}. Still needed: {', '.join(given.missing)} ({can_sign})"


def describe_rejections(store: ApprovalStore, action: SignedAction, policy: ApprovalPolicy, trust: Trust) -> str:
    """Who rejected earlier attempts at the same action, when and why, newest last; empty if nobody did."""
    earlier = [action.model_copy(update={"attempt": number}) for number in range(1, action.attempt or 1)]
    statements = [
        entry.approval.statement for attempt in earlier for entry in store.tally(attempt, policy, trust).of("rejects")
    ]
    rejections = [f"{said.approver} on {said.issued_at:%Y-%m-%d %H:%M} UTC ({said.reason})" for said in statements]
    return f"The same was rejected before by {', '.join(rejections)}" if rejections else ""


def next_open_attempt(
    store: ApprovalStore,
    action: SignedAction,
    policy: ApprovalPolicy,
    trust: Trust,
    done: Container[str],
    *,
    used_for: str,
) -> SignedAction:
    """The action with the lowest attempt number that is still open: what is done twice is signed twice.

    It may not be requested yet; nothing is stored here.

    `done` are the hashes of actions that took effect. One whose approvals were used up without taking effect is open
    while they are valid: a crash came between, and repeating the command must complete it. Not so if they were used for
    something else, such as another ledger in the same place, where it may well have taken effect.
    """
    for attempt in count(1):
        numbered = action.model_copy(update={"attempt": attempt})
        if action_hash(numbered) in done:
            continue
        if not store.is_requested(numbered):
            return numbered
        if used := store.use(numbered):
            same = store.consumer_of(numbered) == _consumer(numbered, used_for)
            if same and store.clock.now() < used.expires_at:
                return numbered
        elif store.state(numbered, policy, trust) not in ("expired", "rejected"):
            return numbered
    raise Refused("no attempt is left")


def _consumer(action: SignedAction, used_for: str) -> str:
    """What the approvals are used up for: the same again gets the same answer, anything else is refused."""
    return f"{used_for}{action.kind} {action.subject}"[:_CONSUMER_MAX]
