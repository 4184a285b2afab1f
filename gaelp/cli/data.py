"""`gaelp data`: fit a market to a log of auctions."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import check_name, names_in
from gaelp.config.places import absolute
from gaelp.errors import BadInput
from gaelp.market.build import load_market_spec
from gaelp.market.calibration import (
    BidLog,
    CalibrationReport,
    HalfSplitReport,
    calibrate,
    check_target,
    half_split_report,
    read_ipinyou,
    read_log,
    write_calibration,
)

__all__ = ["app", "calibrate_market"]

app = typer.Typer(no_args_is_help=True)

AuctionLogFormat = Literal["columns", "ipinyou"]


@dataclass(frozen=True, slots=True)
class _Target:
    """What the market is called and the files it goes to."""

    name: str
    market_path: Path
    report_path: Path


@app.command("calibrate")
def calibrate_market(
    log: Annotated[Path, typer.Argument(help="The log: CSV or Parquet, or iPinYou's rows with --format ipinyou.")],
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
    check: Annotated[
        bool,
        typer.Option("--check", help="Fit on half of the hours, compare on the others, write nothing."),
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fit a market to a log: prices, volumes, clicks, conversions and their delay, each with its interval.

    Writes the market file, which every command takes by its path, and a report beside it. docs/calibration.md lists
    the columns and the rule by which a number of the log replaces one of the base market.

    - `gaelp data calibrate bids.parquet --name mine`

    - `gaelp data calibrate bids.csv --check`
    """
    settings = prepare(config, overrides).settings
    if check:
        _show_check(_read(log, log_format, utc_offset_hours), settings.run.seed, as_json)
        return
    target = _target(log, name, out, force=force)
    base_spec = load_market_spec(base)
    found = calibrate(_read(log, log_format, utc_offset_hours), name=target.name, base=base_spec)
    write_calibration(found, market_path=target.market_path, report_path=target.report_path)
    if as_json:
        files = {"market_path": str(target.market_path), "report_path": str(target.report_path)}
        show_json({**files, **found.report.model_dump(mode="json")})
        return
    _show_report(found.report)
    path = target.market_path
    say(f"Wrote {path}\nand   {target.report_path}")
    pasted = shlex.quote(str(path))
    say(f"Use it by its path: `gaelp market tune {pasted}`, then `gaelp market compare -m {pasted}`,")
    say(f"and in a run `--set market.name={path}`.")


def _target(log: Path, name: str | None, out: Path | None, *, force: bool) -> _Target:
    """Where the market goes; whatever speaks against it is said before the log is read."""
    called = check_name(log.stem, f"the name of {log.name} (give another with --name)") if name is None else name
    called = check_name(called, "--name")
    if called.endswith((".yaml", ".yml")):
        raise BadInput(f"--name: saw {called!r}; allowed: a name without .yaml. Leave it out, or give --out.")
    if out is None and called in names_in("markets") and not force:
        raise BadInput(
            f"a market called {called!r} exists (configs/markets/{called}.yaml); allowed: a new name. Give another with"
            " --name, or --force to put this one in its place."
        )
    market_path = absolute(out or Path("configs", "markets", f"{called}.yaml"))
    _check_out(market_path, given=out is not None)
    target = _Target(called, market_path, market_path.with_suffix(".report.json"))
    for path in (target.market_path, target.report_path):
        check_target(path, replace=force)
    return target


def _check_out(path: Path, *, given: bool) -> None:
    if path.suffix != ".yaml":
        raise BadInput(f"--out: saw {path.name!r}; allowed: a file that ends in .yaml. Rename it.")
    if given and not path.parent.is_dir():
        raise BadInput(f"--out: the folder {path.parent} does not exist; allowed: one that does. Make it first.")


def _read(log: Path, log_format: AuctionLogFormat, utc_offset_hours: float) -> BidLog:
    if log_format == "ipinyou" and utc_offset_hours != 0:
        raise BadInput(
            f"saw --utc-offset-hours {utc_offset_hours:g} with --format ipinyou; allowed: 0, for its times are already"
            " on the market's clock. Leave the option out."
        )
    say(f"Reading {log} ...")
    return read_ipinyou(log) if log_format == "ipinyou" else read_log(log, utc_offset_hours=utc_offset_hours)


def _show_check(bids: BidLog, seed: int, as_json: bool) -> None:
    report = half_split_report(bids, np.random.default_rng(seed))
    if as_json:
        show_json(report.model_dump(mode="json"))
        return
    show_table(("compared on the held-out half", "figure", "value"), _check_rows(report))
    if report.price is not None and report.price_judgement is not None:
        price, limit = report.price, report.price_judgement
        verdict = "fit" if limit.fits else "do not fit"
        show_text(
            f"Held-out prices {verdict}: kl {price.kl:.3f} of {limit.kl_limit:.3f} allowed"
            f" ({limit.kl_by_chance:.3f} for chance), ks {price.ks:.3f} of {limit.ks_limit:.3f}"
            f" ({limit.ks_by_chance:.3f} for chance)."
        )
    for part, reason in report.missing.items():
        say(f"{part}: {reason}")


def _check_rows(report: HalfSplitReport) -> list[tuple[str, str, str]]:
    parts = {"price": report.price, "volume": report.volume, "clicks": report.clicks}
    return [
        (part, key, f"{value:.4g}" if isinstance(value, float) else str(value))
        for part, found in parts.items()
        if found is not None
        for key, value in found.model_dump().items()
    ]


def _show_report(report: CalibrationReport) -> None:
    rows = [
        (path, f"{one.value:.4g}", f"{one.interval_low:.4g} .. {one.interval_high:.4g}", f"{one.observations:,}")
        for path, one in report.statistics.items()
    ]
    show_table(("fitted", "value", "95% interval", "observations"), rows)
    for kept in report.kept:
        value = "" if kept.default is None else f" at the base market's {kept.default:g}"
        show_text(f"kept {kept.statistic}{value}: {kept.reason}")
    for note in report.notes:
        show_text(f"note: {note}")
