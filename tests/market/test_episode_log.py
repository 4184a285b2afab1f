"""Played episodes become rows: what was decided and what it brought, to the micro."""

from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from gaelp.market.baselines.episodes import held_out_seeds, play
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec
from gaelp.market.episode_log import EpisodeLog, EpisodeSource, monday_before, seed_of
from gaelp.storage.row_check import check_batch
from gaelp.storage.schema import TableName

SOURCE = EpisodeSource("run-1", "mpc-1", date(2026, 11, 16))
SEEDS = held_out_seeds(5, 6)


@pytest.fixture(scope="module")
def market(personas):
    return build_market(load_market_spec("cal"), personas)


def logged(market, campaigns=None):
    batches = []
    played = play(
        market,
        load_tuned(market).build("mpc"),
        SEEDS,
        EpisodeLog(SOURCE, lambda make, _: batches.append(make()), campaigns),
    )
    running, ended = (check_batch(batch) for batch in batches)
    return played, running[TableName.EPISODES], ended[TableName.EPISODES], ended[TableName.DECISIONS]


@pytest.fixture(scope="module")
def log(market):
    return logged(market)


def test_an_episode_has_a_row_when_it_begins_and_one_when_it_ends(log):
    played, running, ended, _ = log
    assert running["state"].to_pylist() == ["running"] * 6
    assert ended["state"].to_pylist() == ["finished"] * 6
    assert ended["reward"].to_pylist() == pytest.approx(played.reward.tolist())
    assert ended["spend_micros"].to_pylist() == played.cost_micros.astype(int).tolist()
    assert [seed_of(seed) for seed in ended["seed"].to_pylist()] == SEEDS.tolist()


def test_there_is_a_decision_for_every_hour_and_segment_and_their_sums_are_the_episode(log, market):
    _, _, ended, decisions = log
    assert decisions.num_rows == 6 * market.hours * market.spec.segments
    sums = decisions.group_by("episode").aggregate([("spend_micros", "sum"), ("clicks", "sum"), ("reward", "sum")])
    by_name = {row["episode"]: row for row in sums.to_pylist()}
    for row in ended.to_pylist():
        assert by_name[row["episode"]]["spend_micros_sum"] == row["spend_micros"]
        assert by_name[row["episode"]]["clicks_sum"] == row["clicks"]
        assert by_name[row["episode"]]["reward_sum"] == pytest.approx(row["reward"], rel=1e-4)


def test_the_hour_of_week_of_a_row_is_that_of_the_market(log, market):
    _, _, _, decisions = log
    first = decisions.filter(pa.compute.equal(decisions["step"], 0))
    starts = market.world.start_hour_of_week
    hours = {(moment.weekday() * 24 + moment.hour) for moment in first["at"].to_pylist()}
    assert hours == set(starts.tolist())


def test_budget_left_falls_by_what_was_spent(log):
    *_, decisions = log
    rows = [row for row in decisions.to_pylist() if row["episode"] == decisions["episode"][0].as_py()]
    left = {row["step"]: row["budget_left_micros"] for row in rows}
    spent = np.zeros(len(left), int)
    for row in rows:
        spent[row["step"]] += row["spend_micros"]
    assert [left[0] - left[step] for step in range(1, len(left))] == np.cumsum(spent)[:-1].tolist()


def test_only_the_first_campaigns_are_recorded_where_a_sample_is_wanted(market):
    _, running, ended, decisions = logged(market, campaigns=2)
    assert running.num_rows == ended.num_rows == 2
    assert len(set(decisions["episode"].to_pylist())) == 2


def test_episodes_that_fail_keep_the_hours_that_were_played(market):
    batches = []
    log = EpisodeLog(SOURCE, lambda make, _: batches.append(make()))
    policy = load_tuned(market).build("mpc")
    obs = market.reset(SEEDS)
    policy.begin(market.brief)
    log.begin(market)
    action = policy.act(obs)
    market.step(action)
    log.hour(market, action, market.brief.budget_micros, None)
    log.fail("the process was stopped")
    episodes = check_batch(batches[-1])[TableName.EPISODES]
    assert set(zip(episodes["state"].to_pylist(), episodes["reason"].to_pylist(), strict=True)) == {
        ("failed", "the process was stopped")
    }
    assert batches[-1][TableName.DECISIONS].num_rows == 6 * market.spec.segments


def test_weeks_begin_on_mondays():
    assert monday_before(datetime(2026, 11, 22, 23, tzinfo=UTC)) == date(2026, 11, 16)
    assert monday_before(datetime(2026, 11, 23, tzinfo=UTC)) == date(2026, 11, 23)
