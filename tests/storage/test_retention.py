"""What retention would delete."""

from datetime import timedelta

from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch, rows_of
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.retention import apply_retention, plan_retention
from gaelp.storage.schema import TableName
from gaelp.types import Phase


def test_only_old_raw_rows_of_simulations_are_deleted(tmp_path):
    store = DuckDbStore(tmp_path)
    store.append(episode_batch(2))
    log = {"id": "x", "phase": "history", "won": True, "at": FIRST_HOUR - timedelta(days=4000)}
    store.append({TableName.AUCTIONS: rows_of(TableName.AUCTIONS, log)})
    now = FIRST_HOUR + timedelta(days=31)
    plan = plan_retention(store, now, 30)
    assert (plan.rows, plan.held_rows, plan.sources) == (4, 0, ("run-1",))
    assert plan.bytes > 0
    assert apply_retention(store, plan) == 4
    left = {(part.table, part.phase): part.rows for part in store.describe()}
    assert left[TableName.AUCTIONS, Phase.HISTORY] == 1
    assert left[TableName.EPISODES, Phase.SIMULATION] == 2
