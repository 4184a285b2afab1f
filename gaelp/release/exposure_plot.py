"""A picture of a release: exposure day by day, and the bounds of the lift as they narrow."""

import io
from collections.abc import Sequence

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.figure import Figure

__all__ = ["exposure_png"]

_BLUE, _GREY, _GREEN = "#1f5fa8", "#8a8f98", "#2c7a3f"
_LEAST, _MOST = -0.5, 1.5  # bounds beyond are cut off: early ones are far outside


def exposure_png(
    days: Sequence[int],
    percent: Sequence[float],
    lift: Sequence[tuple[float, float, float] | None],
    *,
    threshold: float,
) -> bytes:
    """Draw a release: for each day its exposure, and the lift with its two bounds where they were known."""
    figure = Figure(figsize=(8, 4.6), dpi=110, layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1, 2))
    shown = [day + 1 for day in days]
    above.step(shown, percent, where="post", color=_BLUE)
    above.fill_between(shown, percent, step="post", color=_BLUE, alpha=0.15)
    above.set(ylim=(0, 105), ylabel="exposure, %")
    known = [(day, *bounds) for day, bounds in zip(shown, lift, strict=True) if bounds is not None]
    if known:
        at, value, low, high = zip(*known, strict=True)
        cut = [[min(max(each, _LEAST), _MOST) for each in side] for side in (low, high)]
        below.fill_between(at, *cut, color=_BLUE, alpha=0.15, label="bounds, valid at every look")
        below.plot(at, value, color=_BLUE, label="lift so far")
    below.axhline(0, color=_GREY, linewidth=1)
    below.axhline(threshold, color=_GREEN, linewidth=1, linestyle="--", label=f"needed: {threshold:+.0%}")
    below.set(ylim=(_LEAST, _MOST), xlabel="day of the release", ylabel="lift in value per dollar")
    below.legend(loc="upper right", frameon=False, fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()
