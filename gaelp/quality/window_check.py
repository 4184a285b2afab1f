"""Check a stored window of a table against its suite: every failed expectation, with a sample of the failing rows."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pandas as pd
import pyarrow as pa
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.errors import DataError
from gaelp.quality.derived_columns import with_derived
from gaelp.quality.expectation_run import RanExpectation, run_expectations
from gaelp.quality.suite import Expectation, Suite
from gaelp.storage.schema import TableName, empty_table
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["CHECKED_ROWS_MAX", "CheckedExpectation", "FailingRow", "QualityResult", "check_frame", "check_window"]

CHECKED_ROWS_MAX = 5_000_000
_QUANTILES = "expect_column_quantile_values_to_be_between"
_VALUE_CHARACTERS = 80


class FailingRow(Frozen):
    """A row that breaks an expectation: its id, and its values in the columns that the expectation names."""

    id: str
    values: dict[str, str]


class CheckedExpectation(Frozen):
    """An expectation and what the data say to it."""

    expectation: str
    columns: tuple[str, ...]
    why: str
    holds: bool
    observed: str = ""
    failing_rows: NonNegativeInt = 0
    sample: tuple[FailingRow, ...] = ()


class QualityResult(Frozen):
    """What a window of a table says to its suite."""

    suite: str
    table: TableName
    rows: NonNegativeInt
    checked_at: Instant
    results: tuple[CheckedExpectation, ...]
    skipped: tuple[str, ...] = ()  # expectations that need a reference window, where there is none

    @property
    def failed(self) -> tuple[CheckedExpectation, ...]:
        """The expectations that do not hold."""
        return tuple(result for result in self.results if not result.holds)

    @property
    def metrics(self) -> dict[str, float]:
        """The figures for a gate."""
        return {"checked_rows": float(self.rows), "failed_expectations": float(len(self.failed))}


def check_window(
    store: EpisodeStore, suite: Suite, rows: RowFilter, *, now: datetime, reference: RowFilter | None = None
) -> tuple[QualityResult, str]:
    """Check the rows of a window, if asked against a reference window; returns the result and its page (HTML)."""
    frame = _frame(store, suite.table, rows)
    earlier = None if reference is None else _frame(store, suite.table, reference)
    return check_frame(frame, suite, now=now, reference=earlier)


def check_frame(
    frame: pd.DataFrame, suite: Suite, *, now: datetime, reference: pd.DataFrame | None = None
) -> tuple[QualityResult, str]:
    """Check rows that have the columns of the suite's table."""
    given = Suite.model_validate(suite).expectations
    ready = [(each, _against(each, reference)) for each in given]
    expectations = [runnable for _, runnable in ready if runnable is not None]
    skipped = tuple(f"{each.type} of {', '.join(each.columns)}: no reference" for each, run in ready if run is None)
    enough = CheckedExpectation(
        expectation="expect_table_row_count_to_be_between",
        columns=(),
        why="A window without data proves nothing.",
        holds=len(frame) >= suite.minimum_rows,
        observed=f"{len(frame):,} rows, at least {suite.minimum_rows:,} expected",
    )
    page = ""
    results = [enough]
    if len(frame):
        checked = with_derived(suite.table, frame)
        run = run_expectations(checked, expectations, suite.name)
        page = run.page
        results += [_result(each, ran, checked) for each, ran in zip(expectations, run.outcomes, strict=True)]
    result = QualityResult(
        suite=suite.name, table=suite.table, rows=len(frame), checked_at=now, results=tuple(results), skipped=skipped
    )
    return result, page


def _frame(store: EpisodeStore, table: TableName, rows: RowFilter) -> pd.DataFrame:
    parts, count = [empty_table(table)], 0
    for part in store.scan(table, rows):
        count += part.num_rows
        if count > CHECKED_ROWS_MAX:
            raise DataError(f"{table} has more than {CHECKED_ROWS_MAX:,} rows in this window: check a shorter one")
        parts.append(part)
    return pa.concat_tables(parts).to_pandas()


def _against(expectation: Expectation, reference: pd.DataFrame | None) -> Expectation | None:
    """The expectation with its limits; those taken from a reference window need one with data."""
    factor = expectation.reference_factor
    if factor is None:
        return expectation
    [column] = expectation.columns
    values = None if reference is None else reference[column].dropna()
    if values is None or values.empty:
        return None
    quantiles = list(expectation.kwargs["quantiles"])
    spots = [float(values.quantile(quantile)) for quantile in quantiles]
    limits = [sorted((spot / factor, spot * factor)) for spot in spots]
    kwargs = {"column": column, "quantile_ranges": {"quantiles": quantiles, "value_ranges": limits}}
    return expectation.model_copy(update={"type": _QUANTILES, "kwargs": kwargs})


def _result(expectation: Expectation, ran: RanExpectation, frame: pd.DataFrame) -> CheckedExpectation:
    shown = [column for column in expectation.columns if column in frame]

    def failing(row: int) -> FailingRow:
        cells: Mapping[Any, Any] = frame.iloc[row]
        return FailingRow(id=str(cells["id"]), values={name: str(cells[name])[:_VALUE_CHARACTERS] for name in shown})

    return CheckedExpectation(
        expectation=expectation.type,
        columns=expectation.columns,
        why=expectation.why,
        holds=ran.holds,
        observed=ran.observed,
        failing_rows=ran.failing_rows,
        sample=tuple(failing(row) for row in ran.sample),
    )
