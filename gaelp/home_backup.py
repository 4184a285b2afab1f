"""Back up a home: every store that decides about money, the trusted keys, and a stop in force."""

from contextlib import ExitStack
from pathlib import Path

from gaelp.approvals.database import STORE as APPROVALS
from gaelp.approvals.trust import trust_place
from gaelp.bootstrap import latch
from gaelp.budget.ledger.connection import STORE as LEDGER
from gaelp.budget.violations import STORE as VIOLATIONS
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.content.review_queue import STORE as REVIEWS
from gaelp.database import Database, Store, has_store, open_database, place_of
from gaelp.database.backup import Backup, write_backup
from gaelp.errors import BadInput
from gaelp.gates.decision_store import STORE as DECISIONS

__all__ = ["STORES", "back_up"]

# In the order in which their locks are taken: storing a gate's decision reads approvals.
STORES: tuple[Store, ...] = (DECISIONS, APPROVALS, LEDGER, REVIEWS, VIOLATIONS)


def back_up(settings: Settings, target: Path) -> Backup:
    """Copy the stores of these settings to a new archive, as of one moment, while spenders keep working."""
    if settings.budget.database_url is not None:
        raise BadInput(
            "the ledger is in PostgreSQL: back it up with its own tool, which copies everything as of one moment:"
            " `pg_dump --format=custom --file=FILE DATABASE` (docs/ledger.md, Backup)"
        )
    home = absolute(settings.home)
    small = {path.name: path for path in (trust_place(settings), latch(settings).path, home / "alerts.json")}
    with ExitStack() as opened:
        databases: dict[str, Database] = {}
        for store in STORES:
            place = place_of(settings, store.file_name)
            if store is LEDGER or has_store(place, store):
                database = open_database(place, store, create=False)
                opened.callback(database.close)
                databases[store.file_name] = database
        others = {name: path for name, path in small.items() if path.exists()}
        return write_backup(databases, others, absolute(target))
