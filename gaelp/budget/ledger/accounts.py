"""Ad accounts: the currency they are billed in and the time zone that their days follow."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from gaelp.budget.ledger.connection import Ledger
from gaelp.budget.ledger.input_checks import check_word
from gaelp.clock import account_day
from gaelp.errors import BadInput
from gaelp.money import Money

__all__ = ["AdAccount", "find_account", "known_account", "open_account"]

_INSERT = text(
    "INSERT INTO ledger_account (id, currency, time_zone) VALUES (:id, :currency, :time_zone) ON CONFLICT DO NOTHING"
)
_FIND = text("SELECT id, currency, time_zone FROM ledger_account WHERE id = :id")

# Entries of the zone database that are not places: the machine's own setting, and variants with leap seconds.
_NO_PLACES = ("Factory", "localtime", "posix", "posixrules", "right")


@dataclass(frozen=True, slots=True)
class AdAccount:
    """An account on an ad platform; `time_zone` is an IANA name, as the platform reports it."""

    id: str
    currency: str
    time_zone: str


def open_account(ledger: Ledger, account: AdAccount) -> None:
    """Register an account; its currency and zone never change, because booked days and amounts depend on them."""
    check_word(account.id, "the id of an account")
    Money(0, account.currency)
    _check_zone(ledger, account.time_zone)
    with ledger.alone() as connection:
        values = {"id": account.id, "currency": account.currency, "time_zone": account.time_zone}
        connection.execute(_INSERT, values)
        known = find_account(connection, account.id)
    if known != account:
        raise BadInput(
            f"account {account.id} has {known.currency} and {known.time_zone}, not {account.currency} and"
            f" {account.time_zone}: give the same, or open it under another id"
        )


def _check_zone(ledger: Ledger, time_zone: str) -> None:
    """Refuse what is not a time zone, and names whose meaning depends on the machine."""
    first = time_zone.partition("/")[0] if isinstance(time_zone, str) else ""
    if first in _NO_PLACES:
        raise BadInput(
            f"the time zone {time_zone!r} is the machine's own or a variant of another, not that of a place: give the"
            " IANA name that the platform reports, such as 'Europe/Berlin' or 'UTC'"
        )
    account_day(ledger.clock.now(), time_zone)


def known_account(ledger: Ledger, account_id: str) -> AdAccount:
    """Read the account with this id in its own transaction."""
    with ledger.snapshot() as connection:
        return find_account(connection, account_id)


def find_account(connection: Connection, account_id: str) -> AdAccount:
    """Read the account with this id inside a transaction."""
    row = connection.execute(_FIND, {"id": account_id}).one_or_none()
    if row is None:
        raise BadInput(
            f"account {account_id!r} is not known to the ledger: check the id, or add it with"
            f" `gaelp ledger create {account_id} --currency CURRENCY --time-zone ZONE`"
        )
    return AdAccount(row.id, row.currency, row.time_zone)
