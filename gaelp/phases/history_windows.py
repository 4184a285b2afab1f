"""The three windows of phase 2 as its steps read them: reports of the first two, the sealed one under a ticket."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.errors import DataError
from gaelp.gates import Gate
from gaelp.history.look_book import TicketRequest
from gaelp.history.sealed_window import OpenedWindow, issue_ticket, open_window
from gaelp.history.split_windows import Splits, SplitWindow
from gaelp.history.splits import HistoryRows, fix_splits
from gaelp.market.calibration.report_frame import HourReports, hour_reports, keep_days
from gaelp.market.calibration.stored_reports import read_report_tables
from gaelp.phases.run_folder import PhaseFolder
from gaelp.storage.backends import build_store
from gaelp.storage.schema import TableName
from gaelp.storage.store import RowFilter

__all__ = ["ReportWindows", "fix_windows", "open_sealed_window", "read_open_days", "read_windows"]

_ORDINAL_1970 = 719_163


@dataclass(frozen=True, slots=True)
class ReportWindows:
    """Hourly reports of the windows that may be read by anyone."""

    calibration: HourReports
    validation: HourReports


def fix_windows(settings: Settings, rows: HistoryRows, clock: Clock) -> Splits:
    """Fix the windows of the history, unless they were; the last one is sealed from then on."""
    return fix_splits(settings, settings.history.splits, clock, rows)


def read_windows(settings: Settings, splits: Splits) -> ReportWindows:
    """The first two windows, each as it was known when the next one began."""
    with closing(build_store(settings)) as store:
        tables = read_report_tables(store, RowFilter(sources=splits.sources))
    return ReportWindows(
        *(_window(tables, window, window, splits.history) for window in (splits.calibration, splits.validation))
    )


def read_open_days(settings: Settings, splits: Splits) -> HourReports:
    """The first two windows as one: everything that anyone may read, as it was known when the sealed one began."""
    with closing(build_store(settings)) as store:
        tables = read_report_tables(store, RowFilter(sources=splits.sources))
    return _window(tables, splits.calibration, splits.validation, splits.history)


def open_sealed_window(
    settings: Settings, splits: Splits, folder: PhaseFolder, model_hash: str, gate: Gate, clock: Clock
) -> OpenedWindow:
    """Take a look at the sealed window for this attempt and model; the same attempt gets the same look again."""
    request = TicketRequest(
        run_id=folder.run_id,
        attempt=folder.attempt,
        model_hash=model_hash,
        gate=gate.name,
        gate_file_hash=_gate_hash(gate),
    )
    return open_window(settings, splits, issue_ticket(settings, splits, request, clock), clock)


def _gate_hash(gate: Gate) -> str:
    if gate.file is None:
        raise DataError(f"gate {gate.name} was not read from a file, so no ticket can name it: load it with load_gate")
    return gate.file.sha256


def _window(tables: Mapping[TableName, pa.Table], first: SplitWindow, last: SplitWindow, source: str) -> HourReports:
    """The days from the beginning of one window to the end of another, as known when the later one was closed."""
    name = first.name if first is last else f"{first.name} and {last.name}"
    reports = hour_reports(tables, source=f"{source}, {name}", as_of=last.known_at)
    first_day = int(reports.covered_hours[0]) // 24
    begin, end = (day.toordinal() - _ORDINAL_1970 - first_day for day in (first.first_day, last.last_day))
    return keep_days(reports, begin, end + 1)
