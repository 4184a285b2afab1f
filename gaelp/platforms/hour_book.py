"""The stored hours of each campaign: a table in the ledger's database with one row per campaign.

A row is replaced as a whole, in one transaction, if nobody has changed it since it was read: a crash leaves it as it
was, and two processes cannot count an hour twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import CheckConstraint, Column, Connection, Integer, MetaData, Table, Text, text

from gaelp.budget.ledger import Ledger
from gaelp.database import Schema, big_integer
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import ObservedHours

__all__ = ["HourRow", "create_hour_book", "find_hours", "store_hours", "watched_campaigns"]

_TABLE = "platform_hours"
_metadata = MetaData()

Table(
    _TABLE,
    _metadata,
    Column("account_id", Text, primary_key=True),
    Column("campaign", Text, primary_key=True),
    Column("running", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("version", big_integer, nullable=False),
    CheckConstraint("running IN (0, 1)", name="running_is_known"),
    CheckConstraint("version > 0", name="version_counts"),
    sqlite_strict=True,
)

_SCHEMA = Schema("hours", _metadata, old_tables=(_TABLE,))

_OF = "account_id = :account_id AND campaign = :campaign"
_FIND = text(f"SELECT body, version FROM {_TABLE} WHERE {_OF}")  # noqa: S608 - constants of this module
_BEGIN = text(
    f"INSERT INTO {_TABLE} (account_id, campaign, running, body, version)"  # noqa: S608 - as above
    " VALUES (:account_id, :campaign, :running, :body, 1) ON CONFLICT (account_id, campaign) DO NOTHING"
)
_REPLACE = text(
    f"UPDATE {_TABLE} SET running = :running, body = :body, version = version + 1"  # noqa: S608 - as above
    f" WHERE {_OF} AND version = :version"
)
_CAMPAIGNS = text(
    f"SELECT campaign FROM {_TABLE} WHERE account_id = :account_id AND running >= :running ORDER BY campaign"  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class HourRow:
    """The stored state of a campaign and its version; version 0 is not stored yet."""

    observed: ObservedHours
    version: int = 0


def create_hour_book(ledger: Ledger) -> None:
    """Create the table if it is missing."""
    ledger.database.install(_SCHEMA)


def find_hours(ledger: Ledger, account_id: str, campaign: str) -> HourRow | None:
    """The stored state of a campaign, None if it was never seen running; raise if it cannot be read."""
    with ledger.snapshot() as connection:
        row = connection.execute(_FIND, {"account_id": account_id, "campaign": campaign}).one_or_none()
    if row is None:
        return None
    try:
        return HourRow(ObservedHours.model_validate_json(row.body), row.version)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        raise GaelpError(
            f"the stored hours of {campaign} cannot be read ({first['msg']}): find out who wrote to the table {_TABLE},"
            f" then delete its row of account {account_id} and campaign {campaign}; its hours start again then"
        ) from None


def store_hours(ledger: Ledger, account_id: str, rows: Mapping[str, HourRow]) -> tuple[str, ...]:
    """Store the states of campaigns whose version has not changed since they were read; return which were stored."""
    with ledger.transaction() as connection:
        return tuple(campaign for campaign, row in rows.items() if _stored(connection, account_id, campaign, row))


def _stored(connection: Connection, account_id: str, campaign: str, row: HourRow) -> bool:
    values = {
        "account_id": account_id,
        "campaign": campaign,
        "running": int(row.observed.running_since is not None),
        "body": row.observed.model_dump_json(),
    }
    if row.version == 0:
        return connection.execute(_BEGIN, values).rowcount == 1
    return connection.execute(_REPLACE, values | {"version": row.version}).rowcount == 1


def watched_campaigns(ledger: Ledger, account_id: str, *, running: bool = False) -> tuple[str, ...]:
    """Every campaign that was ever seen running, or only those that were running when last seen."""
    with ledger.snapshot() as connection:
        values = {"account_id": account_id, "running": int(running)}
        return tuple(connection.execute(_CAMPAIGNS, values).scalars())
