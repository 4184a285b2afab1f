"""A day of a release: exposure and budgets follow from what was reported of the days before, and nothing else."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from gaelp.content import Creative
from gaelp.gates.lift_test import LiftPlan
from gaelp.market.spec import DelaySpec
from gaelp.pilot.late_value import LateValue, Refunds
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.release.assignment import treated_days
from gaelp.release.budget_rules import BudgetRules, next_budgets
from gaelp.release.day_judge import ReleaseJudge, days_of_release
from gaelp.release.exposure import ExposureState, plan_exposure
from gaelp.release.exposure_checks import CheckLimits
from gaelp.release.pairs import PairRules
from gaelp.release.release_controller import DaysBefore
from gaelp.release.service_counts import DecisionCounts

DOLLAR = 1_000_000
DAILY = 50 * DOLLAR
NAMES = tuple(f"campaign-{number}" for number in range(8))
FIRST_DAY = date(2026, 3, 2)
PLAN = plan_exposure(
    "blue_green",
    CheckLimits(loss_cap_micros=10**12),
    lift_lower_min=0.15,
    step_days=2,
    pairs_min=20,
    hold_deadline_days=60,
)
PROMOTED = ExposureState(step=2, since_day=20, ended="promoted")
RULES = BudgetRules(raise_percent=20, raised_daily_micros=2 * DAILY, step_micros=10_000, lift_lower_min=0.15)
SOON = DelaySpec(mean_hours=1.0, window_hours=720)


def campaigns():
    advert = Creative(id="advert", headline="Shoes that fit")
    return PilotPlan(
        name="run-scale",
        account="1",
        currency="USD",
        time_zone="UTC",
        model_hash="a" * 64,
        campaigns=[
            PilotCampaign(
                name=name,
                logged_as=f"logged-{name}",
                daily_micros=DAILY,
                conversion_value_micros=20 * DOLLAR,
                targets=("topic",),
                reference_bids_micros=(DOLLAR,),
                creative=advert,
            )
            for name in NAMES
        ],
        first_day=FIRST_DAY,
        days=80,
        settle_days=0,
        reach=3.0,
        bid_ceiling_micros=5 * DOLLAR,
        loss_cap_micros=10**12,
        raise_percent=20,
        raised_daily_micros=2 * DAILY,
    )


def history(days, *, lift=0.8, percent=50.0, daily=DAILY):
    """`days` at this exposure; the agent returns 2 x (1 + lift) for each dollar, the control 2."""
    treated = treated_days("key", NAMES, [percent] * days) if days else np.zeros((0, len(NAMES)), bool)
    spend = np.full((days, len(NAMES)), 48 * DOLLAR)
    value = (spend * np.where(treated, 2.0 * (1 + lift), 2.0)).astype(np.int64)
    by_hour = [np.repeat(array // 24, 24, axis=0)[:, :, None] for array in (value, spend)]
    seen = SimpleNamespace(value_micros=by_hour[0], cost_micros=by_hour[1], until=24 * days)
    return seen, DaysBefore(treated, np.ones(days, bool), np.full((days, len(NAMES)), daily))


def judge(seen, days, *, refunds=None, allowed=2 * DAILY):
    return ReleaseJudge(
        campaigns=campaigns(),
        exposure=PLAN,
        rules=PairRules(unit_micros=25 * DOLLAR, age_days_min=0),
        lift=LiftPlan(alpha=0.05, minimum=20, clip_at=50),
        late=LateValue(delay=SOON, shortest=SOON, longest=SOON, refunds=refunds),
        reported=lambda: seen,
        known_at=lambda _: datetime(2026, 3, 2, tzinfo=UTC) + timedelta(days=days),
        violations=lambda: (),
        next_budgets=partial(next_budgets, RULES, allowed_micros=lambda: np.full(len(NAMES), allowed)),
    )


def decide(days=60, state=PROMOTED, **more):
    own = {name: more.pop(name) for name in ("refunds", "allowed") if name in more}
    seen, before = history(days, **more)
    return judge(seen, days, **own)(days, before, state)


def test_after_the_promotion_budgets_rise_with_their_reasons():
    decided = decide()
    assert decided.daily_micros.tolist() == [60 * DOLLAR] * len(NAMES)
    assert all(each.return_lower > 1 for each in decided.budgets.campaigns)


def test_before_the_promotion_the_first_budgets_stay():
    decided = decide(state=ExposureState(step=1, since_day=59))
    assert decided.daily_micros.tolist() == [DAILY] * len(NAMES)


def test_a_rollback_returns_raised_budgets_on_the_same_day():
    decided = decide(lift=-0.6, daily=90 * DOLLAR)
    assert decided.exposure.outcome == "roll_back"
    assert decided.daily_micros.tolist() == [DAILY] * len(NAMES)


def test_the_first_day_has_the_budgets_of_the_plan():
    decided = decide(days=0, state=ExposureState())
    assert decided.daily_micros.tolist() == [DAILY] * len(NAMES)


def test_refunds_that_the_platform_never_learns_of_count_against_a_raise():
    refunds = Refunds(share=0.6, share_low=0.5, share_high=0.75, delay=SOON)
    decided = decide(refunds=refunds)
    assert (decided.daily_micros <= DAILY).all()
    assert decided.budgets.campaigns[0].return_value == pytest.approx(3.6 * 0.25, rel=0.15)


def test_hours_that_are_not_reported_yet_do_not_look_like_an_unused_budget():
    seen, before = history(60)
    seen.until = 24 * 59 + 3
    seen.cost_micros[24 * 59 + 3 :] = seen.value_micros[24 * 59 + 3 :] = 0
    decided = judge(seen, 60)(60, before, PROMOTED)
    assert decided.budgets.campaigns[0].used_share == pytest.approx(0.96, abs=0.001)


def test_the_mandate_of_the_day_limits_a_raise():
    assert decide(allowed=52 * DOLLAR).daily_micros.tolist() == [52 * DOLLAR] * len(NAMES)


# Figures that were read some days ago

READ_BEGIN = datetime(2026, 11, 2, tzinfo=UTC)
READ_DELAY = DelaySpec(mean_hours=24.0, window_hours=720)
READ_LATE = LateValue(delay=READ_DELAY, shortest=READ_DELAY, longest=READ_DELAY)
READ_DAYS, READ_CAMPAIGNS = 12, 4
READ_TREATED = np.tile([[True, False] * 2, [False, True] * 2], (READ_DAYS // 2, 1))
READ_BEFORE = DaysBefore(READ_TREATED, np.ones(READ_DAYS, bool), np.full((READ_DAYS, READ_CAMPAIGNS), 10_000_000))


def judge_reading(known_at, *, violations=(), age_days_min=4):
    hours = np.zeros((24 * READ_DAYS, READ_CAMPAIGNS, 1), np.int64)
    hours[::24] = 5_000_000
    seen = SimpleNamespace(value_micros=2 * hours, cost_micros=hours, until=len(hours))
    each = SimpleNamespace(name="c", daily_micros=10_000_000, conversion_value_micros=5_000_000)
    campaigns = SimpleNamespace(campaigns=[each] * READ_CAMPAIGNS, first_day=READ_BEGIN.date(), time_zone="UTC")
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
        late=READ_LATE,
        reported=lambda: seen,
        known_at=known_at,
        violations=lambda: violations,
    )


def pairs_of(decided):
    return max(finding.figures.get("pairs", 0) for finding in decided.exposure.findings)


def test_days_count_from_the_age_at_which_their_figures_were_read():
    now, read = READ_BEGIN + timedelta(days=READ_DAYS), READ_BEGIN + timedelta(days=READ_DAYS - 4)
    state = ExposureState(step=1)
    fresh = judge_reading(lambda end: now)(READ_DAYS, READ_BEFORE, state)
    stale = judge_reading(lambda end: max(read, min(now, end)))(READ_DAYS, READ_BEFORE, state)
    assert pairs_of(fresh) == READ_CAMPAIGNS * (READ_DAYS - 4) // 2
    assert pairs_of(stale) == READ_CAMPAIGNS * (READ_DAYS - 8) // 2


def test_what_is_missing_is_added_by_the_age_of_each_days_figures():
    dates = (date(2026, 11, 2), date(2026, 11, 3))
    before = DaysBefore(READ_TREATED[:2], np.ones(2, bool), READ_BEFORE.daily_micros[:2])
    figures = np.full((2, READ_CAMPAIGNS), 1_000_000)
    at = (READ_BEGIN + timedelta(days=10), READ_BEGIN + timedelta(days=2))
    days = days_of_release(figures, figures, before, late=READ_LATE, dates=dates, as_of=at, time_zone="UTC")
    assert days.known_share[0] == pytest.approx(1, abs=0.01)
    assert days.known_share[1] < 0.6


# Within a day, and what is counted since the last check


def within_a_day(*, spent, value=0, cap=10**12, **more):
    """Day 2 after 6 hours in which every campaign spent and earned so much; the agent has half of them."""
    seen, before = history(3, lift=0.0)
    for array, amount in ((seen.cost_micros, spent), (seen.value_micros, value)):
        array[48:] = 0
        array[48:54] = amount // 6
    seen.until = 54
    made = judge(seen, 2)
    limits = CheckLimits(loss_cap_micros=cap)
    made = replace(made, exposure=PLAN.model_copy(update={"limits": limits}), **more)
    return made.check_money(2, before, ExposureState(step=1, since_day=0))


def test_a_quiet_day_goes_on():
    assert within_a_day(spent=12 * DOLLAR, value=24 * DOLLAR) is None


def test_a_day_that_costs_more_than_twice_its_budget_is_aborted_before_it_is_over():
    decided = within_a_day(spent=2 * DAILY + 6 * DOLLAR)
    assert [finding.check for finding in decided.exposure.findings] == ["cost-spike"]
    assert decided.exposure.percent == 0
    assert decided.daily_micros.tolist() == [DAILY] * len(NAMES)


@pytest.mark.parametrize(
    ("more", "check"),
    [({"stopped": lambda: "ann: enough"}, "stopped"), ({"violations": lambda: ("a cap was passed",)}, "violations")],
)
def test_a_stop_or_a_violation_aborts_at_once(more, check):
    decided = within_a_day(spent=DOLLAR, **more)
    assert [finding.check for finding in decided.exposure.findings] == [check]


def test_errors_since_the_last_check_are_counted_and_roll_back_after_three_such_checks():
    asked = []

    def service(first, last):
        asked.append((first, last))
        return DecisionCounts(100, 8)

    seen, before = history(4, lift=0.0)
    before = replace(before, decided=np.array([True, True, False, False]))
    made = replace(judge(seen, 4), service=service)
    decided = made(4, before, ExposureState(step=1, since_day=0, error_streak=2))
    assert asked == [(24, 96)]  # nobody decided on the two days before
    assert [finding.check for finding in decided.exposure.findings] == ["errors"]
    assert decided.exposure.outcome == "roll_back"
