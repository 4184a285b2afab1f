"""`gaelp data`: fit a market to a log of auctions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare

if TYPE_CHECKING:
    from gaelp.market.calibration import BidLog, CalibrationReport, HalfSplitReport

__all__ = ["app", "calibrate_market"]

app = typer.Typer(no_args_is_help=True, help="Logs in, markets out.")

LogFormat = Literal["columns", "ipinyou"]


@app.command("calibrate")
def calibrate_market(
    log: Annotated[Path, typer.Argument(help="The log: CSV or Parquet, or iPinYou's rows with --format ipinyou.")],
    name: Annotated[str | None, typer.Option("--name", help="What the market is called.", show_default="file")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The market file to write.", show_default="configs/markets/NAME.yaml"),
    ] = None,
    base: Annotated[
        str, typer.Option("--base", help="The market whose values stay where the log is too thin.")
    ] = "cal",
    log_format: Annotated[LogFormat, typer.Option("--format", help="How the rows are written.")] = "columns",
    utc_offset_hours: Annotated[
        float, typer.Option("--utc-offset-hours", help="The market's clock against UTC.")
    ] = 0.0,
    check: Annotated[
        bool,
        typer.Option("--check", help="Fit on half of the hours, compare on the others, write nothing."),
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a market to a log: prices, volumes, clicks, conversions and their delay, each with its interval.

    Writes the market file, which training takes by its name, and a report beside it. docs/calibration.md lists the
    columns.

    - `gaelp data calibrate bids.parquet --name mine`

    - `gaelp data calibrate bids.csv --check`
    """
    from gaelp.market.build import load_market_spec  # noqa: PLC0415 - numba takes a second that `--help` need not spend
    from gaelp.market.calibration import calibrate, write_calibration  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    base_spec = load_market_spec(base)
    say(f"Reading {log} ...")
    bids = _read(log, log_format, utc_offset_hours)
    if check:
        _show_check(bids, settings.run.seed, as_json)
        return
    called = name or log.stem
    market_path = out or Path("configs/markets") / f"{called}.yaml"
    report_path = market_path.with_suffix(".report.json")
    found = calibrate(bids, name=called, base=base_spec)
    write_calibration(found, market_path=market_path, report_path=report_path)
    if as_json:
        show_json({"market": str(market_path), "report": str(report_path), **found.report.model_dump(mode="json")})
        return
    _show_report(found.report)
    say(f"Wrote {market_path} and {report_path}. Look at it with `gaelp market tune {market_path}`.")


def _read(log: Path, log_format: LogFormat, utc_offset_hours: float) -> "BidLog":
    from gaelp.market.calibration import read_ipinyou, read_log  # noqa: PLC0415 - as above

    return read_ipinyou(log) if log_format == "ipinyou" else read_log(log, utc_offset_hours=utc_offset_hours)


def _show_check(bids: "BidLog", seed: int, as_json: bool) -> None:
    import numpy as np  # noqa: PLC0415 - as above

    from gaelp.market.calibration import half_split_report  # noqa: PLC0415 - as above

    report = half_split_report(bids, np.random.default_rng(seed))
    if as_json:
        show_json(report.model_dump(mode="json"))
        return
    show_table(("compared on the held-out half", "figure", "value"), _check_rows(report))
    for part, reason in report.missing.items():
        say(f"{part}: {reason}")


def _check_rows(report: "HalfSplitReport") -> list[tuple[str, str, str]]:
    parts = {"price": report.price, "volume": report.volume, "clicks": report.clicks}
    return [
        (part, key, f"{value:.4g}" if isinstance(value, float) else str(value))
        for part, found in parts.items()
        if found is not None
        for key, value in found.model_dump().items()
    ]


def _show_report(report: "CalibrationReport") -> None:
    rows = [
        (path, f"{one.value:.4g}", f"{one.interval_low:.4g} .. {one.interval_high:.4g}", f"{one.observations:,}")
        for path, one in report.statistics.items()
    ]
    show_table(("fitted", "value", "95% interval", "observations"), rows)
    for kept in report.kept:
        show_text(f"kept {kept.statistic}: {kept.reason}")
    for note in report.notes:
        show_text(f"note: {note}")
