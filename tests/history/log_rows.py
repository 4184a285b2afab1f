"""Rows of a small logged history, as the store keeps them; every figure can be planted."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from gaelp.storage.schema import TABLES, TableName

START = datetime(2026, 3, 2, 5, tzinfo=UTC)  # midnight of the account's clock, five hours behind UTC
HOUR = timedelta(hours=1)
SOURCE = "log"


def day_of(at):
    return (at - 5 * HOUR).date()


def common(row_id, at, campaign, source):
    return {"id": row_id, "at": at, "phase": "history", "source": source, "campaign": campaign, "policy": "manual"}


def table(name, rows):
    return pa.Table.from_pylist(rows, schema=TABLES[name].columns)


def decision(campaign, segment, hour, source=SOURCE, **values):
    at = START + hour * HOUR
    row_id = f"{source}/{campaign}/{segment}/{hour}"
    return {
        **common(row_id, at, campaign, source),
        "episode": campaign,
        "step": hour,
        "segment": segment,
        "bid_micros": 1_000_000 + 10_000 * (hour % 7),
        "action": 0.1,
        "density": 0.8,
        "density_kind": "recorded",
        "budget_left_micros": 50_000_000,
        "impressions": 40,
        "clicks": 3,
        "conversions": 1.0,
        "spend_micros": 3_000_000,
        "value_micros": 5_000_000,
        **values,
    }


def report(campaign, segment, hour, revision=0, reported_hours=4, source=SOURCE, **values):
    at = START + hour * HOUR
    row_id = f"{source}/{campaign}/{segment}/{hour}/{revision}"
    return {
        **common(row_id, at, campaign, source),
        "account": "1",
        "account_day": day_of(at),
        "segment": segment,
        "revision": revision,
        "reported_at": at + reported_hours * HOUR,
        "bid_micros": 1_000_000,
        "impressions": 41,
        "clicks": 4,
        "conversions": 0.0,
        "spend_micros": 4_000_000,
        "value_micros": 0,
        **values,
    }


def conversion(
    name, campaign, segment, click_hour, delay_hours=10, revision=0, value=25_000_000, source=SOURCE, **more
):
    click_at = START + click_hour * HOUR
    made = click_at + delay_hours * HOUR
    return {
        **common(f"{source}/{name}/{revision}", made, campaign, source),
        "conversion": name,
        "revision": revision,
        "segment": segment,
        "click": f"click-{name}",
        "click_at": click_at,
        "reported_at": made,
        "value_micros": value,
        **more,
    }


def history(days=42, campaigns=("a", "b"), segments=("s", "t"), source=SOURCE, reported=True):
    """Decisions of every hour, with their first reports."""
    cells = [(c, s, h) for c in campaigns for s in segments for h in range(24 * days)]
    tables = {TableName.DECISIONS: table(TableName.DECISIONS, [decision(*cell, source=source) for cell in cells])}
    if reported:
        rows = [report(*cell, source=source) for cell in cells]
        tables[TableName.HOUR_REPORTS] = table(TableName.HOUR_REPORTS, rows)
    return tables
