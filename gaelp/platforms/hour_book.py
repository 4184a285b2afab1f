"""What was taken in of each campaign's hours; a table in the ledger's database, one row for a campaign.

A row is replaced whole and in one transaction, by who has read it as it stands: whoever is killed leaves it as it was,
and two at the same time do not take an hour in twice.
"""

from dataclasses import dataclass

from pydantic import ValidationError
from sqlalchemy import CheckConstraint, Column, Integer, MetaData, Table, Text, text

from gaelp.budget.ledger import Ledger
from gaelp.database import Schema, big_integer
from gaelp.errors import GaelpError
from gaelp.platforms.campaign_hours import HoursSeen

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
    """What is stored of one campaign, and which version of it; 0 is none yet."""

    seen: HoursSeen
    version: int = 0


def create_hour_book(ledger: Ledger) -> None:
    """Make the table where it is missing."""
    ledger.database.install(_SCHEMA)


def find_hours(ledger: Ledger, account_id: str, campaign: str) -> HourRow | None:
    """What is stored of a campaign, nothing if it was never seen running; one that makes no sense is an error."""
    with ledger.snapshot() as connection:
        row = connection.execute(_FIND, {"account_id": account_id, "campaign": campaign}).one_or_none()
    if row is None:
        return None
    try:
        return HourRow(HoursSeen.model_validate_json(row.body), row.version)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        raise GaelpError(
            f"what was kept of the hours of {campaign} cannot be read ({first['msg']}): find out who wrote to the table"
            f" {_TABLE}, then delete its row of account {account_id} and campaign {campaign}; its hours begin anew then"
        ) from None


def store_hours(ledger: Ledger, account_id: str, campaign: str, row: HourRow) -> bool:
    """Replace what is stored if it is still the version that `row` goes on from; the answer is whether it was."""
    values = {
        "account_id": account_id,
        "campaign": campaign,
        "running": int(row.seen.running_since is not None),
        "body": row.seen.model_dump_json(),
    }
    with ledger.transaction() as connection:
        if row.version == 0:
            return connection.execute(_BEGIN, values).rowcount == 1
        return connection.execute(_REPLACE, values | {"version": row.version}).rowcount == 1


def watched_campaigns(ledger: Ledger, account_id: str, *, running: bool = False) -> tuple[str, ...]:
    """Every campaign that was seen running, or only those that were running when they were seen last."""
    with ledger.snapshot() as connection:
        values = {"account_id": account_id, "running": int(running)}
        return tuple(connection.execute(_CAMPAIGNS, values).scalars())
