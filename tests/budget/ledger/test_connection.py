"""How the ledger connects: durable settings, no empty ledger by accident, no password in a message."""

import sqlite3

import pytest
from sqlalchemy import text

from gaelp.approvals import open_database
from gaelp.budget.latch import Latch
from gaelp.budget.ledger import LedgerUnavailable, Reservation, SpendingStopped, open_ledger, overview, reserve
from gaelp.database.engine import connect_engine
from gaelp.errors import BadInput


def test_a_commit_on_sqlite_survives_a_power_cut(databases, tmp_path):
    ledger = databases.new_ledger(tmp_path / "ledger.db", tmp_path)
    with ledger.snapshot() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
    ledger.close()


def test_a_commit_on_postgres_is_durable_and_waits_are_bounded(databases, tmp_path):
    ledger = databases.new_ledger(databases.fresh_place("postgres"), tmp_path)
    with ledger.transaction() as connection:
        result = {
            name: connection.execute(text(f"SHOW {name}")).scalar()
            for name in ("synchronous_commit", "transaction_isolation", "lock_timeout", "statement_timeout")
        }
    ledger.close()
    assert result == {
        "synchronous_commit": "on",
        "transaction_isolation": "read committed",
        "lock_timeout": "30s",
        "statement_timeout": "30s",
    }


def test_a_ledger_that_is_not_there_is_an_error_and_not_an_empty_ledger(tmp_path):
    with pytest.raises(BadInput, match="there is no ledger"):
        open_ledger(tmp_path / "ledger.db", Latch(tmp_path / "STOPPED"))
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_whose_file_vanishes_grants_nothing_more(databases, tmp_path):
    ledger = databases.new_ledger(tmp_path / "ledger.db", tmp_path)
    ledger.close()
    for file in tmp_path.glob("ledger.db*"):
        file.unlink()
    with pytest.raises(LedgerUnavailable, match="no money is granted"):
        reserve(ledger, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))
    assert not (tmp_path / "ledger.db").exists()


def test_a_folder_that_vanishes_with_the_ledger_counts_as_a_stop(databases, tmp_path):
    home = tmp_path / "home"
    ledger = databases.new_ledger(home / "ledger.db", home)
    ledger.close()
    home.rename(tmp_path / "elsewhere")
    with pytest.raises(SpendingStopped):
        reserve(ledger, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))


def test_a_database_without_a_ledger_is_not_taken_for_one(tmp_path):
    sqlite3.connect(tmp_path / "other.db").close()
    with pytest.raises(BadInput, match="holds no ledger"):
        open_ledger(tmp_path / "other.db", Latch(tmp_path / "STOPPED"))


@pytest.mark.parametrize("url", ["mysql://me:hunter2@host/db", "sqlite:///x.db", "hunter2"])
def test_another_database_is_refused_without_telling_the_password(url):
    with pytest.raises(BadInput, match="postgresql://") as refused:
        connect_engine(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "meant"), [("postgresql://postgres:@", "postgres://postgres:@"), (":@", ":a/b+c=d@"), (":@", ":a%2Fb@")]
)
def test_ledger_and_approvals_read_an_address_alike(databases, tmp_path, written, meant):
    place = databases.fresh_place("postgres").replace(written, meant, 1)
    databases.new_ledger(place, tmp_path).close()
    with open_database(place).reading() as session:
        # One database, one schema: what the ledger has made is seen from the other side.
        assert session.execute("SELECT id FROM ledger_account").fetchall() == [(databases.ACCOUNT,)]


def test_books_are_for_their_owner_alone(databases, tmp_path):
    home = tmp_path / "home"
    ledger = databases.new_ledger(home / "ledger.db", home)
    open_database(home / "approvals.db")
    with open_database(home / "approvals.db").writing():
        result = {file.name: file.stat().st_mode & 0o777 for file in home.iterdir()}
    ledger.close()
    assert home.stat().st_mode & 0o777 == 0o700
    assert {"ledger.db", "ledger.db-wal", "approvals.db", "approvals.db-wal"} <= set(result)
    assert set(result.values()) == {0o600}


def test_a_postgres_that_does_not_answer_is_reported_without_the_password(tmp_path):
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerUnavailable) as refused:
        open_ledger("postgresql://me:hunter2@127.0.0.1:1/none", Latch(tmp_path / "STOPPED"))
    assert "hunter2" not in str(refused.value)


def test_looking_does_not_wait_for_a_writer(databases, tmp_path):
    ledger = databases.new_ledger(tmp_path / "ledger.db", tmp_path)
    writer = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    assert not overview(ledger).stopped
    writer.close()
    ledger.close()
