"""Where a calibrated market goes, and how its report is printed."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gaelp.cli.output import say, show_paragraph, show_table
from gaelp.config import check_name, names_in
from gaelp.config.places import absolute
from gaelp.errors import BadInput
from gaelp.market.calibration import CalibrationReport, check_target
from gaelp.market.number_text import short_number

__all__ = [
    "CalibrationTarget",
    "calibration_target",
    "check_folder",
    "say_how_to_use",
    "say_warnings",
    "show_calibration",
]


@dataclass(frozen=True, slots=True)
class CalibrationTarget:
    """The market's name and its files."""

    name: str
    market_path: Path
    report_path: Path


def say_warnings(warnings: Sequence[str]) -> None:
    """Each doubt on a line of stderr."""
    for warning in warnings:
        say(f"Warning: {warning}")


def say_how_to_use(target: CalibrationTarget) -> None:
    """The files that were written, and the commands that take them."""
    path = target.market_path
    say(f"Wrote {path}\nand   {target.report_path}")
    pasted = shlex.quote(str(path))
    say(f"Use it by its path: `gaelp market tune {pasted}`, then `gaelp market compare -m {pasted}`,")
    say(f"and in a run `--set market.name={path}`.")


def calibration_target(name: str, out: Path | None, *, force: bool) -> CalibrationTarget:
    """The files to write; names and folders are checked before any data are read."""
    called = check_name(name, "--name")
    if called.endswith((".yaml", ".yml")):
        raise BadInput(f"--name: saw {called!r}; allowed: a name without .yaml. Leave it out, or give --out.")
    if out is None and called in names_in("markets") and not force:
        raise BadInput(
            f"a market called {called!r} exists (configs/markets/{called}.yaml); allowed: a new name. Give another with"
            " --name, or --force to put this one in its place."
        )
    market_path = absolute(out or Path("configs", "markets", f"{called}.yaml"))
    _check_out(market_path, given=out is not None)
    target = CalibrationTarget(called, market_path, market_path.with_suffix(".report.json"))
    for path in (target.market_path, target.report_path):
        check_target(path, replace=force)
    return target


def _check_out(path: Path, *, given: bool) -> None:
    if path.suffix != ".yaml":
        raise BadInput(f"--out: saw {path.name!r}; allowed: a file that ends in .yaml. Rename it.")
    if given:
        check_folder("--out", path)


def check_folder(option: str, path: Path) -> None:
    """Refuse a file in a folder that does not exist."""
    if not path.parent.is_dir():
        raise BadInput(f"{option}: the folder {path.parent} does not exist; allowed: one that does. Make it first.")


def show_calibration(report: CalibrationReport) -> None:
    """The table of statistics, what was kept of the base market and why, and the notes."""
    rows = [
        (
            result.statistic,
            "-" if result.value is None else short_number(result.value),
            _interval(result.interval_low, result.interval_high),
            f"log ({result.observations:,})" if result.source == "log" else "base market",
        )
        for result in report.results
    ]
    show_table(("statistic", "value", "95% interval", "source (observations)"), rows)
    by_reason: dict[str, list[str]] = {}
    for kept in report.kept:
        value = "" if kept.default is None else f" at the base market's {short_number(kept.default, 6)}"
        by_reason.setdefault(kept.reason, []).append(f"{kept.statistic}{value}")
    for reason, statistics in by_reason.items():
        show_paragraph(f"kept {', '.join(statistics)}: {reason}", "  ")
    for note in report.notes:
        show_paragraph(f"note: {note}", "  ")


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{short_number(low)} .. {short_number(high)}"
