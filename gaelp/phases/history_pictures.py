"""The pictures of phase 2: written when the market was compared with the log, and shown beside the verdict."""

from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.gates.verdict_context import Picture
from gaelp.history.fidelity_report import FidelityReport
from gaelp.phases.run_folder import PhaseFolder

if TYPE_CHECKING:  # pictures are read where no market is played
    from gaelp.history.fidelity import AccountPlay

__all__ = ["read_pictures", "write_pictures"]

_DAYS = (
    "All campaigns together above, every campaign-day as a dot below. A market that is right follows the log's line,"
    " and its dots scatter evenly around the diagonal."
)
# File, title and what to look for, in the order of the page.
_PICTURES = (
    ("fidelity-days.png", "Spend and clicks by day: log and market", _DAYS),
    (
        "fidelity-week.png",
        "Impressions by hour of the week: log and market",
        "Where the log stays outside the band for hours on end, the market has the wrong weekly rhythm.",
    ),
    (
        "fidelity-gaps.png",
        "What the market gets wrong, the surest first",
        "Red: more than chance explains, with the length of the list allowed for.",
    ),
)


def write_pictures(folder: PhaseFolder, report: FidelityReport, play: "AccountPlay") -> None:
    """Draw the comparison of market and log into the attempt's folder."""
    from gaelp.history.fidelity_plots import days_png, gaps_png, week_png  # noqa: PLC0415 - matplotlib takes a second

    drawn = (days_png(play.window, play.played), week_png(play.window, play.played), gaps_png(report))
    folder.path.mkdir(parents=True, exist_ok=True)
    for (name, _, _), png in zip(_PICTURES, drawn, strict=True):
        _file(folder, name).write_bytes(png)


def read_pictures(folder: PhaseFolder) -> tuple[Picture, ...]:
    """Those that are there: an attempt of an earlier release has none."""
    return tuple(
        Picture(title=title, text=text, png=_file(folder, name).read_bytes())
        for name, title, text in _PICTURES
        if _file(folder, name).exists()
    )


def _file(folder: PhaseFolder, name: str) -> Path:
    return folder.path / name
