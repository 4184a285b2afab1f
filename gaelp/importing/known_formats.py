"""The mappings of known formats: logs of auctions, iPinYou, and reports of Google Ads and Meta by their header."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from gaelp.importing.column_mapping import ColumnSource, ImportMapping, Unit
from gaelp.importing.figures import decimal_mark
from gaelp.importing.header import normal_name
from gaelp.storage.schema import TABLES, TableName

__all__ = [
    "AUCTION_COLUMNS",
    "IPINYOU",
    "IPINYOU_NAMES",
    "ReportKind",
    "auction_triples",
    "known_columns",
    "report_mapping",
]

ReportKind = Literal["google-ads", "meta"]

# A log of auctions with the columns that docs/calibration.md declares.
AUCTION_COLUMNS = ImportMapping(
    table=TableName.AUCTIONS,
    delimiter=",",
    columns={
        "at": ColumnSource(column="time"),
        "bid_micros": ColumnSource(column="bid_micros", required=True),
        "price_micros": ColumnSource(column="price_micros", required=True),
        "won": ColumnSource(column="won"),
        "segment": ColumnSource(column="segment"),
        "clicked": ColumnSource(column="click"),
        "converted": ColumnSource(column="conversion"),
        "converted_at": ColumnSource(column="conversion_time"),
    },
)

# fmt: off
IPINYOU_NAMES = (
    "click", "weekday", "hour", "bidid", "timestamp", "logtype", "ipinyouid", "useragent", "ip", "region", "city",
    "adexchange", "domain", "url", "urlid", "slotid", "slotwidth", "slotheight", "slotvisibility", "slotformat",
    "slotprice", "creative", "bidprice", "payprice", "keypage", "advertiser", "usertag",
)
# fmt: on

# Impressions that were won; prices are fen for a thousand, times those of China.
IPINYOU = ImportMapping(
    table=TableName.AUCTIONS,
    delimiter="\t",
    quoted=False,
    names=IPINYOU_NAMES,
    time_zone="Asia/Shanghai",
    columns={
        "at": ColumnSource(column="timestamp"),
        "segment": ColumnSource(column="adexchange"),
        "bid_micros": ColumnSource(column="bidprice", unit="cents_cpm", required=True),
        "floor_micros": ColumnSource(column="slotprice", unit="cents_cpm"),
        "price_micros": ColumnSource(column="payprice", unit="cents_cpm", required=True),
        "won": ColumnSource(constant=True),
        "clicked": ColumnSource(column="click"),
    },
)


def auction_triples(micros_per_unit: int) -> ImportMapping:
    """Lines of "click price probability" in the order of the auctions, as research on bidding publishes them."""
    return ImportMapping(
        table=TableName.AUCTIONS,
        delimiter=" ",
        quoted=False,
        names=("click", "price", "click_probability"),
        columns={
            "at": ColumnSource(constant="1971-01-01"),  # these logs keep the order and no times
            "won": ColumnSource(constant=True),
            "price_micros": ColumnSource(column="price", unit=micros_per_unit, required=True),
            "clicked": ColumnSource(column="click"),
            "click_probability": ColumnSource(column="click_probability", required=True),
        },
    )


# How reports name the columns of a table; the first name that a header has counts.
_NAMES: Mapping[str, Sequence[str]] = {
    "at": ("day", "date", "time", "timestamp", "datetime", "reporting starts"),
    "campaign": ("campaign", "campaign name"),
    "segment": ("ad group", "ad group name", "ad set name", "segment", "placement", "adexchange"),
    "account": ("customer id", "account id", "external customer id", "account"),
    "keyword": ("keyword", "search keyword", "keyword text"),
    "impressions": ("impr.", "impressions"),
    "clicks": ("clicks", "link clicks", "clicks (all)"),
    "conversions": ("conversions", "conv.", "purchases", "website purchases", "results"),
    "spend_micros": ("cost_micros", "cost", "amount spent", "spend"),
    "value_micros": ("conv. value", "conversion value", "purchases conversion value", "total conv. value"),
    "bid_micros": ("bid_micros", "max. cpc", "default max. cpc", "bid", "bidprice"),
    "impression_share": ("search impr. share", "search impression share", "impr. share"),
    "searches": ("search amount", "avg. monthly searches", "search volume"),
    "average_cpc_micros": ("avg. cpc", "average cpc", "cpc"),
    "rank": ("rank", "avg. position", "position"),
    "competition": ("competitor score", "competition (indexed value)", "competition index"),
    "price_micros": ("price_micros", "price", "payprice", "winning price"),
    "floor_micros": ("floor_micros", "floor", "slotprice"),
    "won": ("won", "win", "is_won"),
    "clicked": ("click", "clicked"),
    "converted": ("conversion", "converted"),
    "converted_at": ("conversion_time", "converted_at"),
    "click_probability": ("click_probability", "pctr"),
}
_DAYS = ("day", "date", "reporting starts")  # names of the time that may be days
_CLOCK = re.compile(r"\d:\d\d")  # a time of day, such as 13:00
_HOURS = ("hour of day", "hour of the day", "hour", "time of day (ad account time zone)")
_AMOUNT = re.compile(r"(amount_spent|spend|cost|.*_conversion_value|conv\._value)_\(\w{3}\)")  # with its currency


def known_columns(header: Iterable[str]) -> int:
    """How many names of a header are those of reports: titles and lines split by a wrong separator have few."""
    return sum(_plain(name) in _ALL_NAMES for name in header)


def report_mapping(
    header: Sequence[str], sample: Iterable[str], table: TableName | None = None
) -> ImportMapping | None:
    """The mapping of a report with this header; None if it has no known columns. `sample` are some of its fields."""
    present = {_plain(name): name for name in reversed(header)}
    sample = list(sample)
    hour = next((present[normal_name(name)] for name in _HOURS if normal_name(name) in present), None)
    if table is None:
        table = _table_of(present, by_day=hour is None and not any(_CLOCK.search(text) for text in sample))
    if table is None:
        return None
    columns = {}
    for target, names in _NAMES.items():
        name = next((present[normal_name(each)] for each in names if normal_name(each) in present), None)
        if name is not None and target in TABLES[table].columns.names:
            is_time = target == "at"
            columns[target] = ColumnSource(
                column=name,
                unit=_unit(target, name),
                hour_column=hour if is_time else None,
                required=target == "keyword",
            )
    is_report = table is not TableName.AUCTIONS
    return ImportMapping(
        table=table, columns=columns, decimal=decimal_mark(sample) if is_report else None, has_totals=is_report
    )


def _table_of(present: Mapping[str, str], *, by_day: bool) -> TableName | None:
    def has(target: str) -> bool:
        return any(normal_name(name) in present for name in _NAMES[target])

    if has("won") and has("at"):
        return TableName.AUCTIONS
    by_day = by_day and any(normal_name(name) in present for name in _DAYS)
    if has("at") and (has("clicks") or has("impressions") or has("spend_micros")):
        return TableName.DAY_REPORTS if by_day else TableName.HOUR_REPORTS
    return TableName.KEYWORD_TOTALS if has("keyword") else None


def _unit(target: str, name: str) -> Unit:
    return "currency" if target.endswith("_micros") and "micros" not in name.lower() else "micros"


def _plain(name: str) -> str:
    """The name as the table above has it, without the currency that Meta and Google put behind amounts."""
    plain = normal_name(name)
    return plain.rpartition("_(")[0] if _AMOUNT.fullmatch(plain) else plain


_ALL_NAMES = frozenset(normal_name(name) for names in (*_NAMES.values(), _HOURS) for name in names)
