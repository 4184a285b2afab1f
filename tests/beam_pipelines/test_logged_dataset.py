"""The dataset has recorded densities as they were, and estimated ones flagged."""

from collections import Counter

import pytest

from beam_pipelines.logged_dataset import run
from gaelp.errors import BadInput


def test_rows_of_both_logs_have_densities_of_their_kind(run_words, tmp_path, results_of):
    report = run_words("logged_dataset", tmp_path)
    tables = results_of(tmp_path / "rows/dataset").values()
    kinds = Counter(
        pair
        for table in tables
        for pair in zip(table["table"].to_pylist(), table["density_kind"].to_pylist(), strict=True)
    )
    assert kinds == {("decisions", "recorded"): 36_000, ("hour_reports", "estimated"): 24}
    assert report.counters["dead_letters"] == 0


def test_a_job_needs_an_input(tmp_path):
    with pytest.raises(BadInput, match="give --decisions, --hour_reports or both"):
        run(["--output", str(tmp_path)])
