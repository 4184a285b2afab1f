"""Bugs to plant one by one: in a copy of the tree, replace `old` by `new` in `file`; the named test must then fail.

`old` occurs exactly once in its file. The list is data, for whatever runs it.
"""

from typing import NamedTuple


class PlantedBug(NamedTuple):
    """One bug and the test that must catch it."""

    name: str
    file: str
    old: str
    new: str
    test: str


PLANTED = (
    PlantedBug(
        "a worst case rounds down",
        "gaelp/budget/platform_budget.py",
        "return -(-micros * percent // 100)",
        "return micros * percent // 100",
        "tests/budget/test_platform_budget.py::test_the_worst_day_is_the_platforms_factor_rounded_up",
    ),
    PlantedBug(
        "a lowered budget frees its reservation on the same day",
        "gaelp/budget/platform_budget.py",
        "needed = max(day_worst_micros(new.daily_micros, new.terms), reserved)",
        "needed = day_worst_micros(new.daily_micros, new.terms)",
        "tests/budget/test_platform_budget.py::"
        "test_a_raised_budget_reserves_the_difference_and_a_lowered_one_frees_nothing_today",
    ),
    PlantedBug(
        "the cap may be exceeded by one",
        "gaelp/budget/platform_budget.py",
        "if beside + needed > _require_micros(cap_micros):",
        "if beside + needed > _require_micros(cap_micros) + 1:",
        "tests/budget/test_platform_budget.py::test_the_last_micro_of_a_cap_may_be_used_and_not_one_more",
    ),
    PlantedBug(
        "a budget is not rounded down to the platform's step",
        "gaelp/budget/platform_budget.py",
        "return exact - exact % terms.step_micros",
        "return exact",
        "tests/budget/test_platform_budget.py::test_the_largest_budget_fits_its_cap_and_the_next_one_does_not",
    ),
    PlantedBug(
        "every day has 24 hours",
        "gaelp/budget/pacing.py",
        "start, end = (midnight.astimezone(UTC) for midnight in midnights)",
        "start = next(midnights).astimezone(UTC)\n    end = start + timedelta(hours=24)",
        "tests/budget/test_pacing.py::test_a_day_whose_clocks_change_still_has_exactly_its_whole_plan",
    ),
    PlantedBug(
        "a limit that is met exactly is a breach",
        "gaelp/checks/limit.py",
        '    "at_most": operator.le,',
        '    "at_most": operator.lt,',
        "tests/budget/test_rule_judge.py::test_a_limit_that_is_met_exactly_is_kept",
    ),
    PlantedBug(
        "percentages are taken in floats",
        "gaelp/budget/rule_judge.py",
        "return value * 100, limit * percent",
        "return Fraction(float(value)), Fraction(limit * (percent / 100))",
        "tests/budget/test_rule_judge.py::test_a_percentage_of_a_cap_is_compared_to_the_micro",
    ),
    PlantedBug(
        "a figure that is missing is allowed",
        "gaelp/budget/rule_judge.py",
        "            return rule.unknown, True, doubt",
        '            return "allow", True, doubt',
        "tests/budget/test_rule_judge.py::test_a_figure_that_is_not_there_never_allows",
    ),
    PlantedBug(
        "NaN passes as a number",
        "gaelp/budget/rule_judge.py",
        "if not -_LARGEST <= reading.value <= _LARGEST:",
        "if reading.value > _LARGEST or reading.value < -_LARGEST:",
        "tests/budget/test_rule_judge.py::test_whatever_is_wrong_with_any_figure_never_allows",
    ),
    PlantedBug(
        "old figures are good enough",
        "gaelp/budget/rule_judge.py",
        "if age > rule.maximum_age:",
        "if age > 10 * rule.maximum_age:",
        "tests/budget/test_rule_judge.py::test_whatever_is_wrong_with_any_figure_never_allows",
    ),
    PlantedBug(
        "hold wins over kill",
        "gaelp/budget/rule_judge.py",
        '_ORDER: tuple[RuleDecision, ...] = ("allow", "hold", "kill")',
        '_ORDER: tuple[RuleDecision, ...] = ("allow", "kill", "hold")',
        "tests/budget/test_rule_judge.py::test_kill_wins_over_hold_over_allow_and_nothing_at_all_holds",
    ),
    PlantedBug(
        "a point widens its own yardstick",
        "gaelp/budget/anomaly.py",
        "        score = robust_z(",
        "        self._points.append(point)\n        score = robust_z(",
        "tests/budget/test_anomaly.py::test_a_point_is_no_part_of_its_own_yardstick",
    ),
    PlantedBug(
        "the scale has no floor",
        "gaelp/checks/robust_score.py",
        "max(spread, scale_floor, ",
        "max(spread, 1e-9, ",
        "tests/budget/test_anomaly.py::test_a_calm_history_makes_no_alarm_of_a_ripple",
    ),
    PlantedBug(
        "the newest money counts as evidence of a bad return",
        "gaelp/budget/hours.py",
        "_MATURING_HOURS = 24",
        "_MATURING_HOURS = 0",
        "tests/budget/test_hours.py::test_money_of_the_last_day_is_no_evidence_yet",
    ),
    PlantedBug(
        "a violation can be resolved again",
        "gaelp/budget/violations.py",
        "            if (before := violation.resolution) is not None:",
        "            if (before := violation.resolution) is not None and violation.id < 0:",
        "tests/budget/test_violations.py::test_the_first_resolution_is_final",
    ),
    PlantedBug(
        "violations can be deleted",
        "gaelp/database/append_only.py",
        'for change in ("UPDATE", "DELETE"):',
        'for change in ("UPDATE",):',
        "tests/budget/test_violations.py::test_the_database_itself_refuses_to_change_what_was_written",
    ),
    PlantedBug(
        "the rate limit holds back critical alerts",
        "gaelp/observability/alerts.py",
        'if self._over_rate(state, now) and alert.severity != "critical":',
        "if self._over_rate(state, now):",
        "tests/observability/test_alerts.py::test_a_critical_alert_is_never_held_back_by_the_rate",
    ),
    PlantedBug(
        "an alert nobody got counts as sent",
        "gaelp/observability/alerts.py",
        '        if delivery.outcome == "sent":\n            self._forget(state, now)',
        "        if True:\n            self._forget(state, now)",
        "tests/observability/test_alerts.py::test_an_alert_that_reached_nobody_is_no_duplicate_the_next_time",
    ),
    PlantedBug(
        "a redirect is followed",
        "gaelp/observability/alert_channels.py",
        "follow_redirects=False",
        "follow_redirects=True",
        "tests/observability/test_alert_channels.py::test_a_refusal_or_a_redirect_is_not_tried_again",
    ),
    PlantedBug(
        "an unreadable kill switch counts as running",
        "gaelp/observability/metrics.py",
        'float(state != "running")',
        'float(state == "stopped")',
        "tests/observability/test_metrics.py::test_only_a_switch_known_to_be_open_counts_as_running",
    ),
)
