"""A row of the audit log in words, for the list that people read; the row itself is in `--json`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gaelp.approvals import SignedAction
from gaelp.approvals.agreement import DECIDED, REQUESTED, USED
from gaelp.approvals.mandate_validity import REVOKED
from gaelp.approvals.revocations import KEY_REVOKED, KEY_TRUSTED
from gaelp.authority.limit_audit import LIMIT_SET, MANDATE_GRANTED, REOPENED
from gaelp.authority.requests import subject_of

__all__ = ["describe_row"]

_DIGITS = 12
_LONG_HEX = re.compile(r"\b[0-9a-f]{32,}\b")
_LEDGER_ID = re.compile(r"^books [0-9a-f]+: (mandate (?=mandate ))?")

Body = Mapping[str, Any]


def describe_row(kind: str, body: Any) -> str:
    """What a row of this kind says; ids and hashes by their first digits."""
    try:
        text = _DESCRIBE.get(kind, _each_value)(body)
    except (AttributeError, KeyError, TypeError):  # written by hand, or by another version
        text = _each_value(body) if isinstance(body, dict) else str(body)
    return _LONG_HEX.sub(lambda match: match[0][:_DIGITS], text)


def _requested(body: Body) -> str:
    action = SignedAction.model_construct(**{"mandate": None, "campaigns": (), **body["request"]["action"]})
    return f"{body['action_hash']}: {subject_of(action)}"


def _decided(body: Body) -> str:
    said = body["approval"]["statement"]
    return f"{body['action_hash']}: {said['approver']} {said['decision']}s: {said['reason']}"


def _used(body: Body) -> str:
    who = " and ".join(body["authorisation"]["approvers"])
    purpose = _LEDGER_ID.sub("", body["consumer"])
    if purpose.startswith("revive "):
        return f"{body['action_hash']}: approved by {who}, released the stop {purpose.removeprefix('revive ')}"
    return f"{body['action_hash']}: approved by {who}, used for {purpose}"


def _revoked(body: Body) -> str:
    return f"{body['action_hash']}: by {body['by']}: {body['reason']}"


def _limit_set(body: Body) -> str:
    return f"{body['cap']}: {body['before']} -> {body['limit']}, {_signed(body)}"


def _reopened(body: Body) -> str:
    return f"{body['cap']}: open again, at most {body['limit']}, {_signed(body)}"


def _mandate_granted(body: Body) -> str:
    return f"{body['mandate']}: account {body['account']}, {body['limit']} in total, {_signed(body)}"


def _signed(body: Body) -> str:
    return f"signed by {' and '.join(body['approvers'])}" if body["signed"] else f"not signed, by {body['by']}"


def _each_value(body: Body) -> str:
    return ", ".join(f"{name} {value}" for name, value in body.items() if isinstance(value, str | int))


_DESCRIBE: dict[str, Callable[[Body], str]] = {
    REQUESTED: _requested,
    DECIDED: _decided,
    USED: _used,
    REVOKED: _revoked,
    LIMIT_SET: _limit_set,
    REOPENED: _reopened,
    MANDATE_GRANTED: _mandate_granted,
    KEY_TRUSTED: lambda body: f"{body['name']} as {', '.join(body['roles'])}",
    KEY_REVOKED: lambda body: str(body["name"]),
}
