"""`gaelp data episodes` shows what is stored."""

import json

import pytest

from gaelp.storage.conformance_rows import episode_batch
from gaelp.storage.duckdb_store import DuckDbStore


@pytest.fixture
def stored(here):
    store = DuckDbStore(here / ".gaelp" / "episodes")
    for source in ("run-1", "run-2"):
        store.append(episode_batch(2, source=source))
    store.close()


def test_episodes_are_listed_by_source(gaelp, stored):
    result = gaelp("data", "episodes", "list", "--source", "run-2")
    assert result.exit_code == 0, result.stderr
    assert "run-2/0" in result.stdout
    assert "run-1/0" not in result.stdout


def test_a_short_list_says_how_many_there_are(gaelp, stored):
    result = gaelp("data", "episodes", "list", "--limit", "3", "--json")
    answer = json.loads(result.stdout)
    assert (len(answer["episodes"]), answer["total"]) == (3, 4)


def test_an_episode_is_shown_hour_by_hour_and_drawn(gaelp, stored, here):
    result = gaelp("data", "episodes", "show", "run-1/1", "--plot", "episode.png")
    assert result.exit_code == 0, result.stderr
    assert "run-1/1: finished, 4 hours" in result.stdout
    assert "03-01 23:00" in result.stdout
    assert (here / "episode.png").read_bytes().startswith(b"\x89PNG")


def test_json_has_every_decision(gaelp, stored):
    answer = json.loads(gaelp("data", "episodes", "show", "run-1/1", "--json").stdout)
    assert answer["episode"]["state"] == "finished"
    assert [row["bid_micros"] for row in answer["decisions"]] == [250_000, 250_001, 250_002, 250_003]


def test_two_episodes_are_shown_side_by_side(gaelp, stored, here):
    result = gaelp("data", "episodes", "compare", "run-1/0", "run-2/0", "--plot", "both.png")
    assert result.exit_code == 0, result.stderr
    assert "A: run-1/0" in result.stdout
    assert "B: run-2/0" in result.stdout
    assert "bid A" in result.stdout
    assert (here / "both.png").exists()


def test_a_name_that_fits_several_episodes_or_none_is_refused_with_names(gaelp, stored):
    several = gaelp("data", "episodes", "show", "run-1")
    assert several.exit_code == 2
    assert "2 of 4 stored episodes contain 'run-1'" in several.stderr
    none = gaelp("data", "episodes", "show", "nothing")
    assert none.exit_code == 2
    assert "no stored episode contains 'nothing'" in none.stderr


def test_an_episode_without_its_run_cannot_be_replayed(gaelp, stored):
    result = gaelp("data", "episodes", "replay", "run-1/0")
    assert result.exit_code == 2
    assert "run 'run-1' is not in" in result.stderr
