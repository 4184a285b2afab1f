"""The same work as the jobs `redact` and `episode_metrics`, with pandas in one process: what Beam is compared with.

python -m gaelp.bench.pandas_peer INPUT_FOLDER OUTPUT_FOLDER KEY_FILE
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.importing.redaction import IDENTIFIERS, TRUSTED_TEXT, redact_identifier, redact_text
from gaelp.jobs.episode_metrics import METRIC_INPUTS, PARTIAL_METRICS, finish_metrics
from gaelp.jobs.peak_memory import peak_memory_mb
from gaelp.storage.schema import TABLES, TableName

__all__ = ["aggregate_with_pandas", "main", "redact_with_pandas"]

_FIGURES = ("reward", "impressions", "clicks", "conversions", "spend_micros", "value_micros")
_KEYS = ["policy", "campaign", "day", "hour"]


def main(arguments: Sequence[str]) -> int:
    """Redact, write, read again, aggregate, write; print seconds and memory as JSON."""
    source, output, key_file = (Path(word) for word in arguments)
    key = key_file.read_text(encoding="utf-8").strip().encode()
    output.mkdir(parents=True, exist_ok=True)
    began, cpu_began = time.perf_counter(), time.process_time()
    files = sorted(source.rglob("*.parquet"))
    rows = pd.concat([pq.read_table(path, partitioning=None).to_pandas() for path in files], ignore_index=True)
    redact_with_pandas(rows, key).to_parquet(output / "redacted.parquet", compression="zstd", index=False)
    again = pd.read_parquet(output / "redacted.parquet", columns=list(METRIC_INPUTS))
    pq.write_table(aggregate_with_pandas(again), output / "metrics.parquet")
    figures = {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - cpu_began,
        "peak_mb": peak_memory_mb(),
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 0


def redact_with_pandas(rows: pd.DataFrame, key: bytes) -> pd.DataFrame:
    """Hash identifiers and redact text, once for each distinct value."""
    for field in TABLES[TableName.DECISIONS].columns:
        if not pa.types.is_string(field.type) or (field.name in TRUSTED_TEXT and field.name not in IDENTIFIERS):
            continue
        redact: Callable[[str], str] = redact_text
        if field.name in IDENTIFIERS:
            redact = _hashed(key)
        values = rows[field.name]
        rows[field.name] = values.map({value: redact(value) for value in values.dropna().unique()})
    return rows


def aggregate_with_pandas(rows: pd.DataFrame) -> pa.Table:
    """Check rows and sum them by hour, then finish as the job does."""
    bad = (rows["clicks"] > rows["impressions"]) | (rows[list(_FIGURES[1:])] < 0).any(axis=1)
    rows = rows[~bad]
    sums = rows[list(_FIGURES)].assign(
        reward=(rows["reward"] * 2.0**32).round().astype("int64"),
        conversions=(rows["conversions"] * 2.0**20).round().astype("int64"),
        policy=rows["policy"],
        campaign=rows["campaign"],
        day=rows["at"].dt.date,
        hour=rows["at"].dt.hour.astype("int64"),
    )
    groups = sums.groupby(_KEYS, dropna=False, observed=True)
    hours = groups[list(_FIGURES)].sum()
    hours["rows"] = groups.size()
    for name in _FIGURES:
        hours[f"{name}_rows"] = groups[name].count()
    partial = pa.Table.from_pandas(hours.reset_index(), preserve_index=False)
    return finish_metrics(partial.select(PARTIAL_METRICS.names).cast(PARTIAL_METRICS))


def _hashed(key: bytes) -> Callable[[str], str]:
    return lambda value: redact_identifier(value, key)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
