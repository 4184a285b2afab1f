"""Orders, ledger and audit log are held against each other: what was done to one of them is named."""

from datetime import timedelta

import pytest

from gaelp.approvals import AuditLog, open_database
from gaelp.authority.mandates import revoke_mandate
from gaelp.budget.ledger import UNRESERVED, Cap, CapKind, MandateRoom, open_mandate, open_unreserved, verify
from gaelp.errors import Refused
from gaelp.platforms import Done, guarded, reconcile
from gaelp.platforms.verify_orders import verify_orders


@pytest.fixture
def ordered(door, double):
    """A door through which a budget, its enabling and a publication have passed."""
    for each in (double.order(), double.order("e1", kind="enable"), double.order("p1", kind="publish")):
        assert guarded(door.guard, double.approve(door, each)) == Done()
    return door


def log_of(door):
    return AuditLog(open_database(door.folder / "approvals.db")).rows()


def findings(door):
    return [(each.where, each.what) for each in verify_orders(door.ledger, lambda: log_of(door))]


def by_hand(door, *statements):
    with door.ledger.database.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_orders_that_nobody_touched_are_in_order(ordered):
    assert findings(ordered) == []


@pytest.mark.parametrize(
    ("statement", "where", "what"),
    [
        ("UPDATE platform_order SET daily_micros = 1 WHERE key = 'b1'", "order b1", "daily_micros"),
        ("UPDATE platform_order SET body = replace(body, '5000000', '6000000')", "order b1", "approval"),
        ("UPDATE platform_order SET body = 'x' WHERE key = 'b1'", "order b1", "body"),
        ("UPDATE platform_order SET campaign = 'autumn' WHERE key = 'b1'", "order b1", "campaign"),
        ("UPDATE platform_order SET day = '2026-01-01' WHERE key = 'b1'", "order b1", "day, of its transfer"),
        ("UPDATE platform_order SET amount_micros = 7 WHERE key = 'b1'", "order b1", "amount, of its transfer"),
        ("UPDATE platform_order SET outcome = 'rejected' WHERE key = 'b1'", "order b1", "outcome"),
        ("DELETE FROM platform_order WHERE key = 'b1'", "b1", "order of this transfer"),
        ("DROP TABLE platform_order", "platform_order", "table"),
        ("DELETE FROM ledger_transfer WHERE key = 'b1'", "order b1", "transfer of what was done"),
    ],
)
def test_what_was_changed_by_hand_is_named(ordered, statement, where, what):
    by_hand(ordered, statement)
    assert (where, what) in findings(ordered)


def test_books_that_are_older_than_the_log_are_named_by_each_order_that_they_lack(ordered):
    tables = ("platform_order", "ledger_transfer", "ledger_entry", "ledger_cap")
    by_hand(ordered, *("DELETE FROM " + table for table in tables))  # noqa: S608 - names of this test
    assert verify(ordered.ledger).balances  # by themselves they are in order
    assert [where for where, _ in findings(ordered)] == ["b1", "e1", "p1"]


def test_an_order_that_nobody_approved_is_named(ordered):
    by_hand(
        ordered,
        "INSERT INTO platform_order (key, account_id, campaign, kind, body, renews, daily_micros, day,"
        " amount_micros, number, outcome, detail) SELECT 'b2', account_id, campaign, kind,"
        " replace(body, '\"b1\"', '\"b2\"'), renews, daily_micros, day, amount_micros, number + 9, '', ''"
        " FROM platform_order WHERE key = 'b1'",
    )
    assert findings(ordered) == [("order b2", "approval")]


def test_an_order_that_the_door_refused_after_its_approval_was_used_is_no_finding(door, double):
    door.judge.find("block")
    with pytest.raises(Refused):
        guarded(door.guard, double.approve(door, double.order("p1", kind="publish")))
    assert [row.kind for row in log_of(door)][-2:] == ["approval.used", "order.refused"]
    assert findings(door) == []


def test_a_cost_that_nobody_ordered_has_a_transfer_and_no_order(ordered, double):
    cap = (Cap(CapKind.ACCOUNT, ordered.guard.account.id), Cap(CapKind.CAMPAIGN, "spring"))
    day = ordered.guard.today()
    open_unreserved(ordered.ledger, f"{UNRESERVED}{day}/x", account_id=ordered.guard.account.id, day=day, caps=cap)
    assert findings(ordered) == []
    open_unreserved(ordered.ledger, "another-key", account_id=ordered.guard.account.id, day=day, caps=cap)
    assert findings(ordered) == [("another-key", "order of this transfer")]


@pytest.mark.parametrize("kind", ["mandate", "mandate_day"])
def test_a_ceiling_of_a_mandate_that_is_not_the_signed_one_is_named(door, double, kind):
    granted = double.grant(door, double.mandate())
    assert guarded(door.guard, double.under(granted)) == Done()
    assert findings(door) == []
    by_hand(door, f"UPDATE ledger_cap SET limit_micros = 999000000 WHERE kind = '{kind}'")  # noqa: S608 - no input
    [(where, what)] = findings(door)
    assert (where.startswith(f"{kind}:{granted}"), what) == (True, "limit, as it was signed")


def test_a_ceiling_of_a_mandate_that_nobody_signed_is_named(door, double):
    room = MandateRoom("ab" * 32, 1_000_000, 1_000_000)
    open_mandate(door.ledger, room, door.guard.account, None, first_signed_at=door.clock.now())
    assert findings(door) == [(f"mandate:{room.id}", "mandate of this cap")]


def reopened(door):
    by_hand(door, "UPDATE ledger_cap SET breached = 0 WHERE kind = 'mandate'")
    return [what for _, what in findings(door)]


def test_a_mandate_that_was_revoked_and_reopened_by_hand_is_named(door, double):
    granted = double.grant(door, double.mandate())
    assert reopened(door) == []
    revoke_mandate(door.ledger, door.guard.authority.store, granted, "drill")
    assert findings(door) == []
    assert reopened(door) == ["state, after it was revoked"]


def test_a_mandate_reopened_by_hand_after_the_release_of_a_stop_is_named_though_the_fence_was_changed_too(door, double):
    double.grant(door, double.mandate())
    door.guard.switch.stop(by="ann", reason="drill")
    double.release(door)
    assert findings(door) == []
    by_hand(door, "UPDATE ledger_fence SET released_at_ms = 0")
    assert reopened(door) == ["state, after a stop"]


def test_a_mandate_signed_after_the_release_of_a_stop_is_in_order(door, double):
    door.guard.switch.stop(by="ann", reason="drill")
    double.release(door)
    door.clock.advance(timedelta(seconds=1))
    assert guarded(door.guard, double.under(double.grant(door, double.mandate()))) == Done()
    assert (findings(door), verify(door.ledger).findings) == ([], ())


def test_an_overspent_mandate_reopened_by_hand_is_named(door, double):
    granted = double.grant(door, double.mandate())
    day = door.guard.today()
    for key, kind in (("b1", "budget"), ("e1", "enable")):
        assert guarded(door.guard, double.under(granted, key, kind, until=day)) == Done()
    door.clock.advance(timedelta(days=1))
    door.platform.charge("spring", door.guard.today(), 1_000_000)
    door.clock.advance(timedelta(hours=4))
    reconcile(door.guard)
    assert findings(door) == []
    assert reopened(door) == ["state, after cost beyond what was reserved"]
