"""What a pilot returned: campaigns are clusters, value still to come is included, and a streak means something."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gaelp.bench.pilot_coverage import POPULATIONS, too_high_share
from gaelp.errors import DataError
from gaelp.market.spec import DelaySpec
from gaelp.pilot.late_value import LateValue, Refunds
from gaelp.pilot.pilot_metrics import SPAN_CONVERSIONS, Holdout, cut_spans, measure_pilot, pooled_roi


@pytest.fixture
def measure(pilot_cases):
    def measured(figures, expected=None, late=None, **options):
        given = {"time_zone": "America/New_York", "safety_violations": 0, **options}
        return measure_pilot(figures, expected or pilot_cases.expectation(), late or pilot_cases.SETTLED, **given)

    return measured


def test_roi_is_all_value_over_all_spend_whatever_campaigns_it_comes_from(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    value[:, 0] *= 3
    figures = pilot_cases.pilot_figures(value)
    found = measure(figures)
    assert found.roi == pytest.approx(value.sum() / figures.spend_micros.sum() - 1)
    assert found.roi_lower_95 < found.roi < found.roi_upper_95
    assert found.campaigns == pilot_cases.CAMPAIGNS


def test_days_of_one_campaign_share_luck_so_more_of_them_do_not_narrow_the_interval(measure, pilot_cases):
    short = measure(pilot_cases.pilot_figures(pilot_cases.steady_value(0.3, 0.4, days=14)))
    long = measure(pilot_cases.pilot_figures(pilot_cases.steady_value(0.3, 0.4, days=28)))
    assert long.roi_lower_95 == pytest.approx(short.roi_lower_95)
    more = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3, 0.4, campaigns=40))
    assert measure(more, pilot_cases.expectation(campaigns=40)).roi_lower_95 > short.roi_lower_95


def test_campaigns_that_spent_nothing_and_pilots_without_a_sale_prove_nothing(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    spend = np.full(value.shape, pilot_cases.SPEND_MICROS)
    spend[:, 4:] = value[:, 4:] = 0
    assert measure(pilot_cases.pilot_figures(value, spend)).campaigns == 4
    assert measure(pilot_cases.pilot_figures(0 * value)).roi_lower_95 == -1
    assert pooled_roi(np.array([5.0]), np.array([2.0])).lower_95 == -1
    with pytest.raises(DataError, match="spent nothing"):
        measure(pilot_cases.pilot_figures(value, 0 * spend))


@pytest.mark.parametrize("campaigns", [12, 30])
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_lower_bound_is_honest_with_few_campaigns_and_heavy_tails(campaigns, name):
    too_high = too_high_share(POPULATIONS[name], 600, campaigns, np.random.default_rng([5, campaigns]))
    assert too_high <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 600)  # nominal, and the chance of this test


LATE = DelaySpec(mean_hours=72.0, window_hours=720)
WAITING = LateValue(
    delay=LATE,
    shortest=LATE.model_copy(update={"mean_hours": 48.0}),
    longest=LATE.model_copy(update={"mean_hours": 96.0}),
)


def seen_by(value, as_of, pilot_cases, delay=LATE):
    """What is known at a moment of value whose conversions arrive late."""
    known = LateValue(delay=delay, shortest=delay, longest=delay).known(
        pilot_cases.plan_days(), as_of, "America/New_York"
    )
    return value * known.value[:, None]


def test_conversions_still_pending_are_estimated_and_their_interval_is_part_of_the_bound(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    as_of = datetime(2026, 11, 18, 5, tzinfo=UTC)
    figures = pilot_cases.pilot_figures(seen_by(value, as_of, pilot_cases), as_of=as_of)
    found = measure(figures, late=WAITING)
    sure = measure(figures, late=LateValue(delay=LATE, shortest=LATE, longest=LATE))
    blind = measure(figures)
    assert found.roi == pytest.approx(0.3, abs=0.001)
    assert found.pending_lower_95_micros < found.pending_micros < found.pending_upper_95_micros
    assert blind.roi_lower_95 + 0.01 < found.roi_lower_95 < sure.roi_lower_95 - 0.01
    assert found.roi_upper_95 > sure.roi_upper_95
    assert blind.platform_roi == blind.roi


def test_days_of_which_less_than_half_is_known_do_not_count(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    value[-1, 0] *= 200  # a lucky early sale of the last day
    as_of = datetime(2026, 11, 16, 6, tzinfo=UTC)
    figures = pilot_cases.pilot_figures(seen_by(value, as_of, pilot_cases), as_of=as_of)
    found = measure(figures, late=WAITING)
    assert found.roi == pytest.approx(0.3, abs=0.001)
    assert len(found.spans) < len(cut_spans(pilot_cases.expectation().day_conversions))
    first_night = pilot_cases.pilot_figures(value, as_of=datetime(2026, 11, 3, 5, tzinfo=UTC))
    assert math.isnan(measure(first_night, late=WAITING).roi)


def test_value_is_that_of_the_sales_feed_and_refunds_still_to_come_are_taken_off(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    figures = pilot_cases.pilot_figures(value, sales=0.95 * value)
    found = measure(figures)
    assert (found.value_from, found.platform_roi) == ("sales feed", pytest.approx(0.3))
    assert found.roi == pytest.approx(0.95 * 1.3 - 1)
    refunds = Refunds(share=0.1, share_low=0.05, share_high=0.15, delay=DelaySpec(mean_hours=240.0, window_hours=720))
    late = pilot_cases.SETTLED.model_copy(update={"refunds": refunds})
    with_refunds = measure(figures, late=late)
    assert with_refunds.roi_lower_95 < with_refunds.roi < found.roi
    assert with_refunds.pending_micros < 0
    platform = pilot_cases.pilot_figures(value)
    assert measure(platform, late=late).roi == measure(platform).roi  # the platform never learns of refunds


def test_spans_have_the_conversions_that_the_plan_expected_whatever_came_of_it():
    spans = cut_spans(np.full(14, 25.0), 100.0)
    assert spans == [range(4), range(4, 8), range(8, 14)]
    assert cut_spans(np.full(14, 5.0), 100.0) == []
    assert cut_spans(np.full(3, 150.0), 100.0) == [range(1), range(1, 2), range(2, 3)]
    assert SPAN_CONVERSIONS == 100


def test_the_streak_counts_the_latest_spans_and_a_bad_end_resets_it(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    assert measure(pilot_cases.pilot_figures(value)).positive_roi_streak == 3
    bad_start, bad_end = value.copy(), value.copy()
    bad_start[:4] *= 0.5
    bad_end[8:] *= 0.5
    assert measure(pilot_cases.pilot_figures(bad_start)).positive_roi_streak == 2
    assert measure(pilot_cases.pilot_figures(bad_end)).positive_roi_streak == 0
    spans = measure(pilot_cases.pilot_figures(bad_end)).spans
    assert [span.is_positive for span in spans] == [True, True, False]
    assert all(span.expected_conversions >= SPAN_CONVERSIONS for span in spans)


def test_efficiency_is_spend_over_what_the_plan_wanted_to_spend(measure, pilot_cases):
    value = pilot_cases.steady_value(0.3)
    figures = pilot_cases.pilot_figures(value)
    wish = pilot_cases.expectation(spend=20_000_000)
    assert measure(figures, wish).budget_efficiency == pytest.approx(1.25)
    assert measure(figures, wish).wished_micros == 20_000_000 * value.size


def test_with_a_holdout_the_return_is_what_was_caused_and_says_so(measure, pilot_cases):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(0.3))
    attributed = measure(figures)
    caused = measure(figures, holdout=Holdout(caused_share=0.9, lower_95=0.7, upper_95=1.0))
    assert (attributed.label, caused.label) == ("attributed", "caused")
    assert caused.roi == pytest.approx(1.3 * 0.9 - 1)
    assert caused.roi_lower_95 == pytest.approx((1 + attributed.roi_lower_95) * 0.7 - 1)


def test_figures_of_another_plan_are_refused(measure, pilot_cases):
    with pytest.raises(DataError, match=r"the figures are of 20 campaigns .* plan expects 12"):
        measure(pilot_cases.pilot_figures(pilot_cases.steady_value()), pilot_cases.expectation(campaigns=12))


def test_a_pilot_that_ended_early_is_judged_by_the_spans_that_are_over(measure, pilot_cases):
    figures = pilot_cases.pilot_figures(pilot_cases.steady_value(days=9))
    found = measure(figures)
    assert len(found.spans) == 2
    assert found.budget_efficiency == pytest.approx(9 / 14)
    assert found.spans[-1].last_day == pilot_cases.FIRST_DAY + timedelta(days=7)
