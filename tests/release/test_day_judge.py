"""What a day of a release is judged by: values as they were read, and only days that were old enough then."""

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from gaelp.gates.lift_test import LiftPlan
from gaelp.market.spec import DelaySpec
from gaelp.pilot.late_value import LateValue
from gaelp.release.day_judge import ReleaseJudge, days_of_release
from gaelp.release.exposure import ExposureState, plan_exposure
from gaelp.release.exposure_checks import CheckLimits
from gaelp.release.pairs import PairRules
from gaelp.release.release_controller import DaysBefore

BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
DELAY = DelaySpec(mean_hours=24.0, window_hours=720)
LATE = LateValue(delay=DELAY, shortest=DELAY, longest=DELAY)
DAYS, CAMPAIGNS = 12, 4
TREATED = np.tile([[True, False] * 2, [False, True] * 2], (DAYS // 2, 1))
BEFORE = DaysBefore(TREATED, np.ones(DAYS, bool), np.full((DAYS, CAMPAIGNS), 10_000_000))


def judge(known_at, *, violations=(), age_days_min=4):
    hours = np.zeros((24 * DAYS, CAMPAIGNS, 1), np.int64)
    hours[::24] = 5_000_000
    seen = SimpleNamespace(value_micros=2 * hours, cost_micros=hours)
    campaigns = SimpleNamespace(
        campaigns=[SimpleNamespace(daily_micros=10_000_000)] * CAMPAIGNS, first_day=BEGIN.date(), time_zone="UTC"
    )
    return ReleaseJudge(
        campaigns=campaigns,
        exposure=plan_exposure(
            "blue_green",
            CheckLimits(loss_cap_micros=10**9),
            lift_lower_min=0.15,
            step_days=2,
            pairs_min=2,
            hold_deadline_days=60,
        ),
        rules=PairRules(unit_micros=1_000_000, age_days_min=age_days_min),
        lift=LiftPlan(alpha=0.05, minimum=2, clip_at=50.0),
        late=LATE,
        seen=lambda: seen,
        known_at=known_at,
        violations=lambda: violations,
    )


def pairs_of(decided):
    return max(finding.figures.get("pairs", 0) for finding in decided.exposure.findings)


def test_days_count_from_the_age_at_which_their_figures_were_read():
    now, read = BEGIN + timedelta(days=DAYS), BEGIN + timedelta(days=DAYS - 4)
    state = ExposureState(step=1)
    fresh = judge(lambda end: now)(DAYS, BEFORE, state)
    stale = judge(lambda end: max(read, min(now, end)))(DAYS, BEFORE, state)
    assert pairs_of(fresh) == CAMPAIGNS * (DAYS - 4) // 2
    assert pairs_of(stale) == CAMPAIGNS * (DAYS - 8) // 2


def test_what_is_missing_is_added_by_the_age_of_each_days_figures():
    dates = (date(2026, 11, 2), date(2026, 11, 3))
    before = DaysBefore(TREATED[:2], np.ones(2, bool), BEFORE.daily_micros[:2])
    figures = np.full((2, CAMPAIGNS), 1_000_000)
    at = (BEGIN + timedelta(days=10), BEGIN + timedelta(days=2))
    days = days_of_release(figures, figures, before, late=LATE, dates=dates, as_of=at, time_zone="UTC")
    assert days.known_share[0] == pytest.approx(1, abs=0.01)
    assert days.known_share[1] < 0.6


def test_a_violation_ends_it_and_budgets_return_to_the_first_ones():
    raised = DaysBefore(TREATED, BEFORE.decided, BEFORE.daily_micros * 2)
    decided = judge(lambda end: end, violations=("an order that nobody placed",))(DAYS, raised, ExposureState(step=1))
    assert decided.exposure.outcome == "abort"
    assert decided.daily_micros.tolist() == [10_000_000] * CAMPAIGNS
