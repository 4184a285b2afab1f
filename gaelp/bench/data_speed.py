"""How fast the Beam jobs are: rows through `redact` and `episode_metrics`, beside pandas in the same run.

Beam and pandas run alternately, each in a process of its own; imports are not counted. Both write the redacted rows,
read them again and write the metrics, and their results have to be identical. Then the jobs run on more and more rows:
their memory must not grow with them.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.bench.decision_rows import decision_days
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.jobs.pipeline_process import run_pipeline

__all__ = ["DataSpeed", "JobSize", "PandasPair", "measure_data"]

_KEY = "a key that only the benchmark uses"
_PEER = "gaelp.bench.pandas_peer"


class JobSize(Frozen):
    """Both jobs on so many rows."""

    rows: int
    seconds: float
    rows_per_s: float
    peak_mb: float


class PandasPair(Frozen):
    """Beam and pandas on the same rows, one after the other; seconds by the clock and of CPU."""

    beam_s: float
    pandas_s: float
    beam_cpu_s: float
    pandas_cpu_s: float
    beam_peak_mb: float
    pandas_peak_mb: float


class DataSpeed(Frozen):
    """What `gaelp bench data` measures."""

    rows: int
    beam_over_pandas: float
    identical: bool
    rows_per_s: float
    peak_mb: float
    growth: tuple[JobSize, ...]
    peak_over_own: float  # memory at the most rows, divided by that at `rows`
    pairs: tuple[PandasPair, ...]
    streaming_cost: float | None = None  # the share of `gaelp train` that streaming its episodes takes


def measure_data(
    folder: Path, *, rows: int, largest: int, pairs: int = 3, report: Callable[[str], None] = lambda _: None
) -> DataSpeed:
    """Measure everything in a temporary folder below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="bench-data-") as name:
        here = Path(name)
        (here / "key").write_text(_KEY, encoding="utf-8")
        timed, identical = _compare(here, rows, pairs, report)
        growth = [_grown(here, size, report) for size in sorted({rows // 10, rows, largest}) if size != rows]
    own = JobSize(
        rows=rows,
        seconds=median(pair.beam_s for pair in timed),
        rows_per_s=rows / median(pair.beam_s for pair in timed),
        peak_mb=max(pair.beam_peak_mb for pair in timed),
    )
    sizes = sorted([own, *growth], key=lambda size: size.rows)
    return DataSpeed(
        rows=rows,
        beam_over_pandas=median(pair.beam_s / pair.pandas_s for pair in timed),
        identical=identical,
        rows_per_s=own.rows_per_s,
        peak_mb=own.peak_mb,
        growth=tuple(sizes),
        peak_over_own=sizes[-1].peak_mb / own.peak_mb,
        pairs=tuple(timed),
    )


def _compare(here: Path, rows: int, pairs: int, report: Callable[[str], None]) -> tuple[list[PandasPair], bool]:
    source = _written(here / "compared", rows)
    timed = []
    for number in range(pairs):
        beam = _run_jobs(source, here / f"beam-{number}", here / "key")
        pandas = _run_pandas(source, here / f"pandas-{number}", here / "key")
        pair = PandasPair(
            beam_s=beam["seconds"],
            pandas_s=pandas["seconds"],
            beam_cpu_s=beam["cpu_seconds"],
            pandas_cpu_s=pandas["cpu_seconds"],
            beam_peak_mb=beam["peak_mb"],
            pandas_peak_mb=pandas["peak_mb"],
        )
        report(f"  {rows:,} rows: Beam {pair.beam_s:.1f} s, pandas {pair.pandas_s:.1f} s")
        timed.append(pair)
    last = pairs - 1
    return timed, _are_equal(here / f"beam-{last}", here / f"pandas-{last}")


def _grown(here: Path, rows: int, report: Callable[[str], None]) -> JobSize:
    with tempfile.TemporaryDirectory(dir=here) as name:
        source = _written(Path(name) / "rows", rows)
        figures = _run_jobs(source, Path(name) / "out", here / "key")
    size = JobSize(
        rows=rows, seconds=figures["seconds"], rows_per_s=rows / figures["seconds"], peak_mb=figures["peak_mb"]
    )
    report(f"  {rows:,} rows: {size.rows_per_s:,.0f} rows/s, {size.peak_mb:,.0f} MB")
    return size


def _written(folder: Path, rows: int) -> Path:
    for day, table in decision_days(rows, np.random.default_rng(rows)):
        place = folder / f"day={day}"
        place.mkdir(parents=True)
        pq.write_table(table, place / "part.parquet", compression="zstd")
    return folder


def _run_jobs(source: Path, output: Path, key: Path) -> dict[str, float]:
    """Redact, then aggregate what was redacted; seconds add up, of memory the larger counts."""
    words = ["--table", "decisions", "--input", f"{source}/**.parquet", "--key_file", str(key)]
    redacted = run_pipeline("redact", [*words, "--output", f"{output}/redacted"])
    words = ["--decisions", f"{output}/redacted/decisions/*.parquet", "--output", f"{output}/metrics"]
    metrics = run_pipeline("episode_metrics", words)
    figures = {name: float(redacted[name] + metrics[name]) for name in ("seconds", "cpu_seconds")}
    return {**figures, "peak_mb": float(max(redacted["peak_mb"], metrics["peak_mb"]))}


def _run_pandas(source: Path, output: Path, key: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", _PEER, str(source), str(output), str(key)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise GaelpError(f"{_PEER} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def _are_equal(beam: Path, pandas: Path) -> bool:
    """Whether redacted rows and metrics are the same, value by value."""
    keys = [("policy", "ascending"), ("campaign", "ascending"), ("day", "ascending")]
    metrics = _joined(sorted((beam / "metrics/metrics").iterdir())).sort_by(keys)
    same_metrics = metrics.equals(pq.read_table(pandas / "metrics.parquet").cast(metrics.schema).sort_by(keys))
    redacted = _joined(sorted((beam / "redacted/decisions").iterdir()))
    peer = pq.read_table(pandas / "redacted.parquet").replace_schema_metadata(None)
    return bool(same_metrics and redacted.equals(peer.select(redacted.column_names).cast(redacted.schema)))


def _joined(paths: Sequence[Path]) -> pa.Table:
    return pa.concat_tables([pq.read_table(path, partitioning=None) for path in paths]).replace_schema_metadata(None)
