"""A redacted copy has every row, in order, with nothing that identifies it; the key is read from its file."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gaelp.errors import BadInput


def test_every_row_is_there_in_order_and_hashed(run_words, tmp_path, stored, results_of):
    report = run_words("redact", tmp_path, "--rows_per_table", "10000")
    assert report.counters["rows_written"] == report.counters["rows_read"] == 36_000
    copies = pa.concat_tables(results_of(tmp_path / "decisions").values())
    source = pa.concat_tables(
        [pq.read_table(path, partitioning=None) for path in sorted(stored.glob("decisions/**/*.parquet"))]
    )
    assert copies.select(["at", "reward", "campaign"]).equals(source.select(["at", "reward", "campaign"]))
    assert not set(copies["id"].to_pylist()) & set(source["id"].to_pylist())


def test_a_missing_key_is_named(run_words, tmp_path):
    with pytest.raises(BadInput, match="--key_file=/nowhere cannot be read"):
        run_words("redact", tmp_path, "--key_file", "/nowhere")
