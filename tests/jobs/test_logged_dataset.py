"""A dataset row has a density, recorded or estimated and flagged; what cannot have one is a dead letter."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from gaelp.jobs.logged_dataset import bid_moments, clean_rows, merge_bid_moments, with_densities
from gaelp.storage.schema import TABLES, TableName

START = datetime(2026, 1, 1, tzinfo=UTC)


def decision(number, **more):
    row = {
        "id": f"d{number}",
        "at": START + timedelta(hours=number),
        "phase": "history",
        "source": "log",
        "campaign": "spring",
        "episode": "e",
        "step": number,
        "segment": "s",
        "bid_micros": 1_000_000,
        "action": 0.1,
        "density": 0.4,
        "density_kind": "recorded",
        "impressions": 9,
        "clicks": 1,
    }
    return {**row, **more}


def report(number, revision=0, **more):
    row = {
        "id": f"h{number}-{revision}",
        "at": START + timedelta(hours=number),
        "phase": "history",
        "source": "log",
        "campaign": "spring",
        "account": "a",
        "account_day": START.date(),
        "revision": revision,
        "reported_at": START + timedelta(hours=number + revision + 1),
        "bid_micros": 1_000_000,
        "spend_micros": 5,
    }
    return {**row, **more}


def stored(name, rows):
    schema = pa.schema([field.with_nullable(True) for field in TABLES[name].columns])
    return pa.Table.from_pylist(rows, schema=schema)


def dataset(name, rows):
    cleaned = clean_rows(name, [stored(name, rows)])
    result = with_densities(cleaned.valid, merge_bid_moments([bid_moments(cleaned.valid)]))
    return result.valid, pa.concat_tables([cleaned.dead, result.dead])


def test_a_recorded_density_is_kept():
    rows, dead = dataset(TableName.DECISIONS, [decision(0), decision(1, density=0.2)])
    assert rows.select(["action", "density", "density_kind"]).to_pylist() == [
        {"action": 0.1, "density": 0.4, "density_kind": "recorded"},
        {"action": 0.1, "density": 0.2, "density_kind": "recorded"},
    ]
    assert dead.num_rows == 0


def test_an_estimated_density_is_flagged_and_near_the_true_one():
    rng = np.random.default_rng(2)
    logs = rng.normal(13.0, 0.3, 2000)
    rows, dead = dataset(TableName.HOUR_REPORTS, [report(n, bid_micros=int(np.exp(x))) for n, x in enumerate(logs)])
    true = np.exp(-(((logs - 13) / 0.3) ** 2) / 2) / (0.3 * np.sqrt(2 * np.pi))
    order = np.argsort(rows["id"].to_numpy(zero_copy_only=False))
    expected = true[np.argsort([f"h{n}-0" for n in range(2000)])]
    assert set(rows["density_kind"].to_pylist()) == {"estimated"}
    assert np.allclose(rows["density"].to_numpy()[order], expected, rtol=0.35, atol=0.02)
    assert dead.num_rows == 0


def test_a_bid_that_never_varied_has_no_density():
    rows, dead = dataset(TableName.HOUR_REPORTS, [report(n) for n in range(30)])
    assert rows.num_rows == 0
    assert dead["table"].to_pylist() == ["hour_reports"] * 30
    assert "no density" in dead["reason"][0].as_py()


def test_the_newest_revision_of_an_hour_and_one_row_of_an_id_are_used():
    cleaned = clean_rows(TableName.HOUR_REPORTS, [stored(TableName.HOUR_REPORTS, [report(0), report(0, 1), report(1)])])
    assert sorted(cleaned.valid["id"].to_pylist()) == ["h0-1", "h1-0"]
    twice = clean_rows(TableName.DECISIONS, [stored(TableName.DECISIONS, [decision(0), decision(0)])])
    assert twice.valid.num_rows == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bid_micros": 0}, "bid_micros is missing or not above 0"),
        ({"density": -0.1}, "density is not above 0"),
        ({"density": float("nan")}, "density is not finite"),
        ({"density_kind": "guessed"}, "density_kind is not recorded or estimated"),
        ({"action": None}, "density without an action"),
        ({"segment": None}, "segment is missing"),
        ({"clicks": 10}, "more clicks than impressions"),
    ],
)
def test_an_invalid_row_is_a_dead_letter(change, reason):
    rows, dead = dataset(TableName.DECISIONS, [decision(0), decision(1, **change)])
    assert (rows.num_rows, dead["reason"].to_pylist()) == (1, [reason])
