"""From approvals to an authorisation, or to a refusal that says what was seen, what is needed and the way out."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.approval import Approval
from gaelp.approvals.approval_status import ApprovalStatus, Circumstances, approval_status
from gaelp.approvals.field_types import Instant, Nonce, Sha256, require_aware
from gaelp.approvals.policy import ApprovalPolicy, ApprovalRequest, RequestState
from gaelp.approvals.trust import Trust
from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.config.names import Name, Slug
from gaelp.errors import Refused

__all__ = [
    "ApprovalTally",
    "ApprovalTerms",
    "Authorisation",
    "check_granted",
    "missing_approvers",
    "require",
    "state_of",
    "tally",
]


class ApprovalTerms(Frozen):
    """What the policy asked for, and the hash of the list of approvers: were they the true ones?"""

    model_config = ConfigDict(strict=True)

    quorum: int
    roles: tuple[Slug, ...]
    at_least: dict[Slug, int]
    four_eyes: bool
    sandbox: bool
    trust_hash: Sha256

    @classmethod
    def of(cls, policy: ApprovalPolicy, trust: Trust) -> "ApprovalTerms":
        """The terms of a policy and a list."""
        asked = policy.model_dump(include={"quorum", "roles", "at_least", "four_eyes", "sandbox"})
        return cls(**asked, trust_hash=fingerprint(trust))


class Authorisation(Frozen):
    """The proof that one action may be done: who approved it, under which policy, and until when."""

    model_config = ConfigDict(strict=True)

    action_hash: Sha256
    approvers: tuple[Name, ...]
    nonces: tuple[Nonce, ...]
    policy_hash: Sha256
    signed: bool  # False: rests on names alone, in a sandbox
    granted_at: Instant
    expires_at: Instant
    terms: ApprovalTerms | None = None  # None: was granted before they were kept

    @model_serializer(mode="wrap")
    def _as_it_was_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The log has the exact text of every use: what was granted without terms is still written without them.
        values: dict[str, Any] = write(self)
        if self.terms is None:
            values.pop("terms", None)
        return values

    def check(self, action: SignedAction, at: datetime) -> None:
        """Refuse any other action, and any time at which not all of the approvals are in force."""
        if action_hash(action) != self.action_hash:
            raise Refused(
                f"the authorisation is for action {self.action_hash[:12]}, this one is {action_hash(action)[:12]}:"
                " have this one approved"
            )
        if not self.granted_at <= at < self.expires_at:
            raise Refused(
                f"the authorisation holds from {self.granted_at.isoformat()} to {self.expires_at.isoformat()},"
                f" it is {at.isoformat()}: have the action approved again"
            )


@dataclass(frozen=True, slots=True)
class ApprovalTally:
    """What the approvals of an action are worth together."""

    statuses: tuple[ApprovalStatus, ...]
    missing: tuple[str, ...]  # what the policy still asks for, in words
    can_sign: tuple[str, ...]  # who is trusted, has not approved, and could give some of what is missing

    def of(self, worth: str) -> tuple[ApprovalStatus, ...]:
        """The approvals with that worth."""
        return tuple(entry for entry in self.statuses if entry.worth == worth)


def tally(approvals: Iterable[Approval], around: Circumstances) -> ApprovalTally:
    """Check every approval against the action and count those that are valid, each person once."""
    statuses = _without_doubles(tuple(approval_status(approval, around) for approval in approvals))
    who = {entry.approval.statement.approver for entry in statuses if entry.worth == "approves"}
    return ApprovalTally(statuses, missing_approvers(who, around), tuple(_able_to_sign(who, around)))


def require(
    action: SignedAction,
    approvals: Iterable[Approval],
    policy: ApprovalPolicy,
    trust: Trust,
    at: datetime,
    *,
    used_nonces: Container[str] = frozenset(),
) -> Authorisation:
    """The authorisation that these approvals give to exactly this action now; Refused if they do not."""
    require_aware(at)
    _check_world(action, policy)
    given = tally(approvals, Circumstances(action, policy, trust, at, used_nonces))
    if given.of("rejects") or given.of("void") or given.missing:
        raise Refused(_refusal(action, given))
    valid = given.of("approves")
    return Authorisation(
        action_hash=action_hash(action),
        approvers=tuple(sorted({entry.approval.statement.approver for entry in valid})),
        nonces=tuple(sorted(entry.approval.statement.nonce for entry in valid)),
        policy_hash=fingerprint(policy),
        signed=all(entry.approval.signature is not None for entry in valid),
        granted_at=at,
        expires_at=min(entry.approval.statement.expires_at for entry in valid),
        terms=ApprovalTerms.of(policy, trust),
    )


def check_granted(
    action: SignedAction, granted: Authorisation, approvals: Iterable[Approval], policy: ApprovalPolicy, trust: Trust
) -> None:
    """Refuse an authorisation that these approvals do not give as of its own time: somebody wrote it by hand."""
    if action.world == "sandbox":
        return  # no real money moves, and its policies change more often
    again = require(action, approvals, policy, trust, granted.granted_at)
    kept = {"action_hash", "approvers", "nonces", "signed"}
    if again.model_dump(include=kept) != granted.model_dump(include=kept) or granted.expires_at > again.expires_at:
        raise Refused(
            f"the stored use of action {action_hash(action)[:12]} at {granted.granted_at.isoformat()} is not what its"
            " approvals give: it was never granted. Run `gaelp audit verify`, and ask for a new action."
        )


def state_of(
    request: ApprovalRequest, approvals: Iterable[Approval], policy: ApprovalPolicy, trust: Trust, at: datetime
) -> RequestState:
    """The state of a request at an instant; one rejection ends it, and a deadline that passed is not reopened."""
    given = tally(approvals, Circumstances(request.action, policy, trust, require_aware(at)))
    if given.of("rejects"):
        return "rejected"
    if at >= request.expires_at(policy):
        return "expired"
    if not given.missing and not given.of("void"):
        return "approved"
    return "escalate" if at >= request.escalates_at(policy) else "waiting"


def _check_world(action: SignedAction, policy: ApprovalPolicy) -> None:
    if policy.sandbox and action.world != "sandbox":
        raise Refused(
            f"a {action.kind} of run {action.run_id!r} can move real money, and the policy is one for a sandbox:"
            " use a policy with sandbox: false and have it signed"
        )


def _without_doubles(statuses: tuple[ApprovalStatus, ...]) -> tuple[ApprovalStatus, ...]:
    """The same approval given twice counts once; two different ones with the same nonce are both void."""
    distinct = tuple({entry.approval: entry for entry in statuses}.values())
    nonces = Counter(entry.approval.statement.nonce for entry in distinct)
    return tuple(
        ApprovalStatus(entry.approval, "void", "another approval has the same nonce")
        if nonces[entry.approval.statement.nonce] > 1
        else entry
        for entry in distinct
    )


def missing_approvers(who: set[str], around: Circumstances) -> tuple[str, ...]:
    """What the policy still asks for, in words, if these people approve."""
    return tuple(_missing(who, around))


def _missing(who: set[str], around: Circumstances) -> Iterable[str]:
    policy = around.policy
    if len(who) < policy.quorum:
        yield f"{policy.quorum - len(who)} more of {policy.quorum} approvers"
    for role, lacking in _lacking_roles(who, around).items():
        yield f"{lacking} more with the role {role}"


def _lacking_roles(who: set[str], around: Circumstances) -> dict[str, int]:
    have = Counter(role for name in who for role in around.trust.roles_of(name, around.at))
    return {role: count - have[role] for role, count in sorted(around.policy.at_least.items()) if have[role] < count}


def _able_to_sign(who: set[str], around: Circumstances) -> Iterator[str]:
    """Who could still approve; only those with a lacking role if every further person must have one."""
    policy, lacking = around.policy, _lacking_roles(who, around)
    roles = set(lacking) if sum(lacking.values()) >= policy.quorum - len(who) else set(policy.roles)
    trusted = {entry.name for entry in around.trust.approvers if entry.trusted_at(around.at)}
    for name in sorted(trusted.difference(who)):
        asks = policy.four_eyes and name.casefold() == around.action.requester.casefold()
        if not asks and (not roles or roles & around.trust.roles_of(name, around.at)):
            yield name


def _refusal(action: SignedAction, given: ApprovalTally) -> str:
    what = f"{action.kind} of run {action.run_id!r} (action {action_hash(action)[:12]})"
    decisions = [f"{entry.approval.statement.approver}: {entry.worth} ({entry.why})" for entry in given.statuses]
    if given.of("rejects"):
        way_out = "It was rejected, which ends it: change what was objected to and ask for a new action."
    elif given.of("void"):
        way_out = "One of the approvals cannot be trusted: run `gaelp audit verify` before anything else."
    else:
        way_out = f"Needed: {', '.join(given.missing)}. Have them sign exactly this action."
    return f"{what} is not approved. Seen: {'; '.join(decisions) or 'no approval'}. {way_out}"
