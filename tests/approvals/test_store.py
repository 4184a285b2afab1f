import sqlite3
import threading
from datetime import timedelta

import pytest

from gaelp.approvals import ApprovalStore, AuditLog, Authorisation, Trust, action_hash, is_begun, open_database
from gaelp.approvals.agreement import DECIDED, USED, decided_body, used_body
from gaelp.approvals.audit import append, verify_rows
from gaelp.approvals.authorise import ApprovalTerms
from gaelp.approvals.tables import as_text
from gaelp.errors import BadInput, DataError, GaelpError, Refused


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A database of each kind."""
    return tmp_path / "approvals.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def either_store(place, clock):
    return ApprovalStore(place, clock)


def approved(store, office, action=None):
    action = action or office.action
    store.request(action)
    for name in ("ann", "bob"):
        store.submit(office.decided(name, action), office.policy, office.trust)
    return action


def kinds(store_place):
    return [row.kind for row in AuditLog(open_database(store_place)).rows()]


def test_an_approved_action_is_used_once_and_told_in_the_audit_log(either_store, place, office):
    action = approved(either_store, office)
    granted = either_store.consume(action, office.policy, office.trust, consumer="release-1")
    assert either_store.consume(action, office.policy, office.trust, consumer="release-1") == granted
    with pytest.raises(Refused, match="used by 'release-1'"):
        either_store.consume(action, office.policy, office.trust, consumer="release-2")
    assert kinds(place) == ["approval.requested", "approval.decided", "approval.decided", "approval.used"]
    assert verify_rows(AuditLog(open_database(place)).rows()) is None
    either_store.verify(office.trust)


def test_the_same_consumer_gets_its_answer_again_after_the_approvals_ran_out(either_store, office, clock):
    action = approved(either_store, office)
    granted = either_store.consume(action, office.policy, office.trust, consumer="release-1")
    clock.advance(timedelta(days=3))
    assert either_store.consume(action, office.policy, office.trust, consumer="release-1") == granted


def test_asking_and_deciding_again_changes_nothing(either_store, place, office, clock):
    first = either_store.request(office.action)
    clock.advance(timedelta(minutes=1))
    assert either_store.request(office.action) == first
    approval = office.decided("ann", office.action)
    either_store.submit(approval, office.policy, office.trust)
    either_store.submit(approval, office.policy, office.trust)
    assert either_store.approvals(office.action) == (approval,)
    assert kinds(place) == ["approval.requested", "approval.decided"]


def test_racing_consumers_get_it_once(either_store, office):
    action = approved(either_store, office)
    answers = []

    def consume(name):
        try:
            either_store.consume(action, office.policy, office.trust, consumer=name)
            answers.append(name)
        except Refused:
            pass

    threads = [threading.Thread(target=consume, args=(f"c{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 1


def test_racing_writers_do_not_fork_the_chain(place, office):
    database = open_database(place)

    def write(name):
        for number in range(10):
            AuditLog(database).append("test", {"writer": name, "number": number}, office.now)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = AuditLog(database).rows()
    assert [row.seq for row in rows] == list(range(40))
    assert verify_rows(AuditLog(database).rows()) is None


def test_a_second_writer_waits_until_the_first_is_done(place, office):
    database = open_database(place)
    second = threading.Thread(target=AuditLog(database).append, args=("test", {"writer": 2}, office.now))
    with database.writing() as session:
        second.start()
        second.join(0.5)
        assert second.is_alive()
        append(session, "test", {"writer": 1}, office.now)
    second.join()
    assert [row.body for row in AuditLog(database).rows()] == ['{"writer":1}', '{"writer":2}']


def test_what_fails_inside_a_transaction_leaves_nothing(place):
    database = open_database(place)

    def fail():
        with database.writing() as session:
            session.execute("INSERT INTO requests (action_hash, body) VALUES (?, ?)", ("a", "b"))
            raise DataError("stop")

    with pytest.raises(DataError, match="stop"):
        fail()
    with database.reading() as session:
        assert session.execute("SELECT COUNT(*) FROM requests").fetchone()[0] == 0


def test_a_request_moves_with_time_and_decisions(store, office, clock):
    store.request(office.action)
    states = [store.state(office.action, office.policy, office.trust)]
    clock.advance(timedelta(hours=5))
    states.append(store.state(office.action, office.policy, office.trust))
    for name in ("ann", "bob"):
        store.submit(office.decided(name, office.action, at=clock.now()), office.policy, office.trust)
    states.append(store.state(office.action, office.policy, office.trust))
    assert states == ["waiting", "escalate", "approved"]
    assert [request.action for request in store.requests()] == [office.action]


def test_a_request_that_expired_can_be_neither_decided_nor_used(store, office, clock):
    policy = office.policy_with(escalate_after_minutes=1, expire_after_minutes=60)
    approved(store, office)
    clock.advance(timedelta(minutes=60))
    with pytest.raises(Refused, match="expired at"):
        store.consume(office.action, policy, office.trust, consumer="c")
    with pytest.raises(Refused, match=r"expired at 20\d\d-.*request it again"):
        store.submit(office.decided("ann", office.action, at=clock.now()), policy, office.trust)


def test_a_rejection_ends_a_request_for_good(store, office):
    approved(store, office)
    store.submit(office.decided("cyd", office.action, decision="reject"), office.policy, office.trust)
    with pytest.raises(Refused, match="cyd: rejects"):
        store.consume(office.action, office.policy, office.trust, consumer="c")
    with pytest.raises(Refused, match=r"was rejected by cyd \(.*change what was objected to"):
        store.submit(office.decided("ann", office.action), office.policy, office.trust)
    assert store.state(office.action, office.policy, office.trust) == "rejected"


def test_a_decision_that_would_not_count_is_not_taken(store, office):
    store.request(office.action)
    good = office.decided("ann", office.action)
    bad = [
        good.model_copy(update={"signature": "00" * 64}),
        good.model_copy(update={"signature": None}),
        office.decided("mal", office.action),
        office.decided("aud", office.action),
        office.decided("cyd", office.action),
        office.decided("ann", office.action, at=office.now - timedelta(hours=9)),
        office.decided("ann", office.action, at=office.now + timedelta(hours=1)),
    ]
    for approval in bad:
        with pytest.raises(Refused, match="is not stored"):
            store.submit(approval, office.policy, office.trust)
    assert store.approvals(office.action) == ()


def test_a_nonce_belongs_to_one_decision(store, office):
    approved(store, office)
    [first, _] = store.approvals(office.action)
    again = office.decided("ann", office.action, nonce=first.statement.nonce, reason="other")
    with pytest.raises(Refused, match="another decision"):
        store.submit(again, office.policy, office.trust)


def test_what_nobody_asked_for_is_neither_decided_nor_used(store, office):
    with pytest.raises(BadInput, match="nobody asked"):
        store.submit(office.decided("ann", office.action), office.policy, office.trust)
    with pytest.raises(Refused, match="nobody was asked"):
        store.consume(office.action, office.policy, office.trust, consumer="c")


def test_an_action_that_was_used_takes_no_more_decisions(store, office):
    action = approved(store, office)
    store.consume(action, office.policy, office.trust, consumer="c")
    with pytest.raises(
        Refused, match=r"approved by ann and bob and carried out as 'c' at 20\d\d-.*gaelp approvals show"
    ):
        store.submit(office.decided("ann", action), office.policy, office.trust)


def test_a_revoked_approver_can_neither_store_a_veto_nor_hold_one_up(store, office, clock):
    action = approved(store, office)
    store.submit(office.decided("cyd", action, decision="reject"), office.policy, office.trust)
    clock.advance(timedelta(minutes=1))
    trust = office.trust.without("cyd", clock.now())
    assert store.state(action, office.policy, trust) == "approved"
    with pytest.raises(Refused, match="is not stored: its key has been revoked"):
        store.submit(office.decided("cyd", action, decision="reject"), office.policy, trust)
    store.consume(action, office.policy, trust, consumer="c")
    store.verify(trust)


@pytest.mark.parametrize("consumer", ["", "two\nlines", "x" * 201])
def test_a_consumer_has_a_plain_name(store, office, consumer):
    with pytest.raises(BadInput, match="consumer"):
        store.consume(office.action, office.policy, office.trust, consumer=consumer)


# Hands in the database


def tampered(path, *statements):
    """Change the tables the way somebody with the file could, past the triggers."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_rows_cannot_be_changed_or_deleted_by_mistake(store, tmp_path, office):
    approved(store, office)
    store.consume(office.action, office.policy, office.trust, consumer="c")
    connection = sqlite3.connect(tmp_path / "approvals.db")
    columns = {"requests": "body", "approvals": "body", "uses": "body", "used_nonces": "nonce", "audit": "body"}
    for table, column in columns.items():
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = ''"):  # noqa: S608 - our own names
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM approvals WHERE body LIKE '%reject%'",
        "DELETE FROM audit WHERE body LIKE '%reject%'",
        "UPDATE audit SET body = replace(body, 'reject', 'approve')",
        "UPDATE approvals SET body = replace(body, 'reject', 'approve')",
        "UPDATE approvals SET body = replace(body, '\"seen\"', '\"sEen\"')",
    ],
)
def test_a_rejection_taken_out_of_the_database_is_missed(store, tmp_path, office, statement):
    approved(store, office)
    store.submit(office.decided("cyd", office.action, decision="reject"), office.policy, office.trust)
    tampered(tmp_path / "approvals.db", statement)
    with pytest.raises(Refused, match="audit"):
        store.consume(office.action, office.policy, office.trust, consumer="c")


@pytest.mark.parametrize(
    "statements",
    [
        ("DELETE FROM uses", "DELETE FROM used_nonces"),
        ("UPDATE uses SET consumer = 'thief'",),
        ("DELETE FROM uses", "DELETE FROM used_nonces", "DELETE FROM audit WHERE seq = 2"),
    ],
)
def test_a_use_taken_out_of_the_tables_does_not_make_an_approval_fresh(store, tmp_path, office, statements):
    approved(store, office)
    store.consume(office.action, office.policy, office.trust, consumer="c")
    tampered(tmp_path / "approvals.db", *statements)
    with pytest.raises(Refused, match="audit"):
        store.consume(office.action, office.policy, office.trust, consumer="thief")
    with pytest.raises(Refused, match="audit"):
        store.verify(office.trust)


def slipped_in(path, office, approval, granted=None):
    """Put a decision, and a use, into tables and log the way GAELP would, but without asking anybody."""
    wanted = action_hash(office.action)
    with open_database(path).writing() as session:
        session.execute(
            "INSERT INTO approvals (nonce, action_hash, body) VALUES (?, ?, ?)",
            (approval.statement.nonce, wanted, as_text(approval)),
        )
        append(session, DECIDED, decided_body(wanted, approval), office.now)
        if granted:
            session.execute(
                "INSERT INTO uses (action_hash, consumer, body) VALUES (?, ?, ?)", (wanted, "c", as_text(granted))
            )
            if approval.statement.nonce in granted.nonces:
                nonce = (approval.statement.nonce, wanted)
                session.execute("INSERT INTO used_nonces (nonce, action_hash) VALUES (?, ?)", nonce)
            append(session, USED, used_body(wanted, "c", granted), office.now)


def test_a_forged_decision_in_tables_and_log_is_neither_used_nor_verified(store, tmp_path, office):
    approved(store, office)
    forged = office.decided("bob", office.action).model_copy(update={"signature": "00" * 64})
    slipped_in(tmp_path / "approvals.db", office, forged)
    assert verify_rows(AuditLog(open_database(tmp_path / "approvals.db")).rows()) is None
    with pytest.raises(Refused, match="cannot be trusted"):
        store.consume(office.action, office.policy, office.trust, consumer="c")
    with pytest.raises(Refused, match="decision of bob"):
        store.verify(office.trust)


@pytest.mark.parametrize(
    "change",
    [
        {"nonces": ("ab" * 16,)},
        {"nonces": ()},
        {"late": True},
        {"decision": "reject"},
        {"approvers": ("ann", "bob")},
        {"until_hours": 9},  # the approval holds for 8
    ],
)
def test_a_use_that_nobody_approved_does_not_verify(store, tmp_path, office, change):
    store.request(office.action)
    approval = office.decided("ann", office.action, decision=change.get("decision", "approve"))
    granted = Authorisation(
        action_hash=action_hash(office.action),
        approvers=change.get("approvers", ("ann",)),
        nonces=change.get("nonces", (approval.statement.nonce,)),
        policy_hash="00" * 32,
        signed=True,
        granted_at=office.now + timedelta(hours=9 if "late" in change else 1),
        expires_at=office.now + timedelta(hours=change.get("until_hours", 8)),
    )
    slipped_in(tmp_path / "approvals.db", office, approval, granted)
    with pytest.raises(Refused, match="never granted"):
        store.verify(office.trust)


def test_what_was_used_stays_verified_after_its_approvers_were_revoked(store, office):
    store.consume(approved(store, office), office.policy, office.trust, consumer="c")
    later = office.now + timedelta(days=1)
    store.verify(office.trust.without("ann", later).without("bob", later))
    with pytest.raises(Refused, match="decision of"):
        store.verify(Trust())


def test_a_request_put_under_the_hash_of_another_action_is_refused(store, tmp_path, office):
    other = office.action_with(attempt=2)
    store.request(office.action)
    store.request(other)
    stolen = f"SELECT body FROM requests WHERE action_hash = '{action_hash(other)}'"  # noqa: S608 - a hash
    tampered(tmp_path / "approvals.db", f"UPDATE requests SET body = ({stolen})")  # noqa: S608 - as above
    with pytest.raises(DataError, match="about another one"):
        store.consume(office.action, office.policy, office.trust, consumer="c")


def test_a_database_that_cannot_be_used_is_told_in_one_message(tmp_path, clock):
    (tmp_path / "broken.db").write_bytes(b"not a database" * 100)
    with pytest.raises(GaelpError, match="is damaged"):
        ApprovalStore(tmp_path / "broken.db", clock)


def test_what_was_granted_before_terms_were_kept_reads_and_verifies_as_it_was_written(store, tmp_path, office):
    approval = office.decided("ann", office.action)
    store.request(office.action)
    granted = Authorisation(
        action_hash=action_hash(office.action),
        approvers=("ann",),
        nonces=(approval.statement.nonce,),
        policy_hash="00" * 32,
        signed=True,
        granted_at=office.now,
        expires_at=office.now + timedelta(hours=1),
    )
    assert "terms" not in as_text(granted)
    slipped_in(tmp_path / "approvals.db", office, approval, granted)
    store.verify(office.trust)
    assert store.use(office.action) == granted


def test_a_use_tells_what_the_policy_asked_for_and_by_which_list(either_store, office):
    granted = either_store.consume(approved(either_store, office), office.policy, office.trust, consumer="c")
    assert (granted.terms.quorum, granted.terms.roles) == (2, ("finance", "marketing"))
    other = office.trust.without("aud", office.now)
    assert granted.terms.trust_hash != ApprovalTerms.of(office.policy, other).trust_hash


def test_a_use_under_a_weaker_policy_is_found_with_the_true_one(either_store, office):
    action = office.action_with(attempt=7)
    weak = office.policy_with(quorum=1, roles=(), at_least={})
    either_store.request(action)
    either_store.submit(office.decided("bob", action), weak, office.trust)
    either_store.consume(action, weak, office.trust, consumer="c")
    either_store.consume(approved(either_store, office), office.policy, office.trust, consumer="d")
    either_store.verify(office.trust)
    [found] = either_store.insufficient_uses(lambda _: office.policy, office.trust)
    assert (found.seq, found.action) == (2, action)
    assert found.missing == ("1 more of 2 approvers", "1 more with the role finance")
    assert either_store.insufficient_uses(lambda _: weak, office.trust) == ()


def test_a_table_that_is_gone_is_not_made_anew(either_store, place, office):
    either_store.request(office.action)
    with open_database(place).writing() as session:
        session.execute("DROP TABLE audit")
    for _ in range(2):
        with pytest.raises(Refused, match="the table audit is gone"):
            open_database(place)


def test_where_nothing_may_be_made_an_empty_database_is_refused(place):
    with pytest.raises(Refused, match="there is no audit log in it"):
        open_database(place, create=False)
    assert isinstance(place, str) or not place.exists()


def test_what_the_log_tells_of_an_action_already_is_not_told_twice(either_store, place, office):
    log, other = AuditLog(open_database(place)), "cd" * 32
    for wanted in (action_hash(office.action), action_hash(office.action), other):
        log.append_once("limit.set", {"action_hash": wanted}, office.now, action_hash=wanted)
    assert kinds(place) == ["limit.set", "limit.set"]
    assert either_store.used_actions() == frozenset()


def test_looking_whether_there_are_approvals_makes_none(place, clock):
    assert [is_begun(place), is_begun(place)] == [False, False]
    with pytest.raises(Refused, match="there is no audit log in it"):
        ApprovalStore(place, clock, create=False)
    ApprovalStore(place, clock)
    assert is_begun(place)


def test_used_nonces_that_are_gone_from_the_table_are_missed(postgres_url, clock, office):
    store = ApprovalStore(postgres_url, clock)
    store.consume(approved(store, office), office.policy, office.trust, consumer="release-1")
    store.verify(office.trust)
    with open_database(postgres_url).writing() as session:
        session.execute("SET session_replication_role = replica")  # past the triggers
        session.execute("DELETE FROM used_nonces")
    with pytest.raises(Refused, match=r"used_nonces: nonce .* is missing"):
        store.verify(office.trust)


def test_rows_that_follow_from_those_before_are_added_to_them_alone(place, office):
    log, seen = AuditLog(open_database(place)), []
    log.append("other", {}, office.now)

    def next_ones(rows):
        seen.append([row.body for row in rows])
        return [{"number": len(rows)}] if len(rows) < 1 else []

    for _ in range(2):
        log.append_following("limit.set", next_ones, office.now)
    assert (kinds(place), seen) == (["other", "limit.set"], [[], ['{"number":0}']])
