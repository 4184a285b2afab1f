"""One ad account is never driven by two runs at once: a lease in the pilots' database, renewed every interval."""

import os
import socket
from dataclasses import dataclass
from datetime import timedelta

import psutil
from sqlalchemy import Row, text

from gaelp.clock import Clock
from gaelp.errors import Refused
from gaelp.pilot.decision_book import DecisionBook

__all__ = ["LEASE", "AccountLease", "this_process"]

LEASE = timedelta(hours=2)  # longer than an interval, after which it is renewed

_FIND = text("SELECT run, holder, expires_ms FROM pilot_lease WHERE account = :account")
_TAKE = text(
    "INSERT INTO pilot_lease (account, run, holder, expires_ms) VALUES (:account, :run, :holder, :expires_ms)"
    " ON CONFLICT (account) DO UPDATE"
    " SET run = excluded.run, holder = excluded.holder, expires_ms = excluded.expires_ms"
)
_END = text("DELETE FROM pilot_lease WHERE account = :account AND holder = :holder")


def this_process() -> str:
    """Machine, process id and start of this process: a later process with the same id is another holder."""
    return f"{socket.gethostname()} {os.getpid()} {psutil.Process().create_time():.2f}"


@dataclass(frozen=True, slots=True)
class AccountLease:
    """The right of one process to drive an account; `clock` is wall time."""

    book: DecisionBook
    account: str
    run: str
    clock: Clock
    holder: str

    def take(self) -> None:
        """Take or renew the lease; Refused while another process that may be alive holds it."""
        now_ms = int(self.clock.now().timestamp() * 1000)
        values = {"account": self.account, "run": self.run, "holder": self.holder}
        with self.book.writing() as connection:
            row = connection.execute(_FIND, {"account": self.account}).one_or_none()
            if row is not None and row.holder != self.holder and row.expires_ms > now_ms and _may_live(row):
                minutes = (row.expires_ms - now_ms) / 60_000
                raise Refused(
                    f"the ad account {self.account} is driven by run {row.run} (process {row.holder}): an account has"
                    f" one driver at a time. End that process, or wait {minutes:.0f} minutes until its lease ends"
                )
            connection.execute(_TAKE, values | {"expires_ms": now_ms + int(LEASE.total_seconds() * 1000)})

    def end(self) -> None:
        """Give the lease back."""
        with self.book.writing() as connection:
            connection.execute(_END, {"account": self.account, "holder": self.holder})


def _may_live(row: Row[tuple[str, str, int]]) -> bool:
    """Whether the holder may still run: one of another machine, or a process of this one that is there."""
    host, number, started = row.holder.rsplit(" ", 2)
    if host != socket.gethostname():
        return True
    try:
        return bool(f"{psutil.Process(int(number)).create_time():.2f}" == started)
    except psutil.Error:
        return False
