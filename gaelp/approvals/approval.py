"""A person's decision on one action, signed: who, what, why, from when until when, and once only."""

import secrets
import unicodedata
from datetime import datetime, timedelta
from typing import Literal, Self

from pydantic import ConfigDict, ValidationError, model_validator

from gaelp.approvals.action import SignedAction, action_hash
from gaelp.approvals.field_types import Instant, Nonce, Reason, Sha256, SignatureHex
from gaelp.approvals.keys import SigningKey
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.errors import BadInput

__all__ = ["APPROVAL_DOMAIN", "Approval", "ApprovalDecision", "Statement", "new_nonce", "sign", "unsigned"]

APPROVAL_DOMAIN = "approval"

ApprovalDecision = Literal["approve", "reject"]


class Statement(Frozen):
    """What is signed."""

    model_config = ConfigDict(strict=True)

    action_hash: Sha256
    approver: Name
    decision: ApprovalDecision
    reason: Reason
    issued_at: Instant
    expires_at: Instant
    nonce: Nonce

    @model_validator(mode="after")
    def _expires_after_it_is_issued(self) -> Self:
        if self.expires_at <= self.issued_at:
            raise ValueError(
                f"expires_at={self.expires_at} is not after issued_at={self.issued_at}: give it time to be used"
            )
        return self


class Approval(Frozen):
    """A statement and its signature; None only where no real money can move."""

    model_config = ConfigDict(strict=True)

    statement: Statement
    signature: SignatureHex | None


def new_nonce() -> str:
    """What makes an approval differ from every other, even of the same action."""
    return secrets.token_hex(16)


def sign(
    action: SignedAction,
    key: SigningKey,
    *,
    decision: ApprovalDecision,
    reason: str,
    at: datetime,
    valid_for: timedelta,
    nonce: str | None = None,
) -> Approval:
    """Decide on an action in the name of the key's owner."""
    statement = _statement(
        action, key.name, decision=decision, reason=reason, at=at, valid_for=valid_for, nonce=nonce or new_nonce()
    )
    return Approval(statement=statement, signature=key.sign(APPROVAL_DOMAIN, statement.model_dump(mode="json")))


def unsigned(
    action: SignedAction, approver: str, *, decision: ApprovalDecision, reason: str, at: datetime, valid_for: timedelta
) -> Approval:
    """A decision that rests on a name alone; only a sandbox policy accepts it."""
    statement = _statement(
        action, approver, decision=decision, reason=reason, at=at, valid_for=valid_for, nonce=new_nonce()
    )
    return Approval(statement=statement, signature=None)


def _statement(
    action: SignedAction,
    approver: str,
    *,
    decision: ApprovalDecision,
    reason: str,
    at: datetime,
    valid_for: timedelta,
    nonce: str,
) -> Statement:
    try:
        return Statement(
            action_hash=action_hash(action),
            approver=approver,
            decision=decision,
            reason=unicodedata.normalize("NFC", reason.strip()),
            issued_at=at,
            expires_at=at + valid_for,
            nonce=nonce,
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise BadInput(f"the decision cannot be written: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
