"""`gaelp data retention` and `gaelp data hold`."""

import json

import pytest

from gaelp.storage.conformance_rows import FIRST_HOUR, episode_batch
from gaelp.storage.duckdb_store import DuckDbStore


@pytest.fixture
def stored(here):
    """Episodes of March 2026, which is more than a day ago."""
    store = DuckDbStore(here / ".gaelp" / "episodes")
    for source in ("run-1", "run-2"):
        store.append(episode_batch(2, source=source))
    store.close()


def test_retention_shows_what_it_would_delete_and_deletes_on_demand(gaelp, stored):
    days = ("--set", "storage.raw_retention_days=1")
    before = gaelp("data", "retention", *days)
    assert before.exit_code == 0, before.stderr
    assert "16 rows" in before.stdout
    assert "--apply deletes" in before.stderr
    applied = json.loads(gaelp("data", "retention", "--apply", "--json", *days).stdout)
    assert (applied["rows"], applied["deleted"], applied["sources"]) == (16, 16, ["run-1", "run-2"])
    again = json.loads(gaelp("data", "retention", "--json", *days).stdout)
    assert again["rows"] == 0
    assert json.loads(gaelp("data", "episodes", "list", "--json").stdout)["total"] == 4


def test_recent_rows_and_other_phases_stay(gaelp, stored):
    kept = json.loads(gaelp("data", "retention", "--json", "--set", "storage.raw_retention_days=36500").stdout)
    assert kept["rows"] == 0
    other = ("--phase", "history", "--set", "storage.raw_retention_days=1")
    assert json.loads(gaelp("data", "retention", "--json", *other).stdout)["rows"] == 0
    assert FIRST_HOUR.year == 2026


def test_a_hold_keeps_rows_until_it_is_released(gaelp, stored):
    days = ("--set", "storage.raw_retention_days=1")
    assert gaelp("data", "hold", "run-1", "--reason", "case 7").exit_code == 0
    assert json.loads(gaelp("data", "hold", "--json").stdout) == {"holds": {"run-1": "case 7"}}
    held = json.loads(gaelp("data", "retention", "--apply", "--json", *days).stdout)
    assert (held["deleted"], held["held_rows"]) == (8, 8)
    assert gaelp("data", "hold", "run-1", "--release").exit_code == 0
    assert json.loads(gaelp("data", "retention", "--apply", "--json", *days).stdout)["deleted"] == 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run-1"], "needs either --reason TEXT, or --release"),
        (["run-1", "--reason", "x", "--release"], "needs either --reason TEXT, or --release"),
        (["--release"], "need the name of a run or import"),
        (["run-9", "--release"], "there is no hold on 'run-9'; holds: none"),
    ],
)
def test_a_hold_that_is_not_clear_is_refused(gaelp, stored, options, message):
    result = gaelp("data", "hold", *options)
    assert result.exit_code == 2
    assert message in result.stderr
