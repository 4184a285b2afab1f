"""Requests, approvals and their single use, in one database with the audit log: each step is whole or did not happen.

The tables are compared with the audit log before an action is authorised, so that a rejection or a use that somebody
took out of the tables is missed. A list of approvers that is passed in counts without the keys that the log says were
revoked, on this machine or on another one that shares the database.
"""

from collections.abc import Callable
from datetime import datetime

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.agreement import (
    DECIDED,
    REQUESTED,
    USED,
    check_agreement,
    check_all,
    check_decisions,
    check_nonces,
    decided_body,
    requested_body,
    used_body,
)
from gaelp.approvals.approval import Approval
from gaelp.approvals.approval_status import Circumstances, approval_status
from gaelp.approvals.audit import append, has_row
from gaelp.approvals.authorise import ApprovalTally, Authorisation, check_granted, require, state_of, tally
from gaelp.approvals.database import ApprovalDatabase, Session, open_database
from gaelp.approvals.insufficient_uses import InsufficientUse, insufficient_uses
from gaelp.approvals.mandate_validity import REVOKED, Revocation, find_revocation, require_in_force
from gaelp.approvals.policy import ApprovalPolicy, ApprovalRequest, RequestFacts, RequestState
from gaelp.approvals.revocations import read_logged_keys
from gaelp.approvals.tables import (
    all_requests,
    approvals_of,
    as_text,
    is_known,
    known_request,
    request_of,
    use_of,
    used_nonces,
)
from gaelp.approvals.trust import Trust
from gaelp.clock import Clock
from gaelp.database import Place
from gaelp.errors import BadInput, Refused

__all__ = ["ApprovalStore"]

_CONSUMER_MAX = 200


class ApprovalStore:
    """What was requested, what was decided, and what was used up."""

    def __init__(self, place: Place, clock: Clock, *, create: bool = True) -> None:
        self._database: ApprovalDatabase = open_database(place, create=create)
        self._clock = clock

    @property
    def clock(self) -> Clock:
        """The clock that the store reads."""
        return self._clock

    def request(self, action: SignedAction, facts: RequestFacts | None = None) -> ApprovalRequest:
        """Ask people to decide on an action; asking again changes nothing."""
        wanted = action_hash(action)
        with self._database.writing() as session:
            if known := request_of(session, wanted):
                return known
            request = ApprovalRequest(action=action, requested_at=self._clock.now(), facts=facts)
            session.execute("INSERT INTO requests (action_hash, body) VALUES (?, ?)", (wanted, as_text(request)))
            append(session, REQUESTED, requested_body(wanted, request), request.requested_at)
        return request

    def is_requested(self, action: SignedAction) -> bool:
        """Whether somebody has asked for this action."""
        with self._database.reading() as session:
            return request_of(session, action_hash(action)) is not None

    def requests(self) -> tuple[ApprovalRequest, ...]:
        """Every request, the oldest first."""
        with self._database.reading() as session:
            return all_requests(session)

    def submit(self, approval: Approval, policy: ApprovalPolicy, trust: Trust) -> None:
        """Store a decision; one that would not count is refused at once. The same one again changes nothing."""
        said = approval.statement
        with self._database.writing() as session:
            request = request_of(session, said.action_hash)
            if request is None:
                raise BadInput(f"nobody asked for action {said.action_hash[:12]}: request it before it is decided")
            if is_known(session, approval):
                return
            at = self._clock.now()
            trust = read_logged_keys(session).apply(trust)
            _refuse_worthless(approval, Circumstances(request.action, policy, trust, at, used_nonces(session)))
            _refuse_late(session, request, policy, trust, at)
            session.execute(
                "INSERT INTO approvals (nonce, action_hash, body) VALUES (?, ?, ?)",
                (said.nonce, said.action_hash, as_text(approval)),
            )
            append(session, DECIDED, decided_body(said.action_hash, approval), at)

    def check_counts(self, approval: Approval, action: SignedAction, policy: ApprovalPolicy, trust: Trust) -> None:
        """Refuse a decision that would not count for this action, requested or not; nothing is stored."""
        with self._database.reading() as session:
            trust = read_logged_keys(session).apply(trust)
            _refuse_worthless(approval, Circumstances(action, policy, trust, self._clock.now(), used_nonces(session)))

    def approvals(self, action: SignedAction) -> tuple[Approval, ...]:
        """Every decision on an action that was stored."""
        with self._database.reading() as session:
            return approvals_of(session, action_hash(action))

    def signed_by(self, action: SignedAction) -> tuple[str, ...]:
        """Who has decided on an action, each once, the first one first."""
        statements = sorted((given.statement for given in self.approvals(action)), key=lambda said: said.issued_at)
        return tuple(dict.fromkeys(said.approver for said in statements))

    def state(self, action: SignedAction, policy: ApprovalPolicy, trust: Trust) -> RequestState:
        """The state of the request for an action now."""
        with self._database.reading() as session:
            request = known_request(session, action)
            approvals = approvals_of(session, action_hash(action))
            trust = read_logged_keys(session).apply(trust)
        return state_of(request, approvals, policy, trust, self._clock.now())

    def tally(self, action: SignedAction, policy: ApprovalPolicy, trust: Trust) -> ApprovalTally:
        """What the decisions on an action are worth now, and what is missing."""
        with self._database.reading() as session:
            approvals = approvals_of(session, action_hash(action))
            trust = read_logged_keys(session).apply(trust)
        return tally(approvals, Circumstances(action, policy, trust, self._clock.now()))

    def use(self, action: SignedAction) -> Authorisation | None:
        """What was granted when the approvals of an action were used up; None if they were not."""
        with self._database.reading() as session:
            use = use_of(session, action_hash(action))
        return use[1] if use else None

    def consumer_of(self, action: SignedAction) -> str | None:
        """What the approvals of an action were used up for; None if they were not."""
        with self._database.reading() as session:
            use = use_of(session, action_hash(action))
        return use[0] if use else None

    def is_used(self, action: SignedAction) -> bool:
        """Whether the approvals of an action were used up."""
        return self.use(action) is not None

    def used_actions(self) -> frozenset[str]:
        """The hashes of all actions whose approvals were used up."""
        with self._database.reading() as session:
            return frozenset(wanted for (wanted,) in session.execute("SELECT action_hash FROM uses"))

    def consume(self, action: SignedAction, policy: ApprovalPolicy, trust: Trust, *, consumer: str) -> Authorisation:
        """Use up the approvals of an action, for good: the same consumer gets the same answer again, any other none.

        A stored use is accepted only if the approvals of the action give it, as of its own time. `consumer` is the
        idempotency key of what is about to be done.
        """
        if not (consumer.isprintable() and 1 <= len(consumer) <= _CONSUMER_MAX):
            raise BadInput(f"consumer {consumer[:40]!r}; allowed: 1 to {_CONSUMER_MAX} printable characters")
        wanted = action_hash(action)
        with self._database.writing() as session:
            request = known_request(session, action)
            check_agreement(session, wanted)
            trust = read_logged_keys(session).apply(trust)
            approvals = approvals_of(session, wanted)
            if use := use_of(session, wanted):
                again = _same_consumer(use, consumer, wanted)
                check_granted(action, again, approvals, policy, trust)
                return again
            at = self._clock.now()
            if state_of(request, approvals, policy, trust, at) == "expired":
                raise Refused(
                    f"the request for action {wanted[:12]} expired at {request.expires_at(policy).isoformat()}:"
                    " ask for a new action"
                )
            granted = require(action, approvals, policy, trust, at, used_nonces=used_nonces(session))
            session.execute(
                "INSERT INTO uses (action_hash, consumer, body) VALUES (?, ?, ?)", (wanted, consumer, as_text(granted))
            )
            for nonce in granted.nonces:
                session.execute("INSERT INTO used_nonces (nonce, action_hash) VALUES (?, ?)", (nonce, wanted))
            append(session, USED, used_body(wanted, consumer, granted), at)
        return granted

    def in_force(self, wanted: str, policy: ApprovalPolicy, trust: Trust) -> SignedAction:
        """The action with this hash, if its approvals were used and it still holds now; Refused otherwise."""
        with self._database.reading() as session:
            trust = read_logged_keys(session).apply(trust)
            return require_in_force(session, wanted, policy, trust, self._clock.now())

    def revoke(self, wanted: str, *, by: str, reason: str) -> None:
        """End what was approved once and is in force since, such as a mandate; doing it again changes nothing."""
        with self._database.writing() as session:
            if request_of(session, wanted) is None:
                raise BadInput(f"nobody asked for action {wanted[:12]}: there is nothing to revoke")
            if not has_row(session, REVOKED, wanted):
                append(session, REVOKED, {"action_hash": wanted, "by": by, "reason": reason}, self._clock.now())

    def is_revoked(self, wanted: str) -> bool:
        """Whether the action with this hash was revoked."""
        with self._database.reading() as session:
            return has_row(session, REVOKED, wanted)

    def revocation(self, wanted: str) -> Revocation | None:
        """Who revoked the action with this hash, and why; None if nobody did."""
        with self._database.reading() as session:
            return find_revocation(session, wanted)

    def note_refused(self, kind: str, action: SignedAction, why: str) -> None:
        """Record once that an action failed after its approvals were used; nothing if they were not used."""
        wanted = action_hash(action)
        with self._database.writing() as session:
            if not has_row(session, kind, wanted) and use_of(session, wanted) is not None:
                append(session, kind, {"action_hash": wanted, "why": why}, self._clock.now())

    def verify(self, trust: Trust) -> None:
        """Refuse if tables and audit log differ, or if a decision or a use is not what people signed."""
        with self._database.reading() as session:
            check_all(session)
            check_decisions(session, read_logged_keys(session).apply(trust))
            check_nonces(session)
        if gone := self._database.missing_walls():
            raise Refused(
                f"triggers that keep rows from being changed are missing or were replaced: {', '.join(gone)}. Somebody"
                " took them out"
            )

    def insufficient_uses(
        self, policy_of: Callable[[SignedAction], ApprovalPolicy], trust: Trust
    ) -> tuple[InsufficientUse, ...]:
        """Every use that the policy which should have applied would not have granted."""
        with self._database.reading() as session:
            return tuple(insufficient_uses(session, policy_of, read_logged_keys(session).apply(trust)))


def _refuse_worthless(approval: Approval, around: Circumstances) -> None:
    status = approval_status(approval, around)
    if status.worth in ("idle", "void"):
        who = approval.statement.approver
        raise Refused(f"the decision of {who} is not stored: {status.why}. Sign exactly this action again.")


def _refuse_late(
    session: Session, request: ApprovalRequest, policy: ApprovalPolicy, trust: Trust, at: datetime
) -> None:
    """Refuse a decision on an action that was used, rejected or has expired, and say what happened to it."""
    wanted = action_hash(request.action)
    which, given = f"action {wanted[:12]} ({request.action.kind})", approvals_of(session, wanted)
    if use := use_of(session, wanted):
        consumer, granted = use
        raise Refused(
            f"{which} was approved by {' and '.join(granted.approvers)} and carried out as {consumer!r} at"
            f" {granted.granted_at.isoformat(timespec='seconds')}, so it needs no more signatures and your decision is"
            f" not stored. `gaelp approvals show {wanted[:12]}` shows who signed. If you object, `gaelp kill` stops all"
            " spending, and `gaelp mandate revoke` ends a mandate"
        )
    state = state_of(request, given, policy, trust, at)
    if state == "rejected":
        reasons = tally(given, Circumstances(request.action, policy, trust, at)).of("rejects")
        who = " and ".join(f"{entry.approval.statement.approver} ({entry.why})" for entry in reasons)
        raise Refused(f"{which} was rejected by {who}: change what was objected to, and request the changed action")
    if state == "expired":
        ended = request.expires_at(policy).isoformat(timespec="seconds")
        raise Refused(f"the request for {which} expired at {ended}: request it again, with another attempt")


def _same_consumer(use: tuple[str, Authorisation], consumer: str, wanted: str) -> Authorisation:
    if use[0] != consumer:
        raise Refused(
            f"the approvals of action {wanted[:12]} were used by {use[0]!r}, once and for good; {consumer!r} needs an"
            " action of its own: ask for one with another attempt"
        )
    return use[1]
