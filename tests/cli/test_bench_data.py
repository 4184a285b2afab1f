"""`gaelp bench data` prints what was measured, as a table or as JSON."""

import json

import pytest
from typer.testing import CliRunner

import gaelp.cli.bench_data as module
from gaelp.bench.data_speed import DataSpeed, JobSize, PandasPair
from gaelp.cli.main import app

PAIR = PandasPair(beam_s=2, pandas_s=1, beam_cpu_s=2, pandas_cpu_s=1, beam_peak_mb=900, pandas_peak_mb=800)
SPEED = DataSpeed(
    rows=100_000,
    beam_over_pandas=2.0,
    identical=True,
    rows_per_s=50_000,
    peak_mb=900,
    growth=(JobSize(rows=100_000, seconds=2, rows_per_s=50_000, peak_mb=900),),
    peak_over_own=1.0,
    pairs=(PAIR,),
)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(module, "measure_data", lambda home, **words: calls.append(words) or SPEED)
    monkeypatch.setattr(module, "streaming_cost", lambda repeats: {"wall_share": 0.01 * repeats})
    monkeypatch.setenv("GAELP_HOME", str(tmp_path / "home"))
    return calls


def test_the_figures_are_json_on_request(asked):
    done = CliRunner().invoke(app, ["bench", "data", "--rows", "100000", "--largest", "50000", "--json"])
    assert json.loads(done.stdout)["beam_over_pandas"] == 2.0
    assert (asked[0]["rows"], asked[0]["largest"], asked[0]["pairs"]) == (100_000, 100_000, 3)


def test_the_table_says_whether_results_are_identical(asked):
    done = CliRunner().invoke(app, ["bench", "data"])
    assert "100,000" in done.stdout
    assert "2.00 times as long as pandas; their results are identical" in done.output


def test_the_cost_of_storing_episodes_is_measured_unless_it_is_skipped(asked):
    measured = CliRunner().invoke(app, ["bench", "data", "--trainings", "3", "--json"])
    assert json.loads(measured.stdout)["streaming_cost"] == 0.03
    assert "adds 2.0% to the time of a training" in CliRunner().invoke(app, ["bench", "data"]).output
    skipped = CliRunner().invoke(app, ["bench", "data", "--trainings", "0", "--json"])
    assert json.loads(skipped.stdout)["streaming_cost"] is None
