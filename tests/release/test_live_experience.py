"""Each way to poison what comes back from live campaigns is set aside under its own name, or refused as a whole."""

import copy
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from gaelp.errors import BadInput, Refused
from gaelp.history.weights import normal_log_density
from gaelp.release.live_checks import LiveLimits
from gaelp.release.live_experience import LiveRecord, PoisonKind, screen_live
from gaelp.storage.schema import TABLES, TableName, empty_table

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
AGENT, CONTROL = "ppo-0123", "incumbent"
SD = 0.35
CAMPAIGNS = tuple(f"campaign-{number}" for number in range(6))
SEGMENTS = ("a", "b")
RECORD = LiveRecord(action_log_sd={AGENT: None, CONTROL: SD}, episodes={f"release/{name}": name for name in CAMPAIGNS})


def made(days, *, seed=1, begin=BEGIN, policy=AGENT):
    """Decisions, hour reports and sales of so many days, the first half of the campaigns by the policy."""
    rng = np.random.default_rng(seed)
    decisions, reports, sales = [], [], []
    for hour in range(24 * days):
        at = begin + timedelta(hours=hour)
        for number, campaign in enumerate(CAMPAIGNS):
            own = policy if number % 2 else CONTROL
            for segment in SEGMENTS:
                key = f"{campaign}/{segment}/{at:%Y%m%d%H}"
                common = {"at": at, "phase": "scale", "source": "live", "campaign": campaign, "policy": own}
                action = float(rng.normal(0, SD))
                drawn = own == CONTROL
                decisions.append(
                    {
                        **common,
                        "id": f"d/{key}",
                        "episode": f"release/{campaign}",
                        "step": hour,
                        "segment": segment,
                        "bid_micros": 1_500_000,
                        "action": action,
                        "density": float(np.exp(normal_log_density(np.array(action), 0.0, SD))) if drawn else None,
                        "density_kind": "recorded" if drawn else None,
                    }
                )
                views = int(rng.poisson(120))
                clicks = int(rng.binomial(views, 0.06))
                sold = int(rng.binomial(clicks, 0.08))
                worth = 0 if not sold else int(20e6 * sold * np.exp(rng.normal(0, 0.05)))
                reports.append(
                    {
                        **common,
                        "id": f"r/{key}",
                        "account": "1",
                        "account_day": date(at.year, at.month, at.day),
                        "segment": segment,
                        "revision": 0,
                        "reported_at": at + timedelta(hours=4),
                        "bid_micros": 1_500_000,
                        "impressions": views,
                        "clicks": clicks,
                        "conversions": float(sold),
                        "spend_micros": clicks * 1_100_000,
                        "value_micros": worth,
                    }
                )
                if sold:
                    sales.append(
                        {
                            **common,
                            "id": f"s/{key}",
                            "conversion": f"s/{key}",
                            "revision": 0,
                            "segment": segment,
                            "click_at": at + timedelta(minutes=20),
                            "reported_at": at + timedelta(hours=9),
                            "value_micros": worth,
                        }
                    )
    return {TableName.DECISIONS: decisions, TableName.HOUR_REPORTS: reports, TableName.CONVERSIONS: sales}


def tables(rows):
    """The rows as stored tables."""
    return {
        name: pa.Table.from_pylist(
            [{column: row.get(column) for column in TABLES[name].columns.names} for row in own],
            schema=TABLES[name].columns,
        )
        for name, own in rows.items()
    }


DECISIONS, REPORTS, SALES = TableName.DECISIONS, TableName.HOUR_REPORTS, TableName.CONVERSIONS
TRUSTED = tables(made(6, seed=2, begin=BEGIN - timedelta(days=6)))
LIVE = made(2)


def screened(rows, **limits):
    return screen_live(tables(rows), TRUSTED, RECORD, LiveLimits(**limits))


def poisoned(change):
    rows = copy.deepcopy(LIVE)
    change(rows)
    return rows


def forge(table, count=3, **values):
    """More rows like the first ones, with other ids and these values."""

    def change(rows):
        first = [row for row in rows[table] if row.get("density") is not None or table is not DECISIONS][:count]
        rows[table] += [{**row, "id": f"forged/{number}", **values} for number, row in enumerate(first)]

    return change


def alter(table, chosen, **values):
    def change(rows):
        for row in rows[table]:
            if chosen(row):
                row.update({key: value(row) if callable(value) else value for key, value in values.items()})

    return change


def first_hours(row):
    return row["at"] < BEGIN + timedelta(hours=2)


def one_day(row):
    return row["campaign"] == "campaign-1" and BEGIN <= row["at"] - timedelta(days=1) < BEGIN + timedelta(days=1)


def test_what_a_release_really_leaves_is_kept_whole():
    live = screened(LIVE)
    assert live.set_aside == ()
    assert {name: table.num_rows for name, table in live.tables.items()} == {n: len(r) for n, r in LIVE.items()}
    assert live.rows == sum(len(rows) for rows in LIVE.values())


@pytest.mark.parametrize(
    ("change", "table", "kind", "count"),
    [
        (forge(DECISIONS, policy="ppo-9999", step=500), DECISIONS, PoisonKind.UNKNOWN_POLICY, 3),
        (forge(REPORTS, policy=None), REPORTS, PoisonKind.UNKNOWN_POLICY, 3),
        (forge(DECISIONS, episode="release/other"), DECISIONS, PoisonKind.UNKNOWN_EPISODE, 3),
        (forge(DECISIONS, episode="release/campaign-5"), DECISIONS, PoisonKind.UNKNOWN_EPISODE, 3),
        (forge(REPORTS, campaign="campaign-99"), REPORTS, PoisonKind.UNKNOWN_EPISODE, 3),
        (forge(SALES, campaign="campaign-99"), SALES, PoisonKind.UNKNOWN_EPISODE, 3),
        (forge(DECISIONS), DECISIONS, PoisonKind.REPEATED, 6),
        (forge(REPORTS, clicks=50), REPORTS, PoisonKind.REPEATED, 6),
        (forge(SALES, value_micros=10**9), SALES, PoisonKind.REPEATED, 6),
        (
            forge(REPORTS, at=BEGIN - timedelta(days=1), clicks=2, spend_micros=10),
            REPORTS,
            PoisonKind.UNDECIDED,
            3,
        ),
        (alter(REPORTS, first_hours, clicks=lambda row: row["impressions"] + 1), REPORTS, PoisonKind.IMPOSSIBLE, 24),
        (alter(REPORTS, first_hours, spend_micros=-1), REPORTS, PoisonKind.IMPOSSIBLE, 24),
        (alter(REPORTS, first_hours, conversions=0.0, value_micros=1), REPORTS, PoisonKind.IMPOSSIBLE, 24),
        (
            alter(REPORTS, first_hours, reported_at=lambda row: row["at"] - timedelta(hours=1)),
            REPORTS,
            PoisonKind.IMPOSSIBLE,
            24,
        ),
        (alter(DECISIONS, first_hours, density=0.4), DECISIONS, PoisonKind.WRONG_DENSITY, 24),
        (alter(SALES, first_hours, value_micros=-5), SALES, PoisonKind.IMPOSSIBLE, None),
    ],
)
def test_a_poisoned_row_is_set_aside_by_name(change, table, kind, count):
    live = screened(poisoned(change))
    found = [each for each in live.set_aside if each.table is table and each.kind is kind]
    assert len(found) == 1
    assert found[0].rows == count or count is None
    assert found[0].examples
    kept = {row["id"] for row in live.tables[table].to_pylist()}
    assert not kept & set(found[0].examples)


def test_spend_that_nobody_decided_is_set_aside_with_its_sales():
    def change(rows):
        rows[DECISIONS] = [row for row in rows[DECISIONS] if row["at"] >= BEGIN + timedelta(hours=3)]

    live = screened(poisoned(change))
    assert live.counts[PoisonKind.UNDECIDED] >= 30  # three hours of twelve segments, and what was sold in them
    first = min(row["at"] for row in live.tables[REPORTS].to_pylist())
    assert first == BEGIN + timedelta(hours=3)


def test_sales_worth_far_more_than_the_campaign_s_others_are_a_jump():
    change = alter(
        REPORTS, lambda row: one_day(row) and row["conversions"] > 0, value_micros=lambda row: 2 * row["value_micros"]
    )
    live = screened(poisoned(change))
    assert [each.kind for each in live.set_aside if each.table is REPORTS] == [PoisonKind.VALUE_JUMP]
    assert live.set_aside[0].rows == 48  # the whole campaign-day


def test_click_rates_that_were_never_seen_are_set_aside():
    change = alter(REPORTS, one_day, clicks=lambda row: row["impressions"] // 3, spend_micros=10)
    live = screened(poisoned(change), set_aside_share_max=0.2)
    assert PoisonKind.OUTSIDE_SEEN in live.counts


def test_a_campaign_that_suddenly_dominates_is_set_aside():
    def many(row):
        return row["campaign"] == "campaign-1"

    change = alter(
        REPORTS,
        many,
        impressions=lambda row: 30 * row["impressions"],
        clicks=lambda row: 30 * row["clicks"],
        conversions=lambda row: 30 * row["conversions"],
        value_micros=lambda row: 30 * row["value_micros"],
        spend_micros=lambda row: 30 * row["spend_micros"],
    )
    live = screened(poisoned(change), set_aside_share_max=0.3)
    reports = [each for each in live.set_aside if each.table is REPORTS]
    assert [(each.kind, each.rows) for each in reports] == [(PoisonKind.DOMINATING, 2 * 48)]
    with pytest.raises(Refused, match="dominating 96"):
        screened(poisoned(change))


def test_where_too_much_is_wrong_nothing_is_learned():
    change = alter(DECISIONS, lambda row: row["at"].hour < 12, policy="ppo-9999")
    with pytest.raises(Refused, match=r"50.0% of the 576 live rows of decisions .* unknown_policy 288"):
        screened(poisoned(change))


def test_without_trusted_rows_nothing_is_usual():
    none = {**TRUSTED, REPORTS: empty_table(REPORTS)}
    with pytest.raises(BadInput, match="trusted"):
        screen_live(tables(LIVE), none, RECORD)


def test_a_drawn_policy_without_densities_and_a_fixed_one_with_them_are_wrong():
    live = screened(poisoned(alter(DECISIONS, first_hours, density=None)))
    assert live.counts[PoisonKind.WRONG_DENSITY] == 12  # the control's half of 24
    assert set(live.counts) == {PoisonKind.WRONG_DENSITY, PoisonKind.UNDECIDED}  # and the spend of those hours
