"""The store in BigQuery, on an emulator that speaks its REST and Storage Write API."""

import json
import uuid
from contextlib import closing
from functools import partial

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from gaelp.cli import data_import
from gaelp.cli.main import app
from gaelp.storage import bigquery_store
from gaelp.storage.backends import episodes_folder
from gaelp.storage.bigquery_client import BigQueryPlace, BigQueryQueries
from gaelp.storage.bigquery_store import BigQueryStore
from gaelp.storage.conformance import StoreConformance
from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName
from gaelp.storage.store import Appended


@pytest.fixture
def place(bigquery_emulator):
    rest, grpc = bigquery_emulator
    return BigQueryPlace("gaelp", f"d{uuid.uuid4().hex[:12]}", 10**9, rest, grpc)


class TestBigQuery(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, place):
        self.place = place

    def fresh(self):
        return partial(BigQueryStore, self.place)


def scanned(store, name):
    return pa.concat_tables(store.scan(name)).sort_by("id").combine_chunks()


def test_many_rows_take_a_load_job_and_are_stored_once(place, monkeypatch):
    loaded = []
    load_rows = bigquery_store.load_rows
    monkeypatch.setattr(bigquery_store, "LOAD_ROWS", 8)
    monkeypatch.setattr(bigquery_store, "load_rows", lambda *given: loaded.append(given[1]) or load_rows(*given))
    batch = episode_batch(3)  # 3 episodes by a stream, their 12 decisions by a load job
    decisions = batch[TableName.DECISIONS]
    at = decisions.column_names.index("policy")
    batch[TableName.DECISIONS] = decisions.set_column(at, "policy", decisions["policy"].dictionary_encode())
    with closing(BigQueryStore(place)) as store:
        assert store.append(batch) == Appended(15, 0)
        assert store.append(batch) == Appended(0, 15)
        assert loaded == ["decisions_staging"] * 2
        assert scanned(store, TableName.DECISIONS).equals(decisions.sort_by("id").combine_chunks())
        assert scanned(store, TableName.EPISODES)["id"].to_pylist() == [f"run-1/{n}/finished" for n in range(3)]


MAPPING = """
table: clicks
columns:
  at: clicked_at
  campaign: name
  cost_micros: {column: price, unit: currency}
"""
QUERY = """
SELECT TIMESTAMP '2026-03-01 10:00:00+00' AS clicked_at, @name AS name, number / 4 AS price
FROM UNNEST(GENERATE_ARRAY(-1, 18)) AS number
"""


def test_the_command_imports_the_rows_of_a_query(place, monkeypatch, tmp_path):
    monkeypatch.setattr(data_import, "bigquery_client", lambda settings: BigQueryQueries(place))
    (tmp_path / "clicks.yaml").write_text(MAPPING, encoding="utf-8")
    command = ["data", "import", "--bigquery", QUERY, "--parameter", "name=spring", "--json"]
    command += ["--mapping", str(tmp_path / "clicks.yaml"), "--set", f"home={tmp_path / 'home'}"]
    first, second = (json.loads(CliRunner().invoke(app, command).stdout) for _ in range(2))
    counts = ("read", "stored", "already_stored", "rejected")
    assert [first[name] for name in counts] == [20, 19, 0, 1]
    assert [second[name] for name in counts] == [20, 0, 19, 1]
    with closing(DuckDbStore(episodes_folder(tmp_path / "home"))) as store:
        rows = pa.concat_tables(store.scan(TableName.CLICKS))
    assert sorted(rows["cost_micros"].to_pylist()) == [quarter * 250_000 for quarter in range(19)]
    assert set(rows["campaign"].to_pylist()) == {"spring"}
