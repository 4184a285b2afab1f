"""The job computes what the functions compute, and sets invalid rows aside."""

import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.jobs.episode_metrics import METRIC_INPUTS, finish_metrics, merge_partial_metrics, partial_metrics


def test_the_metrics_of_a_day_and_its_dead_letters_are_written(run_words, stored, tmp_path, results_of):
    table = pq.read_table(stored / "decisions/day=2026-01-02/part.parquet", partitioning=None)
    broken = table.set_column(table.column_names.index("clicks"), "clicks", pa.array([-1, *[0] * (len(table) - 1)]))
    pq.write_table(broken, tmp_path / "in.parquet")
    report = run_words("episode_metrics", tmp_path / "out", "--decisions", str(tmp_path / "in.parquet"))
    assert report.counters["dead_letters"] == 1
    results = results_of(tmp_path / "out")
    assert results["dead_letters/2026-01-02-000.parquet"]["reason"].to_pylist() == ["clicks is negative"]
    expected = finish_metrics(merge_partial_metrics([partial_metrics(broken.select(list(METRIC_INPUTS))).valid]))
    assert results["metrics/2026-01-02-000.parquet"].equals(expected)
