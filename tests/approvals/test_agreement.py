"""Rows that somebody added to the tables, or to tables and log, do not verify."""

import sqlite3
from contextlib import closing

import pytest

from gaelp.approvals import action_hash, open_database, require
from gaelp.approvals.agreement import USED, used_body
from gaelp.approvals.audit import append
from gaelp.approvals.tables import as_text
from gaelp.errors import DataError, Refused


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO approvals SELECT 'ab', 'cd', body FROM approvals LIMIT 1",
        "INSERT INTO uses VALUES ('cd', 'thief', '{}')",
    ],
)
def test_a_row_that_belongs_to_no_request_is_noticed(office, store, tmp_path, statement):
    store.request(office.action)
    store.submit(office.decided("ann", office.action), office.policy, office.trust)
    store.verify(office.trust)
    with closing(sqlite3.connect(tmp_path / "approvals.db")) as opened, opened:  # does not check foreign keys
        opened.execute(statement)
    with pytest.raises(DataError, match=r"copied or changed|is no Authorisation"):
        store.verify(office.trust)


def test_a_use_of_a_rejected_action_does_not_verify_even_if_the_log_has_it(office, store, tmp_path):
    approvals = [office.decided(name, office.action) for name in ("ann", "bob")]
    rejection = office.decided("cyd", office.action, decision="reject")
    store.request(office.action)
    for decision in (*approvals, rejection):
        store.submit(decision, office.policy, office.trust)
    wanted = action_hash(office.action)
    granted = require(office.action, approvals, office.policy, office.trust, office.now)
    with open_database(tmp_path / "approvals.db").writing() as session:
        session.execute("INSERT INTO uses VALUES (?, ?, ?)", (wanted, "thief", as_text(granted)))
        for nonce in granted.nonces:
            session.execute("INSERT INTO used_nonces VALUES (?, ?)", (nonce, wanted))
        append(session, USED, used_body(wanted, "thief", granted), office.now)
    with pytest.raises(Refused, match="was rejected, and yet there is a use of it"):
        store.verify(office.trust)
