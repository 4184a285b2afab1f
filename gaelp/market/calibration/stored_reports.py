"""The rows of the store that calibration from reports reads."""

from collections.abc import Mapping

import pyarrow as pa

from gaelp.errors import DataError
from gaelp.storage.schema import TABLES, TableName
from gaelp.storage.sealed_store import withheld_note
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["read_report_tables"]

_KEY = ("at", "campaign", "segment")
_COUNTS = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")
_COLUMNS: Mapping[TableName, tuple[str, ...]] = {
    TableName.HOUR_REPORTS: (
        *_KEY,
        "account_day",
        "revision",
        "reported_at",
        "bid_micros",
        "impression_share",
        *_COUNTS,
    ),
    TableName.IMPRESSION_SHARES: (*_KEY, "account_day", "revision", "reported_at", "impression_share"),
    TableName.CONVERSIONS: (*_KEY, "revision", "click_at", "reported_at"),
    TableName.BID_SIMULATIONS: (*_KEY, "period_start", "period_end", "reported_at", "bid_micros", *_COUNTS),
    TableName.DECISIONS: (*_KEY, "budget_left_micros"),
}


def read_report_tables(
    store: EpisodeStore, rows: RowFilter, *, needed: TableName = TableName.HOUR_REPORTS
) -> dict[TableName, pa.Table]:
    """Hour reports, impression shares, conversions, bid simulator points, and the budgets of decisions.

    A store from `build_store` withholds sealed rows. DataError if there is no row of the table that is needed.
    """
    tables = {name: _read(store, name, rows, columns) for name, columns in _COLUMNS.items()}
    if tables[needed].num_rows == 0:
        wanted = ", ".join(rows.sources) or "any source"
        note = withheld_note(store)
        raise DataError(
            f"the store has no row of {needed} from {wanted}; allowed: at least one. Import reports (`gaelp data"
            " import`), make some (`gaelp data synthesize`), or name another --source (`gaelp data describe`)."
            + ("" if note is None else f" {note}")
        )
    return tables


def _read(store: EpisodeStore, name: TableName, rows: RowFilter, columns: tuple[str, ...]) -> pa.Table:
    schema = pa.schema([TABLES[name].columns.field(column) for column in columns])
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in store.scan(name, rows, columns))])
