"""A key that the audit log says is revoked does not count, whatever the list of approvers says."""

from datetime import timedelta

import pytest

from gaelp.approvals import Approver, AuditLog, Trust, open_database
from gaelp.approvals.revocations import KEY_REVOKED, KEY_TRUSTED, LoggedKeys, read_logged_keys
from gaelp.errors import Refused

HOUR = timedelta(hours=1)


@pytest.fixture
def log(store, tmp_path):
    return AuditLog(open_database(tmp_path / "approvals.db"))


def revoked_at(trust, name):
    [entry] = trust.keys_of(name)
    return entry.revoked_at


def test_a_revocation_ends_the_keys_that_a_name_had_until_then(office):
    keys = LoggedKeys()
    keys.revoke("Ann", office.now)
    trust = keys.apply(office.trust)
    assert (revoked_at(trust, "ann"), revoked_at(trust, "bob")) == (office.now, None)
    later = Approver(
        name="ann", public_key=office.key("new").public_key, roles=("finance",), added_at=office.now + HOUR
    )
    assert keys.apply(Trust(approvers=(later,))).has_key_in_force("ann")


def test_the_earlier_of_two_revocations_counts(office):
    keys = LoggedKeys()
    keys.revoke("ann", office.now)
    assert keys.apply(office.trust.without("ann", office.now - HOUR)) == office.trust.without("ann", office.now - HOUR)
    assert keys.apply(office.trust.without("ann", office.now + HOUR)) == office.trust.without("ann", office.now)


def test_a_revoked_key_that_is_trusted_later_on_another_machine_never_counts(office):
    keys = LoggedKeys()
    keys.trust("ann", office.key("ann").public_key)
    keys.revoke("ann", office.now)
    keys.trust("ann", office.key("ann").public_key)
    late = Approver(name="ann", public_key=office.key("ann").public_key, roles=("finance",), added_at=office.now + HOUR)
    [entry] = keys.apply(Trust(approvers=(late,))).approvers
    assert not any(entry.trusted_at(office.now + hours * HOUR) for hours in range(5))


def test_a_list_without_revoked_keys_is_returned_as_it_is(office):
    assert LoggedKeys().apply(office.trust) is office.trust


def test_approvals_of_a_key_that_is_revoked_in_the_log_alone_do_not_authorise(office, store, log, clock):
    store.request(office.action)
    for name in ("ann", "bob"):
        store.submit(office.decided(name, office.action), office.policy, office.trust)
    assert store.state(office.action, office.policy, office.trust) == "approved"
    clock.advance(HOUR)
    log.append(KEY_REVOKED, {"name": "ann"}, clock.now())
    assert store.state(office.action, office.policy, office.trust) == "waiting"
    assert "finance" in str(store.tally(office.action, office.policy, office.trust).missing)
    with pytest.raises(Refused, match="its key has been revoked"):
        store.consume(office.action, office.policy, office.trust, consumer="one")
    with pytest.raises(Refused, match="not trusted when it was issued"):
        store.submit(office.decided("ann", office.action, at=clock.now()), office.policy, office.trust)


def test_what_was_used_before_a_revocation_stays_verifiable(office, store, log, clock):
    store.request(office.action)
    for name in ("ann", "bob"):
        store.submit(office.decided(name, office.action), office.policy, office.trust)
    store.consume(office.action, office.policy, office.trust, consumer="one")
    clock.advance(HOUR)
    log.append(KEY_REVOKED, {"name": "ann"}, clock.now())
    store.verify(office.trust)
    assert store.insufficient_uses(lambda _: office.policy, office.trust) == ()


def test_a_revocation_that_names_nobody_is_refused_and_an_old_row_of_trust_is_read(log, clock, tmp_path):
    log.append(KEY_TRUSTED, {"name": "ann", "role": "finance"}, clock.now())
    with open_database(tmp_path / "approvals.db").reading() as session:
        assert read_logged_keys(session).in_force == {}
    log.append(KEY_REVOKED, {"who": "ann"}, clock.now())
    with open_database(tmp_path / "approvals.db").reading() as session, pytest.raises(Refused, match="names nobody"):
        read_logged_keys(session)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ('UPDATE audit SET body = \'{"name":"eve"}\' WHERE seq = 5', "row 5 of the audit log was changed"),
        ("DELETE FROM audit WHERE seq = 5", "lacks 1 rows"),
    ],
)
def test_a_revocation_that_was_changed_or_taken_out_stops_everything(
    office, store, log, clock, tmp_path, statement, message
):
    for action in (office.action, office.action_with(attempt=2)):
        store.request(action)
        for name in ("ann", "bob"):
            store.submit(office.decided(name, action), office.policy, office.trust)
        if action == office.action:
            clock.advance(HOUR)
            log.append(KEY_TRUSTED, {"name": "mal"}, clock.now())
            log.append(KEY_TRUSTED, {"name": "mal"}, clock.now())
            log.append(KEY_REVOKED, {"name": "mal"}, clock.now())
    with open_database(tmp_path / "approvals.db").writing() as session:
        for trigger in ("audit_no_UPDATE", "audit_no_DELETE"):
            session.execute(f"DROP TRIGGER {trigger}")
        session.execute(statement)
    with pytest.raises(Refused, match=message):
        store.consume(office.action, office.policy, office.trust, consumer="one")
