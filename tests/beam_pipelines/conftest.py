"""Tables to run the jobs on, and Beam imported once with its own warnings set aside."""

import importlib
import warnings
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam  # noqa: F401

from gaelp.bench.decision_rows import decision_days
from gaelp.storage.schema import TABLES, TableName


def _write(folder, name, table):
    """Write a table as a store does: a folder for each day."""
    days = table.column("at").cast(pa.date32()).to_pylist()
    for day in sorted(set(days)):
        place = folder / name / f"day={day}"
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(table.filter(pa.array([each == day for each in days])), place / "part.parquet")


@pytest.fixture(scope="session")
def stored(tmp_path_factory):
    """A store of two days: decisions, clicks, conversions, spend events and hour reports."""
    folder = tmp_path_factory.mktemp("stored")
    for day, table in decision_days(36_000, np.random.default_rng(5)):
        place = folder / "decisions" / f"day={day}"
        place.mkdir(parents=True)
        pq.write_table(table, place / "part.parquet")
    _write(folder, "clicks", rows_of(TableName.CLICKS, CLICKS))
    _write(folder, "conversions", rows_of(TableName.CONVERSIONS, CONVERSIONS))
    _write(folder, "spend_events", rows_of(TableName.SPEND_EVENTS, SPEND))
    _write(folder, "hour_reports", rows_of(TableName.HOUR_REPORTS, HOURS))
    (folder / "limits.yaml").write_text(LIMITS)
    (folder / "key").write_text("0123456789abcdef0123")
    return folder


def rows_of(name, rows):
    """A stored table of rows that name only what matters to a test."""
    common = {"phase": "pilot", "source": "test", "campaign": "spring"}
    return pa.Table.from_pylist([{**common, **row} for row in rows], schema=TABLES[name].columns)


def at(day, hour=0):
    return datetime(2026, 1, day, hour, tzinfo=UTC)


CLICKS = [{"id": f"k{day}{hour}", "at": at(day, hour), "cost_micros": 500_000} for day in (1, 2) for hour in range(10)]
CONVERSIONS = [
    {"id": "v0", "conversion": "v", "revision": 0, "at": at(1, 12), "click": "k13", "reported_at": at(1, 13),
     "value_micros": 9},
    {"id": "v1", "conversion": "v", "revision": 1, "at": at(1, 12), "click": "k13", "reported_at": at(3),
     "value_micros": 4},
    {"id": "w0", "conversion": "w", "revision": 0, "at": at(2, 4), "reported_at": at(2, 5), "value_micros": 7},
    {"id": "x0", "conversion": "x", "revision": 0, "at": at(2, 4), "click": "gone", "reported_at": at(2, 5),
     "value_micros": 7},
]  # fmt: skip
SPEND = [
    {"id": f"e{hour}", "at": at(1, hour), "account": "acc", "account_day": at(1).date(), "kind": "charge",
     "amount_micros": 400_000, "reported_at": at(1, hour)}
    for hour in range(24)
]  # fmt: skip
HOURS = [
    {"id": f"h{hour}", "at": at(1, hour), "account": "acc", "account_day": at(1).date(), "revision": 0,
     "reported_at": at(2), "bid_micros": 100_000 + 7_000 * (hour % 5), "spend_micros": 400_000, "impressions": 100,
     "clicks": 5, "conversions": 1.0}
    for hour in range(24)
]  # fmt: skip
LIMITS = """
accounts:
  acc:
    day_cap_micros: 9000000
    campaigns:
      spring:
        daily_micros: 9600000
        day_cap_micros: 19200000
        episode_cap_micros: 100000000
        loss_cap_micros: 50000000
        conversion_value_micros: 600000
"""


@pytest.fixture(scope="session")
def job_words(stored):
    """The command-line options of each job, but for the output."""
    return {
        "episode_metrics": ["--decisions", f"{stored}/decisions/**.parquet"],
        "redact": [
            "--table",
            "decisions",
            "--input",
            f"{stored}/decisions/**.parquet",
            "--key_file",
            f"{stored}/key",
        ],
        "logged_dataset": [
            *("--decisions", f"{stored}/decisions/**.parquet"),
            *("--hour_reports", f"{stored}/hour_reports/**.parquet"),
        ],
        "attribution": [
            *("--clicks", f"{stored}/clicks/**.parquet", "--conversions", f"{stored}/conversions/**.parquet"),
            *("--as_of", "2026-03-01T00:00:00Z"),
        ],
        "budget_safety": [
            *("--spend_events", f"{stored}/spend_events/**.parquet"),
            *("--hour_reports", f"{stored}/hour_reports/**.parquet"),
            *("--limits", f"{stored}/limits.yaml", "--as_of", "2026-01-10T00:00:00Z"),
        ],
    }


@pytest.fixture
def run_words(job_words):
    """Run a job by name; its further options override nothing."""

    def run(job, output, *more):
        return importlib.import_module(f"beam_pipelines.{job}").run([*job_words[job], "--output", str(output), *more])

    return run


@pytest.fixture(scope="session")
def results_of():
    """Every result file below a folder as rows, without the marks."""

    def read(folder):
        return {
            path.relative_to(folder).as_posix(): pq.read_table(path, partitioning=None)
            for path in sorted(folder.rglob("*.parquet"))
        }

    return read
