"""A history as logged decisions is what `read_logged` reads from the rows that it leaves in a store."""

import numpy as np
import pytest

from gaelp.bench.logged_histories import cached_log, first_days, logged_history
from gaelp.history.logged_campaigns import read_logged
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_tables
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.store import RowFilter

SPEC = SynthesisSpec(weeks=1, campaigns=2, seed=5)
NAMES = ("campaign_names", "segment_names", "source_names")
COLUMNS = (
    *("campaign", "segment", "source", "account_day", "hour_start", "step", "bid_micros", "action", "density"),
    *("density_kind", "impressions", "clicks", "conversions", "spend_micros", "value_micros"),
)


@pytest.fixture(scope="module")
def world():
    return load_sandbox_spec().model_copy(update={"seed": 5})


@pytest.fixture(scope="module")
def history(world):
    return synthesize(SPEC, world, simulator_points=False)


@pytest.fixture(scope="module")
def logged(history):
    return logged_history(history)


def assert_equal(logged, other):
    assert [getattr(logged, name) for name in NAMES] == [getattr(other, name) for name in NAMES]
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(logged, name), getattr(other, name), err_msg=name)


def test_decisions_are_those_read_from_the_store(history, logged, tmp_path):
    store = DuckDbStore(tmp_path / "episodes")
    store.append(history_tables(history))
    stored = read_logged(store, RowFilter())
    assert stored.conversions.sum() > 0
    assert_equal(logged, stored)


def test_a_history_that_was_made_before_is_read_from_the_folder(world, logged, tmp_path, monkeypatch):
    assert_equal(cached_log(SPEC, world, tmp_path), logged)
    monkeypatch.setattr("gaelp.bench.logged_histories.synthesize", None)
    assert_equal(cached_log(SPEC, world, tmp_path), logged)


def test_the_first_days_are_whole_days_of_the_account(logged):
    part = first_days(logged, 3)
    assert len(part) == 3 * 24 * 8 * 2
    assert len(np.unique(part.account_day)) == 3
