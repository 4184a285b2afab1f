"""Books and log are compared in both directions; whatever is in one of them alone is described."""

import json

import pytest

from gaelp.approvals import AuditRow
from gaelp.authority.limit_audit import LIMIT_SET, REOPENED, compare_limits, newest_limits, promised_rows, signed_rows
from gaelp.budget.ledger import SignedChange
from gaelp.money import Money

CAP = "account:acc"


def row(seq, limit, *, kind=LIMIT_SET, **more):
    body = {"cap": CAP, "limit": limit, "signed": False, "by": "ann", **more}
    return AuditRow(seq, "2026-11-16", kind, json.dumps(body), "", "")


SIGNED = row(1, "50 USD", signed=True, action_hash="ab" * 32)
CHANGE = SignedChange("ab" * 32, "live", LIMIT_SET, SIGNED.body)


def findings(rows, limit="50 USD", signed=(), books=""):
    return list(compare_limits(rows, {CAP: Money.parse(limit)}, signed, books))


def test_books_and_log_that_agree_leave_nothing_to_say():
    assert findings([row(0, "10 USD"), SIGNED], signed=[CHANGE]) == []
    assert newest_limits([row(0, "10 USD"), SIGNED]) == {CAP: Money.parse("50 USD")}
    assert (signed_rows([SIGNED]), promised_rows([SIGNED])) == ({1: "ab" * 32}, [1])


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        ([row(0, "10 USD")], {}, "row 0 says $10.00: it was changed behind the ledger's back"),
        ([], {}, "no row of the log is about it"),
        ([SIGNED], {}, "the ledger has no record of it"),
        ([row(0, "50 USD")], {"signed": [CHANGE]}, "that the log does not have"),
        ([SIGNED, row(2, "60 USD")], {"limit": "60 USD", "signed": [CHANGE]}, "has no signatures"),
        ([SIGNED, row(2, "50 USD", kind=REOPENED)], {"signed": [CHANGE]}, "has no signatures"),
        ([row(0, "50 USD", books="aa")], {"books": "bb"}, "another ledger was put in its place"),
        ([row(0, "not money")], {}, "it was changed"),
    ],
)
def test_what_only_one_of_them_has_is_described(rows, options, expected):
    [finding] = findings(rows, **options)
    assert expected in finding


def test_lowering_without_signatures_after_signed_changes_is_allowed():
    assert findings([SIGNED, row(2, "20 USD")], limit="20 USD", signed=[CHANGE]) == []
