"""The benchmark of the jobs compares results, not only times."""

import pytest

from gaelp.bench.data_speed import measure_data


@pytest.mark.slow
def test_beam_and_pandas_give_identical_results(tmp_path):
    lines = []
    speed = measure_data(tmp_path, rows=40_000, largest=80_000, pairs=1, report=lines.append)
    assert speed.identical
    assert [size.rows for size in speed.growth] == [4_000, 40_000, 80_000]
    assert speed.rows_per_s > 0
    assert len(lines) == 3
