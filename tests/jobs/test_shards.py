"""Rows are split by day and campaign alike everywhere, and a fingerprint changes with what a shard depends on."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from gaelp.errors import BadInput, DataError
from gaelp.jobs.shards import ALL_DAYS, InputFile, Shard, campaign_hashes, days_of, fingerprint, split_into_shards

FILE = InputFile("clicks", "a.parquet", 10, 1.0, 5, date(2026, 1, 1), date(2026, 1, 3))
TABLE = pa.table(
    {
        "at": pa.array([datetime(2026, 1, day, 23, tzinfo=UTC) for day in (1, 2, 1)], pa.timestamp("us", tz="UTC")),
        "campaign": ["a", "b", "c"],
    }
)


def test_every_row_is_in_exactly_one_shard():
    parts = list(split_into_shards(TABLE, parts=3, days=None, by_day=True))
    assert sorted(name for _, rows in parts for name in rows["campaign"].to_pylist()) == ["a", "b", "c"]
    assert {shard.day for shard, _ in parts} == {"2026-01-01", "2026-01-02"}
    whole = list(split_into_shards(TABLE, parts=1, days=None, by_day=False))
    assert [(shard, rows.num_rows) for shard, rows in whole] == [(Shard(ALL_DAYS, 0), 3)]


def test_only_wanted_days_are_split_off():
    parts = split_into_shards(TABLE, parts=1, days=frozenset({"2026-01-02"}), by_day=True)
    assert [(shard.name, rows["campaign"].to_pylist()) for shard, rows in parts] == [("2026-01-02-000", ["b"])]


def test_a_campaign_has_the_same_hash_on_every_machine():
    assert campaign_hashes(pa.array(["a", "b", None, "a"]), 100).to_pylist() == [7, 81, 0, 7]


def test_a_row_without_a_time_is_an_error():
    table = pa.table({"at": pa.array([None], pa.timestamp("us", tz="UTC")), "campaign": ["a"]})
    with pytest.raises(DataError, match="1 rows have no time"):
        list(split_into_shards(table, parts=1, days=None, by_day=True))


def test_the_days_of_files_are_known_or_refused():
    assert days_of([FILE]) == (date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3))
    assert FILE.covers(date(2026, 1, 2))
    assert not FILE.covers(date(2026, 1, 4))
    with pytest.raises(BadInput, match="has no statistics"):
        days_of([FILE._replace(first_day=None)])


def test_a_fingerprint_depends_on_job_settings_and_files_and_not_on_their_order():
    other = FILE._replace(path="b.parquet")
    print_of = fingerprint("job", {"x": 1}, [FILE, other])
    assert print_of == fingerprint("job", {"x": 1}, [other, FILE])
    changed = FILE._replace(modified=2.0)
    rivals = [("job", {"x": 2}, [FILE, other]), ("b", {"x": 1}, [FILE, other]), ("job", {"x": 1}, [changed, other])]
    assert print_of not in [fingerprint(*rival) for rival in rivals]
