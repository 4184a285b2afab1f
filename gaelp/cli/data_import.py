"""`gaelp data import`: logs and reports of others, into the store."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from gaelp.bootstrap import open_store
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.clock import SystemClock
from gaelp.config import Settings, load_model
from gaelp.config.places import absolute
from gaelp.config.write import model_text, write_texts
from gaelp.errors import BadInput
from gaelp.importing.column_mapping import ImportMapping
from gaelp.importing.file_import import ImportReport, ImportTerms, import_files
from gaelp.importing.query_source import bigquery_client, parameters_of, query_source
from gaelp.importing.redaction import redaction_key
from gaelp.importing.row_source import FileFormat, RowSource, guess_mapping, named_after_content, open_file
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.types import Phase

__all__ = ["import_data"]

_LINE_EVERY_S = 2.0
_COUNTS = ("read", "stored", "already_stored", "rejected")


def import_data(
    files: Annotated[
        list[Path] | None, typer.Argument(help="CSV (also .gz), Parquet, or a report export; several are allowed.")
    ] = None,
    file_format: Annotated[
        FileFormat,
        typer.Option(
            "--format",
            help="columns: auctions as in docs/calibration.md; mapped: with --mapping, or by known column names.",
        ),
    ] = "mapped",
    mapping: Annotated[
        Path | None, typer.Option("--mapping", metavar="FILE", help="Which column is which (YAML).", show_default=False)
    ] = None,
    write_mapping: Annotated[
        Path | None,
        typer.Option(
            "--write-mapping", metavar="FILE", help="Write a mapping by the header, import nothing.", show_default=False
        ),
    ] = None,
    campaign: Annotated[
        str | None, typer.Option("--campaign", help="The campaign, where the file has no column for it.")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", help="The ad account, where the file has no column for it.")
    ] = None,
    phase: Annotated[Phase, typer.Option("--phase", help="The phase that the rows are evidence for.")] = Phase.HISTORY,
    at: Annotated[
        datetime | None,
        typer.Option("--at", formats=["%Y-%m-%d"], help="The day of the figures, where the file has no time."),
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--time-zone", help="Of times without one, such as Europe/Berlin.", show_default="mapping"),
    ] = None,
    query: Annotated[
        str | None, typer.Option("--bigquery", metavar="SQL", help="Import the result of a query.", show_default=False)
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--parameter", metavar="NAME=VALUE", help="Of the query, which has @NAME; may be repeated."),
    ] = None,
    letters: Annotated[
        Path | None,
        typer.Option("--dead-letters", metavar="FILE", help="Where rejected rows go.", show_default="below the home"),
    ] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import logs and reports: every row is stored or rejected with line and reason; twice stores once.

    More than 10% of rejected rows in a file stop the import, and nothing is stored. docs/import.md shows the formats
    and a mapping file.

    - `gaelp data import bids.csv --write-mapping bids.yaml`

    - `gaelp data import bids.csv --mapping bids.yaml --campaign spring`

    - `gaelp data import report.csv --format google-ads --account 123-456-7890`
    """
    settings = prepare(config, overrides).settings
    if bool(files) == (query is not None):
        raise BadInput("nothing to import, or both files and a query; allowed: files, or --bigquery SQL.")
    if write_mapping is not None:
        _write_mapping(files or [], write_mapping)
        return
    given = None if mapping is None else load_model(ImportMapping, str(mapping))
    sources = [named_after_content(open_file(path, file_format, given), path) for path in files or ()]
    if query is not None:
        if given is None:
            raise BadInput("--bigquery needs --mapping FILE: it says which column of the result is which.")
        client = bigquery_client(settings.storage)
        sources = [query_source(client, query, parameters_of(parameters or ()), given)]
    now = datetime.now(UTC)
    home = absolute(settings.home)
    terms = ImportTerms(
        phase=phase,
        key=redaction_key(home),
        now=now,
        campaign=campaign,
        account=account,
        at=None if at is None else at.date(),
        zone_name=zone,
    )
    letters_path = absolute(letters or home / "imports" / f"dead-letters-{now:%Y%m%d-%H%M%S-%f}.csv")
    report = _import(settings, sources, terms, letters_path)
    if as_json:
        counts = {name: report.total(name) for name in _COUNTS}
        show_json({**counts, **report.model_dump(mode="json")})
        return
    _show(report)


def _import(settings: Settings, sources: list[RowSource], terms: ImportTerms, letters_path: Path) -> ImportReport:
    home = absolute(settings.home)
    store = open_store(settings)
    try:
        return import_files(
            sources,
            terms,
            store,
            work_folder=home / "imports",
            letters_path=letters_path,
            alert=open_dispatcher(settings, SystemClock()).send,
            progress=_progress(),
        )
    finally:
        store.close()


def _progress() -> Callable[[str, int], None]:
    """A line on stderr every two seconds."""
    last = time.monotonic()

    def show(file: str, rows: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY_S:
            last = time.monotonic()
            say(f"{file}: {rows:,} rows read ...")

    return show


def _write_mapping(files: list[Path], path: Path) -> None:
    if len(files) != 1:
        raise BadInput(f"--write-mapping: saw {len(files)} files; allowed: one, such as the first of them.")
    if path.exists():
        raise BadInput(f"{path} exists; allowed: a new file. Name another, or remove it.")
    mapping = guess_mapping(files[0])
    write_texts({absolute(path): model_text(path, mapping)})
    say(f"Wrote {path}: {len(mapping.columns)} columns of {mapping.table}. Check units and time formats, then")
    say(f"`gaelp data import {files[0]} --mapping {path}`")


def _show(report: ImportReport) -> None:
    headings = ("file", "table", "read", "stored", "already stored", "rejected", "days")
    rows = [
        (
            each.file,
            each.table.value,
            *(f"{count:,}" for count in (each.read, each.stored, each.already_stored, each.rejected)),
            "-" if each.first_at is None or each.last_at is None else _days(each.first_at, each.last_at),
        )
        for each in report.files
    ]
    show_table(headings, rows)
    read, stored, already, rejected = (report.total(name) for name in _COUNTS)
    show_text(f"{stored:,} stored + {already:,} already stored + {rejected:,} rejected = {read:,} read")
    for each in report.files:
        for reason in each.reasons:
            count = "1 row," if reason.rows == 1 else f"{reason.rows:,} rows, the first at"
            show_text(f"{each.file}: {count} line {reason.line}: {reason.reason} (saw {reason.value})")
        for note in each.notes:
            say(f"{each.file}: {note}")
    if report.dead_letters is not None:
        say(f"Rejected rows: {report.dead_letters}")


def _days(first: date, last: date) -> str:
    return f"{first:%Y-%m-%d}" if f"{first:%Y%m%d}" == f"{last:%Y%m%d}" else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
