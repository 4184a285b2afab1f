"""The generated month holds what it claims, and the whole job finds every planted breach in it."""

import numpy as np
import pyarrow as pa
import pytest

from gaelp.bench.planted_breaches import BREACH_KINDS, confusion, plant_month, trial
from gaelp.jobs.budget_safety import BREACHES


def test_a_month_has_late_and_duplicate_events_and_as_many_breaches_of_each_kind():
    month = plant_month(10, np.random.default_rng(1), events=20_000)
    events = month.spend_events
    ids = events["id"].to_pylist()
    assert 0.02 < 1 - len(set(ids)) / len(ids) < 0.04
    lags = pa.compute.subtract(events["reported_at"], events["at"]).cast(pa.int64()).to_numpy() / 3.6e9
    assert 0.03 < (lags > 24).mean() < 0.08
    assert {kind: sum(key[0] == kind for key in month.planted) for kind in BREACH_KINDS} == dict.fromkeys(
        BREACH_KINDS, 10
    )
    assert set(month.hour_reports["revision"].to_pylist()) == {0, 1}


def test_confusion_counts_what_was_missed_and_what_was_too_much():
    month = plant_month(1, np.random.default_rng(1), events=2_000)
    stray = pa.Table.from_pylist([{"kind": "loss", "account": "a", "campaign": "c"}], schema=BREACHES)
    counts = confusion(month.planted, stray)
    assert counts["loss"] == {"planted": 0, "true_positives": 0, "false_negatives": 0, "false_positives": 1}
    assert counts["pacing"]["false_negatives"] == 1


@pytest.mark.slow
def test_the_job_finds_500_planted_breaches_of_each_kind_among_a_million_events_and_nothing_else(tmp_path):
    report = trial(tmp_path, breaches=500, events=1_000_000, seed=11)
    assert report["is_exact"], report["kinds"]
    assert all(report["kinds"][kind]["true_positives"] == 500 for kind in BREACH_KINDS)
