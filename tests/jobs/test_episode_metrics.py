"""Metrics are the same to the bit however rows are split, their intervals hold the truth, and unknown stays unknown."""

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gaelp.bench.decision_rows import decision_days
from gaelp.jobs.episode_metrics import METRIC_INPUTS, finish_metrics, merge_partial_metrics, partial_metrics
from gaelp.jobs.screening import conform_table
from gaelp.storage.schema import TableName


def decisions(rows):
    common = {"at": datetime(2026, 1, 1, tzinfo=UTC), "campaign": "spring", "policy": "p", "reward": 0.5}
    counts = {
        "impressions": 100,
        "clicks": 10,
        "conversions": 2.0,
        "spend_micros": 4_000_000,
        "value_micros": 6_000_000,
    }
    table = pa.Table.from_pylist([{"id": str(number), **common, **counts, **row} for number, row in enumerate(rows)])
    return conform_table(table, TableName.DECISIONS, METRIC_INPUTS)


def metrics(table):
    return finish_metrics(merge_partial_metrics([partial_metrics(table).valid])).to_pylist()


def hour(number, **more):
    return {"at": datetime(2026, 1, 1, number, tzinfo=UTC), **more}


def test_the_figures_of_a_day_are_those_of_its_sums():
    (row,) = metrics(decisions([hour(0), hour(1, spend_micros=8_000_000)]))
    assert (row["rows"], row["hours"], row["reward"], row["conversions"]) == (2, 2, 1.0, 4.0)
    assert (row["roi"], row["ctr"], row["cvr"], row["cpa_micros"]) == (0.0, 0.1, 0.2, 3_000_000)
    assert row["pacing_error"] == pytest.approx(1 / 12)  # a third of the spend after half of the hours


def test_splitting_the_rows_changes_nothing():
    table = next(decision_days(3000, np.random.default_rng(1)))[1].select(list(METRIC_INPUTS))
    whole = partial_metrics(table).valid
    cuts = [0, 7, 1000, 1001, 3000]
    parts = [partial_metrics(table.slice(start, end - start)).valid for start, end in pairwise(cuts)]
    expected = finish_metrics(merge_partial_metrics([whole]))
    assert finish_metrics(merge_partial_metrics(parts[::-1])).equals(expected)


def test_a_figure_that_some_row_does_not_know_is_null():
    (row,) = metrics(decisions([hour(0), hour(1, clicks=None)]))
    assert (row["clicks"], row["ctr"], row["cvr"]) == (None, None, None)
    assert row["roi"] == 0.5


def test_one_hour_has_no_interval_of_its_own_and_no_click_is_not_certain():
    (row,) = metrics(decisions([hour(0, clicks=0, conversions=0.0)]))
    assert (row["roi_lower_95"], row["reward_lower_95"], row["cpa_micros"]) == (None, None, None)
    assert row["ctr"] == row["ctr_lower_95"] == 0
    assert 0 < row["ctr_upper_95"] < 0.05


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"clicks": 101}, "more clicks than impressions"),
        ({"spend_micros": -1}, "spend_micros is negative"),
        ({"reward": float("inf")}, "reward is not finite"),
        ({"reward": 1e9}, "reward is beyond 1e+06"),
        ({"value_micros": 10**17}, "value_micros is beyond 1000000000000000"),
        ({"campaign": None}, "campaign is missing"),
    ],
)
def test_an_invalid_row_is_a_dead_letter_and_does_not_count(row, reason):
    sums = partial_metrics(decisions([{}, row]))
    assert sums.dead["reason"].to_pylist() == [reason]
    assert sums.valid["rows"].to_pylist() == [1]


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(4)
    rows = [
        hour(h, campaign=f"c{day:04d}", impressions=int(n), clicks=int(k), conversions=float(k), reward=0.0,
             spend_micros=int(s), value_micros=int(2 * s + e))
        for day in range(400)
        for h, n, k, s, e in zip(range(24), rng.poisson(500, 24), rng.poisson(25, 24), rng.gamma(4, 1e6, 24),
                                 rng.normal(0, 1e6, 24), strict=True)
    ]  # fmt: skip
    result = metrics(decisions(rows))
    roi = np.mean([row["roi_lower_95"] <= 1 <= row["roi_upper_95"] for row in result])
    ctr = np.mean([row["ctr_lower_95"] <= 0.05 <= row["ctr_upper_95"] for row in result])
    assert 0.92 <= roi <= 0.98
    assert ctr >= 0.93  # never narrower than the counts allow


def test_nothing_gives_nothing():
    assert finish_metrics(partial_metrics(decisions([{}]).slice(0, 0)).valid).num_rows == 0
