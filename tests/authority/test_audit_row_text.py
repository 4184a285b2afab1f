"""Rows of the audit log in words: who did what, with short ids, and nothing hidden because its kind is unknown."""

import pytest

from gaelp.authority.audit_row_text import describe_row

ACTION = "9b28126ea8cb" + "0" * 52


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        (
            "approval.requested",
            {
                "action_hash": ACTION,
                "request": {"action": {"kind": "budget", "subject": "limit total all: none -> $9.00"}},
            },
            "9b28126ea8cb: limit total all: none -> $9.00",
        ),
        (
            "approval.requested",
            {
                "action_hash": ACTION,
                "request": {"action": {"kind": "gate", "subject": None, "gate": "history", "run_id": "r-1"}},
            },
            "9b28126ea8cb: history of run r-1",
        ),
        (
            "approval.requested",
            {"action_hash": ACTION, "request": {"action": {"kind": "revive", "subject": "084d4fe072d6"}}},
            "9b28126ea8cb: release the stop 084d4fe072d6",
        ),
        (
            "approval.requested",
            {
                "action_hash": ACTION,
                "request": {
                    "action": {
                        "kind": "release",
                        "subject": None,
                        "gate": None,
                        "run_id": "r-1",
                        "model_hash": "b" * 64,
                        "campaigns": ["spring", "summer"],
                        "account": "acc",
                    }
                },
            },
            "9b28126ea8cb: let model bbbbbbbbbbbb of run r-1 spend on spring, summer (acc)",
        ),
        (
            "approval.used",
            {"action_hash": ACTION, "authorisation": {"approvers": ["ann", "bob"]}, "consumer": "revive 084d4fe072d6"},
            "9b28126ea8cb: approved by ann and bob, released the stop 084d4fe072d6",
        ),
        (
            "cap.reopened",
            {"cap": "total:all", "before": "$9.00", "limit": "$9.00", "signed": True, "approvers": ["ann"]},
            "total:all: open again, at most $9.00, signed by ann",
        ),
        (
            "approval.decided",
            {
                "action_hash": ACTION,
                "approval": {"statement": {"approver": "ann", "decision": "reject", "reason": "too much"}},
            },
            "9b28126ea8cb: ann rejects: too much",
        ),
        (
            "approval.used",
            {
                "action_hash": ACTION,
                "authorisation": {"approvers": ["ann", "bob"]},
                "consumer": f"books {'a' * 32}: budget limit total all",
            },
            "9b28126ea8cb: approved by ann and bob, used for budget limit total all",
        ),
        (
            "approval.used",
            {
                "action_hash": ACTION,
                "authorisation": {"approvers": ["ann"]},
                "consumer": f"books {'a' * 32}: mandate mandate pilot until 2026-12-01",
            },
            "9b28126ea8cb: approved by ann, used for mandate pilot until 2026-12-01",
        ),
        (
            "approval.revoked",
            {"action_hash": ACTION, "by": "root", "reason": "over"},
            "9b28126ea8cb: by root: over",
        ),
        (
            "limit.set",
            {"cap": "total:all", "before": "none", "limit": "$9.00", "signed": False, "by": "root"},
            "total:all: none -> $9.00, not signed, by root",
        ),
        (
            "mandate.granted",
            {"mandate": "pilot", "account": "acc", "limit": "$9.00", "signed": True, "approvers": ["ann", "bob"]},
            "pilot: account acc, $9.00 in total, signed by ann and bob",
        ),
        ("trust.added", {"name": "ann", "roles": ["finance"], "file": "f"}, "ann as finance"),
        ("trust.revoked", {"name": "ann", "file": "f"}, "ann"),
        (
            "order.refused",
            {"action_hash": ACTION, "why": "no room", "more": {}},
            "action_hash 9b28126ea8cb, why no room",
        ),
        ("approval.decided", {"approver": "by hand"}, "approver by hand"),
        ("approval.decided", ["by hand"], "['by hand']"),
    ],
)
def test_a_row_says_who_did_what(kind, body, text):
    assert describe_row(kind, body) == text
