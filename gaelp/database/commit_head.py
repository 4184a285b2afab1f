"""How many transactions a SQLite file has committed, kept beside the file as well, so that lost ones are noticed.

A file without its -wal, or an older copy in its place, opens without a word and lacks what was committed. Each writing
transaction counts up a row in the file; after the commit that number is written to `NAME.head`. It is not synced and
may lag behind, so it is a lower bound: a file with a smaller number has lost commits.
"""

import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import OperationalError

__all__ = ["COMMIT_TABLE", "CommitHead", "committed", "count_commit"]

COMMIT_TABLE = "gaelp_commit"
_COUNT = f"UPDATE {COMMIT_TABLE} SET number = number + 1 RETURNING number"  # noqa: S608 - a constant
_READ = f"SELECT number FROM {COMMIT_TABLE}"  # noqa: S608 - a constant
_DIGITS = 20


def count_commit(driver: sqlite3.Connection) -> int:
    """Count this transaction, which writes; its number. Straight to the driver, for every grant pays for it."""
    try:
        return int(driver.execute(_COUNT).fetchone()[0])
    except (sqlite3.Error, TypeError) as problem:
        raise OperationalError(_COUNT, None, problem) from problem


def committed(connection: Connection) -> int:
    """How many transactions the file holds; 0 in one from before they were counted."""
    if not inspect(connection).has_table(COMMIT_TABLE):
        return 0
    return int(connection.exec_driver_sql(_READ).scalar_one_or_none() or 0)


class CommitHead:
    """The number beside one file."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(f"{database.name}.head")
        self._name = os.fspath(self._path)

    def write(self, number: int) -> None:
        """Note that this many transactions are committed."""
        file = os.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, self.text(number), 0)
        finally:
            os.close(file)

    @staticmethod
    def text(number: int) -> bytes:
        """What is written for a number."""
        return f"{number:0{_DIGITS}d}\n".encode()

    def read(self) -> int:
        """How many are known to be committed; 0 if nothing was noted, ValueError if what is there is no number.

        An empty file is what a process leaves that was killed before its first number.
        """
        try:
            noted = self._path.read_bytes().strip()
        except FileNotFoundError:
            return 0
        if noted and not noted.isdigit():
            raise ValueError(f"it holds {noted[:_DIGITS]!r}")
        return int(noted or b"0")
