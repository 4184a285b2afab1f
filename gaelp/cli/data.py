"""`gaelp data`: import logs, and fit a market to a log of auctions or to stored reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from gaelp.cli.calibration_output import (
    calibration_target,
    check_folder,
    say_how_to_use,
    say_warnings,
    show_calibration,
)
from gaelp.cli.data_check import check_data, describe_data
from gaelp.cli.data_episodes import app as episodes
from gaelp.cli.data_import import import_data
from gaelp.cli.data_reports import CalibrationInput, StoredReports, calibrate_stored, check_stored
from gaelp.cli.data_retention import hold, retention
from gaelp.cli.data_synthesize import synthesize_data
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import check_name
from gaelp.config.places import absolute
from gaelp.config.write import write_texts
from gaelp.errors import BadInput, DataError
from gaelp.market.build import load_market_spec
from gaelp.market.calibration import (
    BidLog,
    CheckReport,
    CheckVerdict,
    PriceComparison,
    PriceJudgement,
    TimeSplitReport,
    calibrate,
    check_report,
    check_target,
    read_ipinyou,
    read_log,
    write_calibration,
)
from gaelp.market.calibration.plausibility import log_warnings
from gaelp.market.number_text import counted, short_number

__all__ = ["app", "calibrate_market"]

app = typer.Typer(no_args_is_help=True)
app.command("import")(import_data)
app.command("check")(check_data)
app.command("describe")(describe_data)
app.add_typer(episodes, name="episodes", help="Stored episodes: list, show, compare, replay.")
app.command("retention")(retention)
app.command("hold")(hold)
app.command("synthesize")(synthesize_data)

AuctionLogFormat = Literal["columns", "ipinyou"]

_VERDICTS: Mapping[CheckVerdict, str] = {
    "fits": "A market fitted to this log describes the hours and the days it was not fitted on.",
    "drifts": "A fit holds for other hours of the same days, but later days differ from the first ones: calibrate on"
    " recent days, and again regularly.",
    "does not fit": "A fit does not even hold for other hours of the same days: split the segments, or look for hours"
    " that are unlike the rest.",
    "too few prices": "Use a longer log.",
}


_PRICE_EMPTY = "column price_micros: saw empty"  # in a message of the reader
_WON_NEEDS_PRICE = (
    "An auction that was won needs its price: the highest rival bid, or in a second-price auction what you paid."
    " price_micros may be empty only where won is 0."
)


@dataclass(frozen=True, slots=True)
class _LogOptions:
    """The log and how to read it."""

    path: Path
    log_format: AuctionLogFormat
    utc_offset_hours: float
    bad_rows_path: Path | None  # where bad rows are set aside; None if they stop the command


@app.command("calibrate")
def calibrate_market(
    log: Annotated[
        Path | None, typer.Argument(help="The log: CSV or Parquet, or iPinYou's rows with --format ipinyou.")
    ] = None,
    calibrated_from: Annotated[
        CalibrationInput,
        typer.Option("--from", help="A log of auctions; or of the store, hourly reports or bid simulator points."),
    ] = "log",
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", help="With --from reports or points: which import or run; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What the market is called.", show_default="file")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The market file to write.", show_default="configs/markets/NAME.yaml"),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a market that is already there.", show_default=False)
    ] = False,
    base: Annotated[
        str, typer.Option("--base", help="The market whose values stay where the log is too thin.")
    ] = "cal",
    log_format: Annotated[AuctionLogFormat, typer.Option("--format", help="How the rows are written.")] = "columns",
    utc_offset_hours: Annotated[
        float, typer.Option("--utc-offset-hours", help="The market's clock against UTC, -12 to 14.")
    ] = 0.0,
    bad_rows: Annotated[
        Path | None,
        typer.Option(
            "--skip-bad-rows",
            metavar="FILE",
            help="Set bad rows aside in this CSV file (line, reason, text) and use the rest; at most 10% of the rows.",
            show_default="bad rows stop the command",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare halves of the hours, and later days with first ones; write no market."),
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a market to a log or to reports: prices, volumes, clicks, conversions and delay, each with its interval.

    Writes the market file, which every command takes by its path, and a report beside it. docs/calibration.md lists
    the columns and the rule by which a number of the log replaces one of the base market.

    - `gaelp data calibrate bids.parquet --name mine`

    - `gaelp data calibrate bids.csv --check`

    - `gaelp data calibrate bids.csv --name mine --skip-bad-rows bad.csv`

    - `gaelp data calibrate --from reports --name mine`
    """
    settings = prepare(config, overrides).settings
    if calibrated_from != "log":
        stored = StoredReports(settings, calibrated_from, tuple(sources or ()), base)
        _check_no_log(log, calibrated_from, bad_rows)
        if check:
            check_stored(stored, as_json=as_json)
        else:
            calibrate_stored(stored, calibration_target(name or calibrated_from, out, force=force), as_json=as_json)
        return
    if log is None or sources:
        raise BadInput("a log of auctions is needed, and no --source: name a file, or choose --from reports or points.")
    options = _LogOptions(log, log_format, utc_offset_hours, None if bad_rows is None else absolute(bad_rows))
    if check:
        _check_bad_rows_target(options, force=force)
        bids, base_spec = _read(options), load_market_spec(base)
        say_warnings(log_warnings(bids, base_spec.price.level_micros))
        report = check_report(bids, base_spec, np.random.default_rng(settings.run.seed))
        write_texts(_bad_rows_text(options, bids))
        _show_check(report, _bad_rows_json(options, bids), as_json=as_json)
        return
    target = calibration_target(_name(log) if name is None else name, out, force=force)
    _check_bad_rows_target(options, target.market_path, target.report_path, force=force)
    base_spec = load_market_spec(base)
    bids = _read(options)
    calibration = calibrate(bids, name=target.name, base=base_spec)
    write_calibration(
        calibration,
        market_path=target.market_path,
        report_path=target.report_path,
        other_texts=_bad_rows_text(options, bids),
    )
    if as_json:
        files = {"market_path": str(target.market_path), "report_path": str(target.report_path)}
        results = [result.model_dump(mode="json") for result in calibration.report.results]
        report_json = calibration.report.model_dump(mode="json")
        show_json({**files, **_bad_rows_json(options, bids), **report_json, "results": results})
        return
    say_warnings(calibration.report.warnings)
    show_calibration(calibration.report)
    say_how_to_use(target)


def _check_no_log(log: Path | None, calibrated_from: CalibrationInput, bad_rows: Path | None) -> None:
    if log is not None or bad_rows is not None:
        raise BadInput(
            f"saw a file with --from {calibrated_from}; allowed: none, for reports are read from the store. Import them"
            " first (`gaelp data import`), or leave --from out."
        )


def _name(log: Path) -> str:
    return check_name(log.stem, f"the name of {log.name} (give another with --name)")


def _check_bad_rows_target(options: _LogOptions, *others: Path, force: bool) -> None:
    path = options.bad_rows_path
    if path is None:
        return
    if path.resolve() in {other.resolve() for other in (absolute(options.path), *others)}:
        raise BadInput(f"--skip-bad-rows: {path} is the log, the market or its report. Name another file.")
    check_folder("--skip-bad-rows", path)
    check_target(path, replace=force)


def _read(options: _LogOptions) -> BidLog:
    path, offset, skip = options.path, options.utc_offset_hours, options.bad_rows_path is not None
    if options.log_format == "ipinyou" and offset != 0:
        raise BadInput(
            f"saw --utc-offset-hours {offset:g} with --format ipinyou; allowed: 0, for its times are already"
            " on the market's clock. Leave the option out."
        )
    say(f"Reading {path} ...")
    try:
        if options.log_format == "ipinyou":
            bids = read_ipinyou(path, skip_bad_rows=skip)
        else:
            bids = read_log(path, utc_offset_hours=offset, skip_bad_rows=skip)
    except DataError as problem:
        if _PRICE_EMPTY not in str(problem):
            raise
        raise DataError(f"{problem}\n{_WON_NEEDS_PRICE}") from problem
    for note in bids.columns.notes():
        say(note)
    if bids.skipped is not None:
        say(bids.skipped.summary())
        if bids.skipped.rows:
            say(f"They are set aside in {options.bad_rows_path}; the rest is used.")
    hours = counted(len(bids.covered_hours), "hour")
    say(f"Fitting {counted(bids.rows, 'auction')} in {hours} (about 5 s for a million) ...")
    return bids


def _bad_rows_text(options: _LogOptions, bids: BidLog) -> dict[Path, str]:
    """The file of bad rows; there is none without bad rows."""
    if options.bad_rows_path is None or bids.skipped is None or not bids.skipped.rows:
        return {}
    return {options.bad_rows_path: bids.skipped.as_csv()}


def _bad_rows_json(options: _LogOptions, bids: BidLog) -> dict[str, object]:
    if bids.skipped is None:
        return {}
    by_reason = {reason.name: reason.rows for reason in bids.skipped.reasons}
    path = str(options.bad_rows_path) if bids.skipped.rows else None
    return {"bad_rows": {"path": path, "rows": len(bids.skipped.rows), "by_reason": by_reason}}


def _show_check(report: CheckReport, bad_rows: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        show_json({**bad_rows, **report.model_dump(mode="json")})
        return
    show_table(("compared on the held-out half", "figure", "value"), _check_rows(report))
    if report.price is not None and report.price_judgement is not None:
        verdict = "fit" if report.price_judgement.fits else "do not fit"
        show_text(f"Held-out prices {verdict}: {_price_limits(report.price, report.price_judgement)}.")
    _show_time_split(report.time_split)
    show_text(f"Verdict: {report.verdict}. {_VERDICTS[report.verdict]}")
    for part, reason in (report.missing | report.time_split.missing).items():
        say(f"{part}: {reason}")


def _show_time_split(split: TimeSplitReport) -> None:
    rows = [
        (
            change.statistic,
            short_number(change.first),
            short_number(change.later),
            short_number(change.change),
            f"{short_number(change.interval_low)} .. {short_number(change.interval_high)}",
            "yes" if change.changed else "no",
        )
        for change in split.changes
    ]
    show_table((f"before and after {split.cut_at}", "first", "later", "change", "interval", "changed"), rows)
    if split.price is not None and split.price_judgement is not None:
        verdict = "are as the first days say" if split.price_judgement.fits else "differ from the first days"
        show_text(f"Later prices {verdict}: {_price_limits(split.price, split.price_judgement)}.")


def _price_limits(price: PriceComparison, limit: PriceJudgement) -> str:
    def part(name: str, value: float, highest: float, by_chance: float, by_drift: float) -> str:
        excused = f"{by_chance:.3f} for chance" + (f", {by_drift:.3f} for drift" if by_drift > 0 else "")
        return f"{name} {value:.3f} of {highest:.3f} allowed ({excused})"

    kl = part("kl", price.kl, limit.kl_limit, limit.kl_by_chance, limit.kl_by_drift)
    return f"{kl}, {part('ks', price.ks, limit.ks_limit, limit.ks_by_chance, limit.ks_by_drift)}"


def _check_rows(report: CheckReport) -> list[tuple[str, str, str]]:
    parts = {"price": report.price, "volume": report.volume, "clicks": report.clicks}
    return [
        (name, key, short_number(value) if isinstance(value, float) else str(value))
        for name, part in parts.items()
        if part is not None
        for key, value in part.model_dump().items()
    ]
