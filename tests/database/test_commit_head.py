"""A SQLite file that lost commits, pages or itself is refused when it is opened, with the way back."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gaelp.budget.latch import Latch
from gaelp.budget.ledger import LedgerUnavailable, Reservation, create_ledger, open_ledger, overview, reserve
from gaelp.budget.violations import Violation, ViolationStore
from gaelp.clock import SystemClock
from gaelp.database import DatabaseDamaged

KILLED = """
import importlib.util, os, signal, sys
spec = importlib.util.spec_from_file_location("databases", sys.argv[1])
databases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(databases)
from pathlib import Path
from gaelp.budget.ledger import Reservation, reserve
home = Path(sys.argv[2])
ledger = databases.new_ledger(home / "ledger.db", home)
reserve(ledger, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def home(tmp_path, databases):
    """A home whose spender was killed, so that what it committed is in the -wal alone."""
    subprocess.run([sys.executable, "-c", KILLED, databases.__file__, tmp_path], check=False, timeout=60)
    assert (tmp_path / "ledger.db-wal").stat().st_size > 0
    return tmp_path


def opened(home):
    return open_ledger(home / "ledger.db", Latch(home / "STOPPED"))


def test_a_ledger_whose_spender_was_killed_opens_with_all_its_commits(home):
    with closing(opened(home)) as ledger:
        assert [total.transfers for total in overview(ledger).states] == [1]


def test_a_ledger_without_its_wal_is_refused_with_the_way_back(home):
    (home / "ledger.db-wal").unlink()
    for _ in range(2):
        with pytest.raises(LedgerUnavailable) as refused:
            opened(home)
    assert "its -wal is gone, or it is an older copy" in str(refused.value)
    assert "no money is granted" in str(refused.value)
    assert "restore the newest backup" in str(refused.value)


def test_an_older_copy_in_place_of_the_ledger_is_refused(tmp_path, databases):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    shutil.copy(tmp_path / "ledger.db", tmp_path / "copy.db")
    with closing(opened(tmp_path)) as ledger:
        reserve(ledger, Reservation("a", databases.ACCOUNT, databases.usd(1), databases.CAPS))
    shutil.copy(tmp_path / "copy.db", tmp_path / "ledger.db")
    with pytest.raises(DatabaseDamaged, match="an older copy"):
        opened(tmp_path)


@pytest.mark.parametrize("left", [0.5, 0.9])
def test_a_truncated_ledger_is_refused_with_the_way_back(tmp_path, databases, left):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    size = (tmp_path / "ledger.db").stat().st_size
    os.truncate(tmp_path / "ledger.db", int(size * left) // 4096 * 4096)
    with pytest.raises(DatabaseDamaged, match="restore the newest backup"):
        opened(tmp_path)


def test_a_ledger_cut_to_nothing_is_not_begun_again(tmp_path, databases):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    os.truncate(tmp_path / "ledger.db", 0)
    for open_it in (open_ledger, create_ledger):
        with pytest.raises(DatabaseDamaged, match="restore the newest backup"):
            open_it(tmp_path / "ledger.db", Latch(tmp_path / "STOPPED"))


def test_a_store_that_is_gone_is_not_begun_again(tmp_path):
    path = Path(tmp_path) / "violations.sqlite"
    now = SystemClock().now()
    ViolationStore(path).add(Violation(severity="critical", scope="s", rule="r", what="w", at=now))
    path.unlink()
    with pytest.raises(DatabaseDamaged, match="the file is gone"):
        ViolationStore(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"garbage", b"-5", b"\0" * 21, b"12 34"])
def test_a_note_of_commits_that_is_no_number_is_refused_with_the_way_on(tmp_path, databases, content):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    (tmp_path / "ledger.db.head").write_bytes(content)
    with pytest.raises(DatabaseDamaged) as refused:
        opened(tmp_path)
    assert "ledger.db.head does not say how many transactions were committed" in str(refused.value)
    assert "restore the newest backup" in str(refused.value)
    assert "ledger.db.head if it is still unreadable" in str(refused.value)
    (tmp_path / "ledger.db.head").unlink()
    opened(tmp_path).close()


def test_a_note_of_commits_that_cannot_be_read_is_refused(tmp_path, databases):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    (tmp_path / "ledger.db.head").unlink()
    (tmp_path / "ledger.db.head").mkdir()
    with pytest.raises(DatabaseDamaged, match="Is a directory"):
        opened(tmp_path)


def test_an_empty_note_is_what_a_process_leaves_that_was_killed_before_its_first_number(tmp_path, databases):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    (tmp_path / "ledger.db.head").write_bytes(b"")
    opened(tmp_path).close()


@pytest.mark.parametrize(
    ("statement", "version"),
    [
        ("UPDATE gaelp_schema SET version = -1 WHERE store = 'ledger'", "-1"),
        ("UPDATE gaelp_schema SET version = 0 WHERE store = 'ledger'", "0"),
        ("DELETE FROM gaelp_schema WHERE store = 'ledger'", "absent"),
        ("DROP TABLE gaelp_schema", "absent"),
    ],
)
def test_an_edited_schema_version_is_refused_in_words(tmp_path, databases, statement, version):
    databases.new_ledger(tmp_path / "ledger.db", tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as file:
        file.execute(statement)
        file.commit()
    for open_it in (open_ledger, create_ledger):
        with pytest.raises(DatabaseDamaged) as refused:
            open_it(tmp_path / "ledger.db", Latch(tmp_path / "STOPPED"))
        assert f"the schema version of 'ledger' is {version}: the database was edited" in str(refused.value)
        assert "restore the newest backup" in str(refused.value)
