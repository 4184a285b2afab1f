"""The pictures of a verdict show whole intervals, the threshold and zero, whatever the evidence holds."""

import math

import pytest
from matplotlib.figure import Figure

from gaelp.gates import judge, load_gate
from gaelp.gates.metrics import RANGES
from gaelp.gates.verdict_context import CurvePoint, LearningCurve
from gaelp.gates.verdict_plot import curve_png, draw_rule

GATE = load_gate("simulation")


@pytest.fixture
def drawn(passing, now):
    """The axes of the first rule, for figures of its reward."""

    def draw(**reward):
        figures = passing(GATE).metrics | {f"reward{end}": figure for end, figure in reward.items()}
        verdict = judge(GATE, passing(GATE, metrics=figures), now)
        axes = Figure().subplots()
        draw_rule(axes, verdict, verdict.results[0])
        return axes

    return draw


def lines(axes):
    return [tuple(line.get_xdata()) for line in axes.lines]


@pytest.mark.parametrize(("lower", "value", "upper"), [(0.6, 0.9, 0.95), (-3.0, -1.0, 0.2), (0.71, 0.72, 0.73)])
def test_the_whole_interval_the_threshold_and_zero_are_inside_the_axis(drawn, lower, value, upper):
    axes = drawn(**{"": value, "_lower_95": lower, "_upper_95": upper})
    left, right = axes.get_xlim()
    assert left < min(lower, 0, 0.7)
    assert max(upper, 0.7) < right
    assert {(value, lower), (value, upper), (0.7, 0.7), (0, 0)} <= set(lines(axes))


def test_the_threshold_the_outcome_the_figures_and_the_unit_are_written(drawn):
    axes = drawn(**{"": 0.9, "_lower_95": 0.6, "_upper_95": 0.95})
    assert [text.get_text().strip() for text in axes.texts] == ["lower bound at least 0.7"]
    assert axes.get_title("left") == "reward: fail"
    assert axes.get_title("right") == "0.9 (0.6 .. 0.95)"
    assert axes.get_xlabel() == RANGES["reward"].unit


def test_an_endless_interval_reaches_the_edge(drawn):
    axes = drawn(**{"": 0.9, "_lower_95": 0.8, "_upper_95": math.inf})
    assert (0.9, axes.get_xlim()[1]) in lines(axes)


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e308])
def test_a_figure_that_was_never_measured_is_not_drawn(drawn, value):
    axes = drawn(**{"": value, "_lower_95": 0.8, "_upper_95": 0.9})
    assert lines(axes) == [(0, 0), (0.7, 0.7)]


def test_every_metric_has_a_unit():
    assert not [metric for metric, possible in RANGES.items() if not possible.unit]


@pytest.mark.parametrize("chosen", [None, 2])
@pytest.mark.parametrize("zero", [None, "no better than mpc"])
def test_a_learning_curve_is_a_picture_however_short_it_is(zero, chosen):
    point = CurvePoint(round=2, value=0.1, lower_95=-0.1, upper_95=0.3)
    for points in ((point,), (point, point.model_copy(update={"round": 4}))):
        curve = LearningCurve(measure="Lead", zero=zero, points=points, chosen_round=chosen)
        assert curve_png(curve).startswith(b"\x89PNG")
