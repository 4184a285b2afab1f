"""Back up a home: every store that decides about money or models, the models, the trusted keys, a stop in force."""

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
from gaelp.pilot.book_schema import STORE as PILOT
from gaelp.registry.records import STORE as REGISTRY
from gaelp.registry.registry_key import key_place
from gaelp.storage.seals import STORE as SEALS

__all__ = ["STORES", "back_up"]

# In the order in which their locks are taken: a promotion reads decisions, and storing a decision reads approvals.
STORES: tuple[Store, ...] = (REGISTRY, DECISIONS, APPROVALS, LEDGER, REVIEWS, VIOLATIONS, SEALS, PILOT)


def back_up(settings: Settings, target: Path) -> Backup:
    """Copy the stores of these settings to a new archive, as of one moment, while spenders keep working."""
    if settings.budget.database_url is not None:
        raise BadInput(
            "the ledger is in PostgreSQL: back it up with its own tool, which copies everything as of one moment:"
            " `pg_dump --format=custom --file=FILE DATABASE` (docs/ledger.md, Backup)"
        )
    home = absolute(settings.home)
    small = (trust_place(settings), latch(settings).path, home / "alerts.json", key_place(settings))
    has_models = has_store(place_of(settings, REGISTRY.file_name), REGISTRY)
    with ExitStack() as opened:
        databases: dict[str, Database] = {}
        for store in STORES:
            place = place_of(settings, store.file_name)
            if (store is LEDGER and not has_models) or has_store(place, store):
                database = open_database(place, store, create=False)
                opened.callback(database.close)
                databases[store.file_name] = database
        others = {path.name: path for path in small if path.exists()}
        return write_backup(databases, others, absolute(target), folders={"models": home / "models"})
