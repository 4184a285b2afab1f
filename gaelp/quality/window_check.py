"""Check a stored window of a table against its suite: every failed expectation, with a sample of the failing rows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pandas as pd
import pyarrow as pa
from pydantic import NonNegativeInt

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.quality.derived_columns import with_derived
from gaelp.quality.expectation_run import SAMPLE_ROWS, RanExpectation, run_expectations
from gaelp.quality.suite import Expectation, Suite
from gaelp.storage.schema import TableName, empty_table
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["CheckedExpectation", "FailingRow", "QualityResult", "check_frame", "check_window"]

PART_ROWS = 2_000_000  # checked at once; uniqueness and order are checked within such a part
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
    earlier = None if reference is None else next(_frames(store, suite.table, reference))
    parts = [check_frame(frame, suite, now=now, reference=earlier) for frame in _frames(store, suite.table, rows)]
    results = [result for result, _ in parts]
    page = next((page for result, page in parts if result.failed), parts[0][1])
    return _joined(results), page


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


def _frames(store: EpisodeStore, table: TableName, rows: RowFilter) -> Iterator[pd.DataFrame]:
    """The rows of a window in parts of bounded size, one empty part if there are none."""
    parts, count, is_empty = [empty_table(table)], 0, True
    for part in store.scan(table, rows):
        parts.append(part)
        count += part.num_rows
        if count >= PART_ROWS:
            yield pa.concat_tables(parts).to_pandas()
            parts, count, is_empty = [empty_table(table)], 0, False
    if count or is_empty:
        yield pa.concat_tables(parts).to_pandas()


def _joined(parts: Sequence[QualityResult]) -> QualityResult:
    """The result of all parts: an expectation holds if it holds in each."""

    def joined(results: tuple[CheckedExpectation, ...]) -> CheckedExpectation:
        first = next((result for result in results if not result.holds), results[0])
        sample = tuple(row for result in results for row in result.sample)[:SAMPLE_ROWS]
        return first.model_copy(
            update={"failing_rows": sum(result.failing_rows for result in results), "sample": sample}
        )

    results = tuple(map(joined, zip(*(part.results for part in parts), strict=True)))
    return parts[0].model_copy(update={"rows": sum(part.rows for part in parts), "results": results})


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
