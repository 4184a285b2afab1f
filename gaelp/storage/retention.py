"""Which rows are deleted by age: raw trajectories of simulations, which `gaelp data episodes replay` can compute again.

Logs and reports of real campaigns are evidence about money, and some are years old when they are imported. They stay
unless a person names their phase. Episodes, clicks, conversions, spend and reports always stay.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from gaelp.config.base import Frozen
from gaelp.storage.schema import TableName
from gaelp.storage.store import EpisodeStore
from gaelp.types import Phase

__all__ = ["RAW_TABLES", "RetentionPlan", "apply_retention", "plan_retention"]

RAW_TABLES = (TableName.DECISIONS, TableName.AUCTIONS)


class RetentionPlan(Frozen):
    """What retention deletes now."""

    before: date
    tables: tuple[TableName, ...]
    phases: tuple[Phase, ...]
    rows: int  # that are old enough and not on hold
    bytes: int
    held_rows: int  # that are old enough and stay because of a legal hold
    sources: tuple[str, ...]


def plan_retention(
    store: EpisodeStore, now: datetime, days: int, phases: Sequence[Phase] = (Phase.SIMULATION,)
) -> RetentionPlan:
    """Return what is older than so many days."""
    before, held = now.astimezone(UTC).date() - timedelta(days=days), store.holds()
    old = [part for part in store.describe() if part.table in RAW_TABLES and part.phase in phases and part.day < before]
    gone = [part for part in old if part.source not in held]
    return RetentionPlan(
        before=before,
        tables=RAW_TABLES,
        phases=tuple(phases),
        rows=sum(part.rows for part in gone),
        bytes=sum(part.bytes for part in gone),
        held_rows=sum(part.rows for part in old) - sum(part.rows for part in gone),
        sources=tuple(sorted({part.source for part in gone})),
    )


def apply_retention(store: EpisodeStore, plan: RetentionPlan) -> int:
    """Delete what the plan names, except what was put on hold since; return how many rows."""
    return store.remove_before(plan.before, plan.tables, plan.phases)
