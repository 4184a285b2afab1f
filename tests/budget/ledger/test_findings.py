"""A finding names both values; its JSON keeps the key `found` that earlier versions wrote."""

from gaelp.budget.ledger.findings import LedgerFinding, differences
from gaelp.budget.ledger.verify import Verification


def test_only_values_that_differ_are_findings():
    [finding] = differences("b1", ("amount", 5, 6), ("day", "2026-11-16", "2026-11-16"))
    assert finding == LedgerFinding(where="b1", what="amount", expected=5, actual=6)


def test_the_json_of_a_verification_calls_the_stored_value_found():
    finding = LedgerFinding(where="b1", what="amount", expected=5, actual=6)
    counts = dict.fromkeys(("transfers", "entries", "adjustments", "caps"), 0)
    result = Verification(**counts, breached_caps=(), findings=(finding,))
    expected = {"where": "b1", "what": "amount", "expected": 5, "found": 6}
    assert result.model_dump(mode="json")["findings"] == [expected]
