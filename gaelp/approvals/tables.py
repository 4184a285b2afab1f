"""Read requests, approvals and uses from their tables, and refuse what was changed there."""

from typing import TypeVar

from pydantic import BaseModel

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.approval import Approval
from gaelp.approvals.authorise import Authorisation
from gaelp.approvals.canonical import model_bytes, read_model
from gaelp.approvals.database import Session
from gaelp.approvals.policy import ApprovalRequest
from gaelp.errors import DataError, Refused

__all__ = [
    "all_requests",
    "approvals_of",
    "as_text",
    "is_known",
    "known_request",
    "request_of",
    "use_of",
    "used_nonces",
]

Model = TypeVar("Model", bound=BaseModel)


def known_request(session: Session, action: SignedAction) -> ApprovalRequest:
    """The request for an action; Refused if there is none."""
    request = request_of(session, action_hash(action))
    if request is None:
        raise Refused(
            f"nobody was asked about this {action.kind} of run {action.run_id!r} (action {action_hash(action)[:12]}):"
            " request it, and have exactly this action signed"
        )
    return request


def request_of(session: Session, wanted: str) -> ApprovalRequest | None:
    """The request for the action with that hash."""
    row = session.execute("SELECT body FROM requests WHERE action_hash = ?", (wanted,)).fetchone()
    return _read_request(row[0], wanted) if row else None


def _read_request(body: str, key: str) -> ApprovalRequest:
    request = _read(ApprovalRequest, body)
    if action_hash(request.action) != key:
        raise DataError(f"the request stored for action {key[:12]} is about another one: it was changed")
    return request


def all_requests(session: Session) -> tuple[ApprovalRequest, ...]:
    """Every request, the oldest first."""
    rows = session.execute("SELECT action_hash, body FROM requests").fetchall()
    requests = [_read_request(body, key) for key, body in rows]
    return tuple(sorted(requests, key=lambda request: (request.requested_at, action_hash(request.action))))


def is_known(session: Session, approval: Approval) -> bool:
    """Whether this approval is stored already; another one with its nonce is refused."""
    nonce = approval.statement.nonce
    row = session.execute("SELECT body FROM approvals WHERE nonce = ?", (nonce,)).fetchone()
    if row and row[0] != as_text(approval):
        raise Refused(f"nonce {nonce[:12]} belongs to another decision: sign again, each decision has its own")
    return row is not None


def approvals_of(session: Session, wanted: str) -> tuple[Approval, ...]:
    """Every decision on the action with that hash."""
    query = "SELECT nonce, body FROM approvals WHERE action_hash = ? ORDER BY nonce"
    return tuple(_read_approval(body, nonce) for nonce, body in session.execute(query, (wanted,)))


def _read_approval(body: str, key: str) -> Approval:
    approval = _read(Approval, body)
    if approval.statement.nonce != key:
        raise DataError(f"the decision stored under nonce {key!r:.14} has another one: it was copied or changed")
    return approval


def use_of(session: Session, wanted: str) -> tuple[str, Authorisation] | None:
    """Who used the action with that hash, and what was granted."""
    row = session.execute("SELECT consumer, body FROM uses WHERE action_hash = ?", (wanted,)).fetchone()
    return (row[0], _read(Authorisation, row[1])) if row else None


def used_nonces(session: Session) -> frozenset[str]:
    """The nonces of every approval that was used."""
    return frozenset(nonce for (nonce,) in session.execute("SELECT nonce FROM used_nonces"))


def _read(kind: type[Model], body: object) -> Model:
    if not isinstance(body, str):  # SQLite keeps bytes in a column of text
        raise DataError(f"a stored {kind.__name__} is {type(body).__name__}, not text: it was changed")
    return read_model(kind, body.encode("utf-8"))


def as_text(model: BaseModel) -> str:
    """A model as it is stored: canonical JSON."""
    return model_bytes(model).decode("ascii")
