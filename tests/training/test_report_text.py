from gaelp.checks import Goal
from gaelp.training.monitor import MonitorSpec, PerformanceMonitor
from gaelp.training.report_text import as_text
from gaelp.training.reports import Validated
from gaelp.training.scores import Score

REWARD = Goal(metric="reward", at_least=0.7, compare="value")
LEAD = Goal(metric="lead", at_least=0.05, compare="lower_95")


def validated(values=(0.72,), *, goals=(), compared=True, best=False):
    monitor = PerformanceMonitor(MonitorSpec(), goals)
    for value in values:
        monitor.record({"reward": value, "lead_lower_95": 0.02})
    score = Score(
        mean=values[-1], lower_95=0.7, upper_95=0.8, lead=0.01, lead_lower_95=0.0, lead_upper_95=0.02, episodes=9,
        compared=compared,
    )  # fmt: skip
    return as_text(Validated(round=3, score=score, best=best, monitor=monitor.report()))


def test_a_validation_says_what_is_met_and_how_far_the_rest_is():
    unknown = Goal(metric="steadiness", at_most=3, compare="value")
    assert validated(goals=(REWARD, LEAD, unknown), best=True) == (
        "round 3: validation reward 0.7200, +0.0100 ±0.0100 against the rule, 1 of 3 goals met"
        " (to go: lead_lower_95 -0.030, steadiness unknown) *"
    )


def test_without_goals_or_a_rule_the_line_is_short():
    assert validated(compared=False) == "round 3: validation reward 0.7200"


def test_a_trend_that_is_more_than_noise_is_told_and_so_is_an_odd_reward():
    assert validated([0.1 * point for point in range(12)]).endswith("rising over 10 validations")
    assert validated([1 - 0.05 * point + 0.01 * (point % 3) for point in range(12)]).endswith(
        "falling over 10 validations"
    )
    assert validated([0.5, 0.51] * 8 + [0.1]).endswith("oddly low")
