"""`gaelp data check` and `gaelp data describe`: what is stored, and whether it is good."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gaelp.bootstrap import open_store
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.config.places import absolute
from gaelp.errors import BadInput, Refused
from gaelp.quality.data_overview import overview, overview_png
from gaelp.quality.last_check import keep_check, last_checks, page_path
from gaelp.quality.suite import load_suite, suite_names
from gaelp.quality.window_check import QualityResult, check_window
from gaelp.storage.schema import TableName
from gaelp.storage.sealed_store import withheld_note
from gaelp.storage.store import RowFilter
from gaelp.types import Phase

__all__ = ["check_data", "describe_data"]

_DAYS = ["%Y-%m-%d"]
_SHOWN_ROWS = 3


def check_data(
    tables: Annotated[
        list[TableName] | None, typer.Argument(help="The tables to check.", show_default="all with rows")
    ] = None,
    phases: Annotated[list[Phase] | None, typer.Option("--phase", help="Only rows of this phase.")] = None,
    sources: Annotated[list[str] | None, typer.Option("--source", help="Only rows of this run or import.")] = None,
    since: Annotated[datetime | None, typer.Option("--since", formats=_DAYS, help="The first day, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option("--until", formats=_DAYS, help="The day after the last.")] = None,
    reference_since: Annotated[
        datetime | None, typer.Option("--reference-since", formats=_DAYS, help="First day of the reference window.")
    ] = None,
    reference_until: Annotated[
        datetime | None, typer.Option("--reference-until", formats=_DAYS, help="The day after its last.")
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check stored rows against the expectations of their tables; exits with 3 if one fails.

    The suites are in configs/expectations/. With a reference window, distributions are compared with it.

    - `gaelp data check`

    - `gaelp data check auctions --since 2024-01-08 --reference-since 2024-01-01 --reference-until 2024-01-08`
    """
    settings = prepare_reading(config, overrides, in_home=True).settings
    window = RowFilter(since=_utc(since), until=_utc(until), phases=tuple(phases or ()), sources=tuple(sources or ()))
    reference = None
    if reference_since is not None or reference_until is not None:
        reference = window.model_copy(update={"since": _utc(reference_since), "until": _utc(reference_until)})
    store = open_store(settings)
    try:
        stored = {part.table for part in store.describe()}
        wanted = tables or [table for table in suite_names() if table in stored]
        if not wanted:
            raise BadInput("nothing is stored yet: `gaelp data import` or a run stores rows.")
        home, now = absolute(settings.home), datetime.now(UTC)
        results = []
        for table in wanted:
            result, page = check_window(store, load_suite(table), window, now=now, reference=reference)
            keep_check(home, result, page)
            results.append(result)
        if note := withheld_note(store):
            say(note)
    finally:
        store.close()
    if as_json:
        show_json([{**result.model_dump(mode="json"), **result.metrics} for result in results])
    else:
        _show(results)
        say(f"Pages: {', '.join(str(page_path(home, result.table)) for result in results if result.rows)}")
    failed = sum(len(result.failed) for result in results)
    if failed:
        raise Refused(
            f"{failed} expectation{'s' if failed > 1 else ''} failed: correct the source, and import it again."
        )


def describe_data(
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw rows a day.", show_default=False)
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is stored by table, phase and source: rows, size, days, and the quality in the last check.

    - `gaelp data describe --plot stored.png`
    """
    settings = prepare_reading(config, overrides, in_home=True).settings
    store = open_store(settings)
    try:
        parts = store.describe()
    finally:
        store.close()
    sources = overview(parts, last_checks(absolute(settings.home)))
    if plot is not None:
        plot.write_bytes(overview_png(parts))
        say(f"Wrote {plot}")
    if as_json:
        show_json([source.model_dump(mode="json") for source in sources])
        return
    rows = [
        (
            source.table.value,
            source.phase.value,
            source.source,
            f"{source.rows:,}",
            f"{source.bytes / 1e6:,.2f} MB",
            source.days,
            source.quality,
        )
        for source in sources
    ]
    show_table(("table", "phase", "source", "rows", "size", "days", "last check of the table"), rows)
    show_text(f"{sum(part.rows for part in parts):,} rows, {sum(part.bytes for part in parts) / 1e6:,.2f} MB")


def _show(results: list[QualityResult]) -> None:
    rows = [
        (result.table.value, f"{result.rows:,}", str(len(result.results)), str(len(result.failed)))
        for result in results
    ]
    show_table(("table", "rows", "expectations", "failed"), rows)
    for result in results:
        for failed in result.failed:
            count = f", {failed.failing_rows:,} rows" if failed.failing_rows else ""
            show_text(f"{result.table}: {failed.expectation} {', '.join(failed.columns)}{count}: {failed.why}")
            if failed.observed and not failed.sample:
                show_text(f"  saw {failed.observed}")
            for row in failed.sample[:_SHOWN_ROWS]:
                values = ", ".join(f"{name}={value}" for name, value in row.values.items())
                show_text(f"  row {row.id}: {values}")
        for skipped in result.skipped:
            say(f"{result.table}: not checked: {skipped}")


def _utc(day: datetime | None) -> datetime | None:
    return None if day is None else day.replace(tzinfo=UTC)
