import numpy as np
import pytest

from gaelp.history.diagnostics import SupportLimits
from gaelp.history.lift_report import report_lift
from gaelp.history.value_per_dollar import DollarColumns, logged_dollars, realised_dollars
from gaelp.history.weights import shifted_normal_weights

CLUSTERS = np.arange(4000) // 20


def log(seed=1):
    rng = np.random.default_rng(seed)
    action = 0.4 * rng.standard_normal(4000)
    spend = np.exp(0.5 * action) * rng.uniform(0.5, 1.5, 4000)
    return action, spend * rng.exponential(1, 4000), spend


def reported(weight, **options):
    _, value, spend = log()
    target, reference = realised_dollars(value, spend, weight), logged_dollars(value, spend)
    return report_lift(target, reference, weight, CLUSTERS, np.random.default_rng(2), **options)


def test_a_log_with_support_gives_figures_with_two_intervals():
    report = reported(shifted_normal_weights(log()[0], np.full(4000, -0.2), sd=0.4))
    assert report.inconclusive == ()
    assert report.lift_lower < report.lift < report.lift_upper
    assert report.bootstrap_lower == pytest.approx(report.lift_lower, abs=0.03)
    assert report.value_per_dollar / report.reference_value_per_dollar - 1 == pytest.approx(report.lift)
    assert 0 < report.chance_above_zero < 1


def test_no_figure_is_given_that_the_log_cannot_carry():
    report = reported(shifted_normal_weights(log()[0], np.full(4000, 2.0), sd=0.4))
    assert any("effective decisions" in reason for reason in report.inconclusive)
    assert report.lift is report.lift_lower is report.value_per_dollar is report.chance_above_zero is None
    assert report.diagnostics.effective_decisions < 200


def test_the_limits_are_the_callers():
    weight = shifted_normal_weights(log()[0], np.full(4000, 0.1), sd=0.4)
    assert reported(weight, limits=SupportLimits(clusters_min=201)).inconclusive
    assert reported(weight, limits=SupportLimits(clusters_min=200)).inconclusive == ()


def test_a_copy_of_the_logging_policy_is_never_above_zero():
    report = reported(np.ones(4000))
    assert (report.lift, report.lift_lower, report.lift_upper) == pytest.approx((0, 0, 0), abs=1e-12)
    assert not report.lift_lower > 0
    assert report.chance_above_zero == pytest.approx(0.5)


def test_a_value_below_zero_is_noise_and_inconclusive():
    weight = np.ones(4000)
    _, value, spend = log()
    target = DollarColumns("recalibrated", -value, spend)
    report = report_lift(target, logged_dollars(value, spend), weight, CLUSTERS, np.random.default_rng(2))
    assert any("below 0" in reason for reason in report.inconclusive)
