"""Three approvers, an auditor, a stranger, and an action that two of them approved."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gaelp.approvals import ApprovalPolicy, ApprovalStore, Approver, SignedAction, SigningKey, Trust, sign
from gaelp.clock import ManualClock

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ROLES = {"ann": ("finance",), "bob": ("marketing",), "cyd": ("finance", "marketing"), "aud": ("auditor",)}


def key_of(name):
    """Always the same key for the same name."""
    return SigningKey(name, Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


def action_with(**changes):
    values = {
        "kind": "release",
        "run_id": "20261116-020641-7f3a9c",
        "requester": "cyd",
        "attempt": 1,
        "model_hash": "ab" * 32,
        "evidence_hash": "cd" * 32,
        "account": "123-456-7890",
        "currency": "USD",
        "campaigns": ("brand", "search"),
        "limits_micros": {"daily": 20_000_000, "total": 500_000_000},
    }
    return SignedAction(**{**values, **changes})


def policy_with(**changes):
    values = {
        "quorum": 2,
        "roles": ("finance", "marketing"),
        "at_least": {"finance": 1},
        "valid_minutes_max": 1440,
        "escalate_after_minutes": 240,
        "expire_after_minutes": 2880,
        "why": "two people",
    }
    return ApprovalPolicy(**{**values, **changes})


def decided(name, action, **changes):
    values = {"decision": "approve", "reason": "seen", "at": NOW, "valid_for": timedelta(hours=8)}
    return sign(action, key_of(name), **{**values, **changes})


@pytest.fixture(scope="session")
def office():
    """Everything an approval is held against, and the means to make more of it."""
    approvers = tuple(
        Approver(name=name, public_key=key_of(name).public_key, roles=roles, added_at=NOW - timedelta(days=9))
        for name, roles in ROLES.items()
    )
    return SimpleNamespace(
        now=NOW,
        key=key_of,
        trust=Trust(approvers=approvers),
        policy=policy_with(),
        policy_with=policy_with,
        action=action_with(),
        action_with=action_with,
        decided=decided,
    )


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture
def store(tmp_path, clock):
    return ApprovalStore(tmp_path / "approvals.db", clock)


@pytest.fixture
def postgres_url(databases):
    """An empty database on a PostgreSQL of our own."""
    return databases.fresh_place("postgres")


@pytest.fixture
def tmp_path(databases):
    """A folder in memory where there is one: processes are killed here, never the machine, so no disk is waited for."""
    folder = databases.quick_folder() / uuid.uuid4().hex
    folder.mkdir()
    return folder
