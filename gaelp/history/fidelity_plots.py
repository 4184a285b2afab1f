"""Pictures of a fidelity check, as PNG: campaign-days, the profile of the week, and the largest gaps."""

import io

import numpy as np
from matplotlib.figure import Figure

from gaelp.arrays import Floats, Ints
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.twin_play import PlayedHours
from gaelp.history.window_figures import WindowFigures

__all__ = ["days_png", "gaps_png", "week_png"]

_LOG, _MARKET, _LINE = "#455a64", "#1565c0", "#9e9e9e"
_DPI = 110
_WEEK_HOURS = 168
_GAPS_SHOWN = 12
_BEYOND = "#c62828"


def days_png(window: WindowFigures, played: PlayedHours) -> bytes:
    """Spend and clicks of every campaign-day: the market's mean over what was logged."""
    figure = Figure(figsize=(8, 3.8), dpi=_DPI, layout="constrained")
    for place, (name, scale, unit) in enumerate((("spend_micros", 1e6, "spend"), ("clicks", 1.0, "clicks"))):
        axes = figure.add_subplot(1, 2, place + 1)
        logged = window.by_day(getattr(window, name)).sum(axis=1).ravel() / scale
        market = window.by_day(getattr(played, name)).sum(axis=2).mean(axis=0).ravel() / scale
        highest = max(float(logged.max()), float(market.max()), 1e-9)
        axes.plot([0, highest], [0, highest], color=_LINE, linewidth=1)
        axes.scatter(logged, market, s=12, color=_MARKET, alpha=0.6)
        axes.set_xlabel(f"logged {unit} of a campaign-day", fontsize=9)
        axes.set_ylabel(f"{unit} in the market", fontsize=9)
    return _png(figure)


def week_png(window: WindowFigures, played: PlayedHours) -> bytes:
    """Impressions by hour of the week, all campaigns: log, market, and the market's 95% range over copies."""
    figure = Figure(figsize=(8, 3.0), dpi=_DPI, layout="constrained")
    axes = figure.add_subplot(1, 1, 1)
    hours = np.arange(window.impressions.shape[2])
    of_week = (window.start_hour_of_week + hours) % _WEEK_HOURS
    covered = np.bincount(of_week, minlength=_WEEK_HOURS)
    logged = _by_week(window.impressions.sum(axis=(0, 1)), of_week, covered)
    copies = np.stack([_by_week(each, of_week, covered) for each in played.impressions.sum(axis=(1, 2))])
    low, high = np.quantile(copies, [0.025, 0.975], axis=0)
    place = np.arange(_WEEK_HOURS)
    axes.fill_between(place, low, high, color=_MARKET, alpha=0.2, linewidth=0, label="market, 95% of its copies")
    axes.plot(place, copies.mean(axis=0), color=_MARKET, linewidth=1.2, label="market")
    axes.plot(place, logged, color=_LOG, linewidth=1.2, label="log")
    axes.set_xticks(range(0, _WEEK_HOURS, 24), ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
    axes.set_ylabel("impressions an hour", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    return _png(figure)


def gaps_png(report: FidelityReport) -> bytes:
    """The gaps that are surest, each with its interval; red: its interval leaves out 0."""
    gaps = report.gaps[:_GAPS_SHOWN][::-1]
    figure = Figure(figsize=(8, 0.6 + 0.32 * len(gaps)), dpi=_DPI, layout="constrained")
    axes = figure.add_subplot(1, 1, 1)
    for row, gap in enumerate(gaps):
        colour = _BEYOND if gap.beyond_chance else _LOG
        low, high = (min(max(end, -1.0), 3.0) for end in (gap.lower_95, gap.upper_95))
        axes.barh(row, min(gap.left, 3.0), color=colour, alpha=0.6, height=0.6)
        axes.plot([low, high], [row, row], color=colour, linewidth=1.2)
    axes.axvline(0, color=_LINE, linewidth=1)
    names = [f"{gap.statistic}: {gap.place or gap.scope}" for gap in gaps]
    axes.set_yticks(range(len(gaps)), names, fontsize=7)
    axes.set_xlabel("market over log, less 1, with its interval (95% for all gaps together)", fontsize=8)
    return _png(figure)


def _by_week(hourly: Floats, of_week: Ints, covered: Ints) -> Floats:
    return np.asarray(np.bincount(of_week, hourly, _WEEK_HOURS) / np.maximum(covered, 1))


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
