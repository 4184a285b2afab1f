"""Pictures of a verdict: each rule with its whole interval, threshold and zero line, and the learning curve."""

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gaelp.gates.metrics import RANGES
from gaelp.gates.verdict import RuleResult, Verdict
from gaelp.gates.verdict_context import LearningCurve
from gaelp.gates.verdict_table import Measured, asked_text, measured

__all__ = ["as_png", "curve_png", "draw_rule"]

_COLOURS = {"pass": "#2e7d32", "fail": "#c62828", "inconclusive": "#b26a00"}
_LINE = "#444444"
_ZERO = "#9e9e9e"
_CURVE = "#1565c0"
_WIDTH_INCHES, _ROW_INCHES, _DPI = 8, 1.05, 110
_MARGIN = 0.08  # of the drawn range, on both sides
_DRAWN_BELOW = 1e9  # what is larger was never measured, and no axis could show it beside a threshold


def as_png(verdict: Verdict) -> bytes:
    """One row for each rule, each on a scale of its own; colours: green holds, red fails, amber has too little data."""
    figure = _figure(0.5 + _ROW_INCHES * len(verdict.results))
    axes = figure.subplots(len(verdict.results), 1, squeeze=False)[:, 0]
    for place, result in zip(axes, verdict.results, strict=True):
        draw_rule(_as_axes(place), verdict, result)
    figure.suptitle("Dot: measured value. Bar: its 95% interval. Dashed: threshold. Grey: zero.", fontsize=9)
    return _png(figure)


def curve_png(curve: LearningCurve) -> bytes:
    """The validations by round with their 95% intervals; the checkpoint that was judged is marked."""
    figure = _figure(3.2)
    place = _as_axes(figure.subplots())
    rounds, values = [point.round for point in curve.points], [point.value for point in curve.points]
    below = [point.value - point.lower_95 for point in curve.points]
    above = [point.upper_95 - point.value for point in curve.points]
    place.errorbar(rounds, values, yerr=[below, above], color=_CURVE, marker="o", capsize=4, linewidth=1.5)
    legend = []
    if curve.zero is not None:
        place.axhline(0, color=_ZERO, linewidth=1)
        legend.append(f"grey line: {curve.zero}")
    for point in curve.points:
        if point.round == curve.chosen_round:
            place.plot([point.round], [point.value], "o", color=_CURVE, markersize=12, fillstyle="none")
            legend.append(f"circle: the checkpoint that was judged (round {point.round})")
    place.set_title("\n".join([curve.measure, "; ".join(legend)]).strip(), fontsize=9)
    place.set_xlim(0, 1.04 * max(rounds))
    place.set_xlabel("round of training", fontsize=9)
    place.xaxis.set_major_locator(MaxNLocator(integer=True))
    _tidy(place, ("right", "top"))
    return _png(figure)


def draw_rule(place: Axes, verdict: Verdict, result: RuleResult) -> None:
    """Draw one rule; everything it shows lies inside the axis."""
    colour, rule = _COLOURS[result.outcome], result.criterion
    figures = measured(verdict, rule.metric)
    drawn = [figure for figure in figures if figure is not None and abs(figure) < _DRAWN_BELOW]
    lowest, highest = min([*drawn, rule.threshold, 0.0]), max([*drawn, rule.threshold, 0.0])
    margin = _MARGIN * (highest - lowest) or 1.0
    left, right = lowest - margin, highest + margin
    place.set_xlim(left, right)
    place.axvline(0, color=_ZERO, linewidth=1)
    place.axvline(rule.threshold, color=_LINE, linestyle="--", linewidth=1)
    _draw_interval(place, figures, (left, right), colour)
    near_right = rule.threshold > (left + right) / 2
    place.annotate(
        f" {asked_text(result)} ", (rule.threshold, 0.45), ha="right" if near_right else "left", fontsize=8, color=_LINE
    )
    place.set_ylim(-0.6, 1)
    place.set_yticks([])
    unit = RANGES[rule.metric].unit if rule.metric in RANGES else ""
    place.set_title(f"{rule.metric}: {result.outcome}", loc="left", fontsize=10, fontweight="bold", color=colour)
    place.set_title(figures.text, loc="right", fontsize=9)
    place.set_xlabel(unit, fontsize=8, labelpad=1)
    _tidy(place, ("left", "right", "top"))


def _draw_interval(place: Axes, figures: Measured, limits: tuple[float, float], colour: str) -> None:
    """Draw dot and bar; an end that no axis can show is an arrow to the edge."""
    if figures.value is None or abs(figures.value) >= _DRAWN_BELOW:
        return
    for end, edge, arrow in ((figures.lower_95, limits[0], "<"), (figures.upper_95, limits[1], ">")):
        if end is None:
            continue
        at, marker = (edge, arrow) if abs(end) >= _DRAWN_BELOW else (end, "|")
        place.plot([figures.value, at], [0, 0], color=colour, linewidth=2)
        place.plot([at], [0], marker, color=colour, markersize=10, markeredgewidth=2)
    place.plot([figures.value], [0], "o", color=colour, markersize=6)


def _figure(height_inches: float) -> Figure:
    return Figure(figsize=(_WIDTH_INCHES, height_inches), dpi=_DPI, layout="constrained")


def _tidy(place: Axes, hidden: tuple[str, ...]) -> None:
    place.tick_params(labelsize=8)
    for side in hidden:
        place.spines[side].set_visible(False)


def _as_axes(place: object) -> Axes:
    if not isinstance(place, Axes):
        raise TypeError(f"cannot draw on a {type(place).__name__}")
    return place


def _png(figure: Figure) -> bytes:
    image = io.BytesIO()
    figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()
