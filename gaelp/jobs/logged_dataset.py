"""Turn raw logs into a dataset for off-policy estimates: valid rows, each with the density of its action.

A density that the policy recorded is kept. Where the log has none, the log of the bid is taken as the action, and its
density is estimated from a normal distribution fitted to all bids of the same campaign, policy and segment; such rows
have `density_kind` "estimated". Where a bid never varied no density exists, and the row becomes a dead letter.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gaelp.jobs.screening import DEAD_LETTERS, ScreenedRows, dead_letters, keep_newest, keep_valid, not_finite
from gaelp.storage.schema import TABLES, TableName

__all__ = [
    "BID_MOMENTS",
    "DATASET_COLUMNS",
    "bid_moments",
    "clean_rows",
    "merge_bid_moments",
    "with_densities",
]

_GROUP = ("campaign", "policy", "segment")
_COUNTS = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")
_SMALLEST_SPREAD = 1e-6  # of the log of a bid: below this it did not vary
_FEWEST_BIDS = 24  # behind an estimated density: a day of hours
_LOG_2_PI_HALVES = 0.9189385332046727

DATASET_COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "phase", "source", "campaign", "policy", "episode", "segment")),
        ("at", pa.timestamp("us", tz="UTC")),
        ("table", pa.string()),
        ("step", pa.int32()),
        ("bid_micros", pa.int64()),
        ("action", pa.float64()),
        ("density", pa.float64()),
        ("density_kind", pa.string()),
        ("budget_left_micros", pa.int64()),
        ("reward", pa.float64()),
        *((name, pa.float64() if name == "conversions" else pa.int64()) for name in _COUNTS),
    ]
)

BID_MOMENTS = pa.schema(
    [
        *((name, pa.string()) for name in _GROUP),
        ("bids", pa.int64()),
        ("log_sum", pa.float64()),
        ("log_square_sum", pa.float64()),
    ]
)
"""What the densities are fitted from: sums over the logs of bids, by campaign, policy and segment."""


def clean_rows(name: TableName, tables: Sequence[pa.Table]) -> ScreenedRows:
    """Valid rows of a shard in the dataset's columns: once for each id, and the newest revision of each hour."""
    table = pa.concat_tables(tables)
    screened = keep_valid(name, table, _problems(name, table))
    if name is TableName.HOUR_REPORTS:
        newest = [("revision", "descending"), ("reported_at", "descending")]
        rows = keep_newest(screened.valid, ("account", "campaign", "segment", "at"), newest)
    else:
        rows = keep_newest(screened.valid, ("id",), ())
    return ScreenedRows(_in_dataset_columns(name, rows), screened.dead)


def bid_moments(rows: pa.Table) -> pa.Table:
    """Sums over the logs of bids that have no recorded density."""
    unknown = rows.filter(pc.is_null(rows.column("density")))
    logs = pc.ln(unknown.column("bid_micros").cast(pa.float64()))
    table = unknown.select(list(_GROUP)).append_column("log", logs).append_column("square", pc.multiply(logs, logs))
    sums = table.group_by(list(_GROUP), use_threads=False).aggregate(
        [([], "count_all"), ("log", "sum"), ("square", "sum")]
    )
    return pa.table(
        [
            *(sums.column(name) for name in _GROUP),
            *(sums.column(name) for name in ("count_all", "log_sum", "square_sum")),
        ],
        schema=BID_MOMENTS,
    )


def merge_bid_moments(partials: Sequence[pa.Table]) -> pa.Table:
    """Add sums up, in an order that does not depend on how the rows were split."""
    table = pa.concat_tables(partials).sort_by([(name, "ascending") for name in BID_MOMENTS.names])
    numbers = BID_MOMENTS.names[len(_GROUP) :]
    merged = table.group_by(list(_GROUP), use_threads=False).aggregate([(name, "sum") for name in numbers])
    columns = [*_GROUP, *(f"{name}_sum" for name in numbers)]
    return pa.table([merged.column(name) for name in columns], schema=BID_MOMENTS)


def with_densities(rows: pa.Table, moments: pa.Table) -> ScreenedRows:
    """The rows with a density each; those for which none can be estimated become dead letters."""
    numbered = rows.append_column("row", pa.array(range(rows.num_rows), pa.int64()))
    fitted = _joined(numbered, _fitted(moments))
    missing = pc.is_null(fitted.column("density"))
    no_fit = pc.and_(missing, pc.is_null(fitted.column("deviation")))
    dead = dead_letters(
        TableName.DECISIONS,
        fitted.filter(no_fit),
        f"no density: fewer than {_FEWEST_BIDS} bids without one, or all of them equal",
    )
    if dead.num_rows:  # each names the table that it came from
        dead = dead.set_column(0, DEAD_LETTERS.field("table"), fitted.filter(no_fit).column("table"))
    kept = fitted.filter(pc.invert(no_fit))
    missing = pc.is_null(kept.column("density"))
    action = pc.ln(kept.column("bid_micros").cast(pa.float64()))
    estimated = _normal_density(action, kept.column("mean"), kept.column("deviation"))
    values = {
        "action": pc.if_else(missing, action, kept.column("action")),
        "density": pc.if_else(missing, estimated, kept.column("density")),
        "density_kind": pc.if_else(missing, pa.scalar("estimated"), kept.column("density_kind")),
    }
    arrays = [values.get(name, kept.column(name)) for name in DATASET_COLUMNS.names]
    return ScreenedRows(pa.table(arrays, schema=DATASET_COLUMNS), dead)


def _problems(name: TableName, rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    column = rows.column
    problems = {f"{required} is missing": pc.is_null(column(required)) for required in TABLES[name].required}
    problems["bid_micros is missing or not above 0"] = pc.invert(
        pc.fill_null(pc.greater(column("bid_micros"), 0), False)
    )
    problems |= {f"{count} is negative": pc.less(column(count), 0) for count in _COUNTS}
    problems["conversions is not finite"] = not_finite(column("conversions"))
    problems["more clicks than impressions"] = pc.greater(column("clicks"), column("impressions"))
    if name is TableName.DECISIONS:
        problems["density is not finite"] = not_finite(column("density"))
        problems["density is not above 0"] = pc.less_equal(column("density"), 0)
        problems["density without an action"] = pc.and_(pc.is_valid(column("density")), pc.is_null(column("action")))
        known = pc.is_in(column("density_kind"), value_set=pa.array(["recorded", "estimated"]))
        problems["density_kind is not recorded or estimated"] = pc.and_(
            pc.is_valid(column("density")), pc.invert(known)
        )
        problems["reward is not finite"] = not_finite(column("reward"))
    return problems


def _in_dataset_columns(name: TableName, rows: pa.Table) -> pa.Table:
    arrays = [
        pa.array([name.value] * rows.num_rows, pa.string())
        if field.name == "table"
        else rows.column(field.name)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in DATASET_COLUMNS
    ]
    return pa.table(arrays, schema=DATASET_COLUMNS)


def _fitted(moments: pa.Table) -> pa.Table:
    """Mean and deviation of the logs of bids, where enough of them vary."""
    bids = moments.column("bids").cast(pa.float64())
    mean = pc.divide(moments.column("log_sum"), bids)
    variance = pc.subtract(pc.divide(moments.column("log_square_sum"), bids), pc.multiply(mean, mean))
    deviation = pc.sqrt(pc.max_element_wise(variance, 0.0))
    usable = pc.and_(pc.greater_equal(moments.column("bids"), _FEWEST_BIDS), pc.greater(deviation, _SMALLEST_SPREAD))
    fitted = moments.select(list(_GROUP)).append_column("mean", mean).append_column("deviation", deviation)
    return fitted.filter(usable)


def _joined(rows: pa.Table, fitted: pa.Table) -> pa.Table:
    """Mean and deviation beside each row, in the order of the rows. Arrow joins no nulls, so they get a text."""

    def keyed(table: pa.Table) -> pa.Table:
        for name in _GROUP:
            present = pc.binary_join_element_wise("=", pc.fill_null(table.column(name), ""), "")
            table = table.append_column(f"key_{name}", pc.if_else(pc.is_null(table.column(name)), "", present))
        return table

    keys = [f"key_{name}" for name in _GROUP]
    right = keyed(fitted).select([*keys, "mean", "deviation"])
    joined = keyed(rows).join(right, keys, join_type="left outer", use_threads=False)
    return joined.sort_by("row").select([*DATASET_COLUMNS.names, "mean", "deviation"])


def _normal_density(values: pa.ChunkedArray, mean: pa.ChunkedArray, deviation: pa.ChunkedArray) -> pa.ChunkedArray:
    scaled = pc.divide(pc.subtract(values, mean), deviation)
    exponent = pc.subtract(pc.multiply(pc.multiply(scaled, scaled), -0.5), _LOG_2_PI_HALVES)
    return pc.divide(pc.exp(exponent), deviation)
