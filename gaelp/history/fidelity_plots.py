"""Pictures of a fidelity check, as PNG: campaign-days, the profile of the week, and the largest gaps."""

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, PercentFormatter, StrMethodFormatter

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
    """Spend and clicks: all campaigns by day, with the market's 95% range over copies, and every campaign-day."""
    figure = Figure(figsize=(8, 6.4), dpi=_DPI, layout="constrained")
    for place, (name, scale, unit) in enumerate((("spend_micros", 1e6, "spend"), ("clicks", 1.0, "clicks"))):
        logged = window.by_day(getattr(window, name)).sum(axis=1) / scale  # (N, D)
        copies = window.by_day(np.asarray(getattr(played, name), float)).sum(axis=2) / scale  # (R, N, D)
        _draw_days(figure.add_subplot(2, 2, place + 1), logged.sum(axis=0), copies.sum(axis=1), unit)
        _draw_pairs(figure.add_subplot(2, 2, place + 3), logged.ravel(), copies.mean(axis=0).ravel(), unit)
    return _png(figure)


def _draw_days(axes: Axes, logged: Floats, copies: Floats, unit: str) -> None:
    """Totals of all campaigns: log (D,), and copies of the market (R, D)."""
    days = np.arange(1, len(logged) + 1)
    low, high = np.quantile(copies, [0.025, 0.975], axis=0)
    axes.fill_between(days, low, high, color=_MARKET, alpha=0.2, linewidth=0, label="market, 95% of its copies")
    axes.plot(days, copies.mean(axis=0), color=_MARKET, linewidth=1.2, label="market")
    axes.plot(days, logged, color=_LOG, linewidth=1.2, marker="o", markersize=3, label="log")
    axes.set_ylim(0, 1.15 * max(float(high.max()), float(logged.max()), 1e-9))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("day of the window", fontsize=9)
    axes.set_ylabel(f"{unit}, all campaigns", fontsize=9)
    _tidy(axes)
    axes.legend(fontsize=7, frameon=False, loc="lower left")


def _draw_pairs(axes: Axes, logged: Floats, market: Floats, unit: str) -> None:
    """Campaign-days, (N x D,) each, on scales that show small campaigns too."""
    shown = (logged > 0) & (market > 0)
    if shown.any():
        ends = [min(logged[shown].min(), market[shown].min()), max(logged[shown].max(), market[shown].max())]
        axes.plot(ends, ends, color=_LINE, linewidth=1)
    axes.scatter(logged[shown], market[shown], s=10, color=_MARKET, alpha=0.5, linewidth=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(f"logged {unit} of a campaign-day", fontsize=9)
    axes.set_ylabel(f"{unit} in the market", fontsize=9)
    _tidy(axes)


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
    axes.set_xlim(0, _WEEK_HOURS - 1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("impressions an hour, all campaigns", fontsize=9)
    _tidy(axes)
    axes.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.16))
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
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("market over log, less 1, with its interval (95% for all gaps together)", fontsize=8)
    _tidy(axes)
    return _png(figure)


def _by_week(hourly: Floats, of_week: Ints, covered: Ints) -> Floats:
    return np.asarray(np.bincount(of_week, hourly, _WEEK_HOURS) / np.maximum(covered, 1))


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=8)
    for side in ("right", "top"):
        axes.spines[side].set_visible(False)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
