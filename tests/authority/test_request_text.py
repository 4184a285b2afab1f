"""What is signed, in words: nothing that a signature covers is left out."""

from datetime import UTC, datetime

from gaelp.approvals import ApprovalRequest, SignedAction, Statement, action_hash
from gaelp.authority.request_text import describe_decisions, describe_signed

AT = datetime(2026, 11, 18, 12, tzinfo=UTC)
RELEASE = SignedAction(
    kind="release",
    run_id="r-1",
    requester="cyd",
    attempt=2,
    model_hash="b" * 64,
    evidence_hash="c" * 64,
    account="acc",
    currency="USD",
    campaigns=("spring", "summer"),
    limits_micros={"daily": 5_000_000},
)


def test_every_signed_field_of_a_release_is_said_in_words():
    text = "\n".join(describe_signed(ApprovalRequest(action=RELEASE, requested_at=AT)))
    assert text.startswith(f"Action {action_hash(RELEASE)[:12]} (release): let model bbbbbbbbbbbb of run r-1 spend on")
    for part in (
        "World: live: real money can move.",
        "Account: acc, in USD.",
        "Campaigns (2): spring, summer.",
        "Daily: $5.00.",
        "Model: bbbbbbbbbbbb.",
        "Verdict: cccccccccccc.",
        "Asked for by cyd, run r-1, attempt 2.",
    ):
        assert part in text


def test_each_decision_is_said_with_its_time_and_its_reason():
    assert describe_decisions(()) == ("Nobody has decided yet.",)
    said = Statement(
        action_hash="a" * 64,
        approver="ann",
        decision="reject",
        reason="too much",
        issued_at=AT,
        expires_at=AT.replace(hour=13),
        nonce="0" * 32,
    )
    assert describe_decisions((said,)) == ("ann rejects, 2026-11-18 12:00 UTC: too much.",)
