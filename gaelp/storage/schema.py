"""The schema of everything that is logged: one Arrow schema a table, with a version and the meaning of each column.

Every phase writes these tables and every reader reads them: training, replay, imports, ad platforms, Beam jobs. Money
is integer micros of the account's currency, and every time is UTC with microseconds. A column is null where the source
has no such figure; a zero is a measured zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import pyarrow as pa

__all__ = [
    "COMMON_COLUMNS",
    "SCHEMA_VERSION",
    "TABLES",
    "DensityKind",
    "EpisodeState",
    "SpendKind",
    "StoredTable",
    "TableName",
    "empty_table",
]

SCHEMA_VERSION = 2  # 2: reports and impression shares of whole days, and bid simulator points

DensityKind = Literal["recorded", "estimated"]  # of the action: drawn by the logging policy, or fitted afterwards
SpendKind = Literal["charge", "credit", "adjustment"]  # clicks billed, invalid clicks returned, corrections


class TableName(StrEnum):
    """The stored tables."""

    EPISODES = "episodes"
    DECISIONS = "decisions"
    AUCTIONS = "auctions"
    CLICKS = "clicks"
    CONVERSIONS = "conversions"
    SPEND_EVENTS = "spend_events"
    HOUR_REPORTS = "hour_reports"
    DAY_REPORTS = "day_reports"
    KEYWORD_TOTALS = "keyword_totals"
    IMPRESSION_SHARES = "impression_shares"
    BID_SIMULATIONS = "bid_simulations"


class EpisodeState(StrEnum):
    """The state of an episode: running, or how it ended."""

    RUNNING = "running"
    FINISHED = "finished"  # it reached its last hour
    TERMINATED = "terminated"  # a termination condition ended it; `reason` names the condition
    TIMED_OUT = "timed_out"  # it passed its time limit
    FAILED = "failed"  # an error ended it; `reason` is the error


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table: its columns, which of them may not be null, and what its rows are."""

    name: TableName
    columns: pa.Schema
    purpose: str

    @property
    def required(self) -> tuple[str, ...]:
        """The columns that may not be null."""
        return tuple(field.name for field in self.columns if not field.nullable)


_TIME = pa.timestamp("us", tz="UTC")
_MICROS = pa.int64()


def _field(name: str, kind: pa.DataType, meaning: str, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=not required, metadata={"meaning": meaning})


# Every table begins with these. Rows are partitioned by the day of `at` and are unique by `id`.
COMMON_COLUMNS = (
    _field("id", pa.string(), "unique in the table; the same id twice is stored once", required=True),
    _field("at", _TIME, "when it happened, by the clock of the market or the ad platform", required=True),
    _field(
        "phase",
        pa.string(),
        "simulation, history, pilot or scale; the phase that the row is evidence for",
        required=True,
    ),
    _field("source", pa.string(), "the run or the import that wrote the row", required=True),
    _field("campaign", pa.string(), "the campaign", required=True),
    _field("policy", pa.string(), "the version of the policy that decided; null where the log does not say"),
)


def _table(name: TableName, purpose: str, *fields: pa.Field) -> StoredTable:
    columns = pa.schema(
        [*COMMON_COLUMNS, *fields], metadata={"table": name.value, "schema_version": str(SCHEMA_VERSION)}
    )
    return StoredTable(name, columns, purpose)


_COUNTS = (
    _field("impressions", pa.int64(), "adverts shown"),
    _field("clicks", pa.int64(), "clicks"),
    _field("conversions", pa.float64(), "conversions; fractions where a platform splits credit between clicks"),
    _field("spend_micros", _MICROS, "cost"),
    _field("value_micros", _MICROS, "value of the conversions to the advertiser"),
)

_EPISODES = _table(
    TableName.EPISODES,
    "one row for each state of an episode: one campaign's flight under one policy",
    _field("episode", pa.string(), "the episode; a running and an ended row share it", required=True),
    _field("state", pa.string(), "running, finished, terminated, timed_out or failed", required=True),
    _field("reason", pa.string(), "the termination condition or the error that ended it"),
    _field("market", pa.string(), "the market or the ad account"),
    _field("objective", pa.string(), "what the policy was asked for: value, profit, target_roas or target_cpa"),
    _field("seed", pa.int64(), "the seed of the market's draw"),
    _field("started_at", _TIME, "when the episode began", required=True),
    _field("ended_at", _TIME, "when it ended; null while it runs"),
    _field("steps", pa.int32(), "hours decided so far"),
    _field("budget_micros", _MICROS, "the flight's budget"),
    _field("reward", pa.float64(), "the objective divided by its hindsight optimum; null where no optimum is known"),
    *_COUNTS,
)

_DECISIONS = _table(
    TableName.DECISIONS,
    "one row an hour and segment: what the policy decided and what came of it",
    _field("episode", pa.string(), "the episode it belongs to", required=True),
    _field("step", pa.int32(), "hours since the flight began, from 0", required=True),
    _field("segment", pa.string(), "the segment or ad group", required=True),
    _field("bid_micros", _MICROS, "the bid", required=True),
    _field("action", pa.float64(), "the number that the policy chose, before it became a bid"),
    _field("density", pa.float64(), "probability density of the action under the policy that chose it"),
    _field("density_kind", pa.string(), "recorded or estimated; null without a density"),
    _field("budget_left_micros", _MICROS, "budget left before the decision"),
    _field("reward", pa.float64(), "the decision's share of the episode's reward"),
    *_COUNTS,
)

_AUCTIONS = _table(
    TableName.AUCTIONS,
    "one row an auction, as a bid log has it",
    _field("segment", pa.string(), "the segment, such as the exchange or the placement"),
    _field("bid_micros", _MICROS, "what was bid for the impression"),
    _field("floor_micros", _MICROS, "the reserve price"),
    _field("won", pa.bool_(), "whether the bid won", required=True),
    _field("price_micros", _MICROS, "what the winner paid; null where a lost auction's price is unknown"),
    _field("click_probability", pa.float64(), "the click rate predicted for it"),
    _field("clicked", pa.bool_(), "whether the impression was clicked"),
    _field("converted", pa.bool_(), "whether it led to a conversion"),
    _field("converted_at", _TIME, "when it converted"),
)

_CLICKS = _table(
    TableName.CLICKS,
    "one row a click that was charged or credited",
    _field("segment", pa.string(), "the segment or ad group"),
    _field("auction", pa.string(), "the id of its auction, where auctions are logged"),
    _field("cost_micros", _MICROS, "what the click cost", required=True),
)

_CONVERSIONS = _table(
    TableName.CONVERSIONS,
    "one row for each report of a conversion; a later revision of the same conversion replaces the earlier one",
    _field("conversion", pa.string(), "the conversion; its revisions share it", required=True),
    _field("revision", pa.int32(), "0 for the first report", required=True),
    _field("segment", pa.string(), "the segment or ad group"),
    _field("click", pa.string(), "the id of the click it is attributed to; null before attribution"),
    _field("click_at", _TIME, "when the click happened; null where unknown"),
    _field("reported_at", _TIME, "when the platform or the sales feed reported it", required=True),
    _field("value_micros", _MICROS, "its value; 0 after a full refund", required=True),
)

_SPEND_EVENTS = _table(
    TableName.SPEND_EVENTS,
    "one row for each movement of money on a platform",
    _field("account", pa.string(), "the ad account", required=True),
    _field("account_day", pa.date32(), "the day in the account's time zone", required=True),
    _field("kind", pa.string(), "charge, credit or adjustment", required=True),
    _field("amount_micros", _MICROS, "positive for a charge, negative for a credit", required=True),
    _field("reported_at", _TIME, "when it was reported; later than `at` for late events", required=True),
    _field("order", pa.string(), "the key of the order that it belongs to"),
)

_REPORTED = (
    _field("account", pa.string(), "the ad account", required=True),
    _field("account_day", pa.date32(), "the day in the account's time zone", required=True),
    _field("segment", pa.string(), "the segment or ad group; null for the whole campaign"),
    _field("revision", pa.int32(), "0 for the first report of this hour or day", required=True),
    _field("reported_at", _TIME, "when the platform reported it", required=True),
    _field("bid_micros", _MICROS, "the bid in force"),
    _field("impression_share", pa.float64(), "share of possible impressions; null where the platform gives none"),
    *_COUNTS,
)

_HOUR_REPORTS = _table(
    TableName.HOUR_REPORTS,
    "one row for each report of a campaign hour; a later revision replaces the earlier one",
    *_REPORTED,
)

_DAY_REPORTS = _table(
    TableName.DAY_REPORTS,
    "one row for each report of a whole campaign day, `at` its beginning; a later revision replaces the earlier one",
    *_REPORTED,
)

_KEYWORD_TOTALS = _table(
    TableName.KEYWORD_TOTALS,
    "one row a keyword over a whole period, as keyword reports and keyword planners export it",
    _field("keyword", pa.string(), "the keyword", required=True),
    _field("period_start", pa.date32(), "first day of the period; null where the export does not say"),
    _field("period_end", pa.date32(), "last day of the period"),
    _field("searches", pa.int64(), "searches a month, as a planner estimates them"),
    _field("average_cpc_micros", _MICROS, "average cost of a click"),
    _field("rank", pa.float64(), "position among the results"),
    _field("competition", pa.float64(), "how many advertisers compete for it, 0 to 100"),
    *_COUNTS,
)

_IMPRESSION_SHARES = _table(
    TableName.IMPRESSION_SHARES,
    "one row for each report of a segment's impression share over a whole account day; a later revision replaces it",
    _field("account", pa.string(), "the ad account", required=True),
    _field("account_day", pa.date32(), "the day in the account's time zone", required=True),
    _field("segment", pa.string(), "the segment or ad group; null for the whole campaign"),
    _field("revision", pa.int32(), "0 for the first report of this day", required=True),
    _field("reported_at", _TIME, "when the platform reported it", required=True),
    _field("impression_share", pa.float64(), "share of possible impressions; 0.0999: below a tenth", required=True),
)

_BID_SIMULATIONS = _table(
    TableName.BID_SIMULATIONS,
    "one row a bid simulator point: what a segment would have had over some days with another bid",
    _field("account", pa.string(), "the ad account", required=True),
    _field("segment", pa.string(), "the segment or ad group", required=True),
    _field("period_start", pa.date32(), "first account day of the simulated period", required=True),
    _field("period_end", pa.date32(), "last account day of it", required=True),
    _field("reported_at", _TIME, "when the platform reported it", required=True),
    _field("bid_micros", _MICROS, "the bid that the platform tried", required=True),
    *_COUNTS,
)

TABLES: Mapping[TableName, StoredTable] = {
    table.name: table
    for table in (
        _EPISODES,
        _DECISIONS,
        _AUCTIONS,
        _CLICKS,
        _CONVERSIONS,
        _SPEND_EVENTS,
        _HOUR_REPORTS,
        _DAY_REPORTS,
        _KEYWORD_TOTALS,
        _IMPRESSION_SHARES,
        _BID_SIMULATIONS,
    )
}


def empty_table(name: TableName) -> pa.Table:
    """A table with its columns and no rows."""
    return TABLES[name].columns.empty_table()
