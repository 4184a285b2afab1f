"""A verdict to look at: for each rule the metric, the bound that was compared, and the threshold."""

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gaelp.gates.verdict import RuleResult, Verdict

__all__ = ["as_png"]

_COLOURS = {"pass": "#2e7d32", "fail": "#c62828", "inconclusive": "#b26a00"}
_ROW_INCHES = 0.55
_DRAWN_BELOW = 1e9  # what is larger was never measured, and no axis could show it beside a threshold


def as_png(verdict: Verdict) -> bytes:
    """One row for each rule, each on a scale of its own; colours: green holds, red fails, amber has too little data."""
    figure = Figure(figsize=(8, 0.8 + _ROW_INCHES * len(verdict.results)), dpi=110, layout="constrained")
    axes = figure.subplots(len(verdict.results), 1, squeeze=False)[:, 0]
    for place, result in zip(axes, verdict.results, strict=True):
        _draw(place, result)
    figure.suptitle(f"Gate {verdict.gate.name}: {verdict.outcome}", fontsize=11)
    image = io.BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _draw(place: "object", result: RuleResult) -> None:
    if not isinstance(place, Axes):
        raise TypeError(f"cannot draw on a {type(place).__name__}")
    colour, rule = _COLOURS[result.outcome], result.criterion
    seen = [figure for figure in (result.value, result.compared) if figure is not None and abs(figure) < _DRAWN_BELOW]
    place.axvline(rule.threshold, color="#444444", linestyle="--", linewidth=1)
    if seen:
        place.plot(seen, [0] * len(seen), color=colour, linewidth=2)
        place.plot(seen[:1], [0], "o", color=colour, markersize=7)
        place.plot(seen[-1:], [0], "|", color=colour, markersize=12, markeredgewidth=2)
    lowest, highest = min([*seen, rule.threshold]), max([*seen, rule.threshold])
    margin = 0.25 * (highest - lowest) or 0.1 * abs(rule.threshold) or 0.1
    place.set_xlim(lowest - margin, highest + margin)
    place.set_ylim(-1, 1)
    place.set_yticks([])
    place.tick_params(labelsize=7)
    place.set_ylabel(f"{rule.metric}\n{result.outcome}", rotation=0, ha="right", va="center", fontsize=8, color=colour)
    for side in ("left", "right", "top"):
        place.spines[side].set_visible(False)
