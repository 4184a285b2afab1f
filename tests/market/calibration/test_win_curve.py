"""Win-rate curves from hourly impressions hold the truth, whatever is known of impression shares."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.market.calibration.report_frame import floored, hour_reports, without_shares
from gaelp.market.calibration.win_curve import fit_win_curves, lost_impressions

FACTORS = np.array([0.5, 0.7, 1.0, 1.4, 2.0])


def judged(known, reports, entered=None):
    """Coverage, error and width of the intervals at five bids of each segment."""
    curves = fit_win_curves(reports, known.activity[:, : len(reports.covered_hours)], entered)
    bids = known.usual_bid_micros[:, None] * FACTORS
    truth, (low, high) = known.share(bids), curves.interval(bids)
    error = np.sqrt(((curves.share(bids) - truth) ** 2).mean())
    return ((low <= truth) & (truth <= high)).mean(), error, (high - low).mean(), curves


def test_intervals_hold_the_truth_and_are_narrow_where_shares_are_known(known_reports, all_reports):
    coverage, error, width, curves = judged(known_reports, all_reports)
    assert coverage >= 0.9
    assert error < 0.03
    assert width < 0.15
    assert curves.per_hour == pytest.approx(known_reports.per_hour, rel=0.25)


def test_without_shares_intervals_are_wide_and_still_hold_the_truth(known_reports, all_reports):
    coverage, _, width, _ = judged(known_reports, without_shares(all_reports))
    assert coverage >= 0.9
    assert width > 0.2


@pytest.fixture(scope="module")
def low_bids():
    return draw_reports(ReportTruth(per_hour=3.0, bid_log_offset=-0.8), seed=3)


def test_floored_shares_lose_little_where_many_are_below_a_tenth(low_bids):
    reports = hour_reports(low_bids.tables, source="low")
    assert (reports.day_share < 0.1).mean() > 0.3
    exact, below = judged(low_bids, reports), judged(low_bids, floored(reports))
    assert below[0] >= 0.9
    assert below[1] < exact[1] + 0.01
    taken_at_face_value = replace(reports, day_share=np.maximum(reports.day_share, 0.1))
    assert judged(low_bids, taken_at_face_value)[1] > below[1]


def test_shares_by_hour_give_the_same_curves(known_reports, all_reports):
    share = np.where(
        known_reports.possible > 0, all_reports.impressions / np.maximum(known_reports.possible, 1), np.nan
    )
    by_hour = replace(without_shares(all_reports), share=share)
    coverage, error, _, curves = judged(known_reports, by_hour)
    assert coverage >= 0.9
    assert error < 0.03
    assert curves.per_hour == pytest.approx(known_reports.per_hour, rel=0.25)


def test_a_campaign_that_enters_half_of_the_auctions_has_the_same_curve(known_reports, all_reports):
    rng = np.random.default_rng(1)
    kept = rng.binomial(all_reports.impressions.astype(int), 0.5).astype(float)
    held_back = replace(all_reports, impressions=kept, day_share=all_reports.day_share / 2)
    half = np.full(kept.shape, 0.5)
    assert judged(known_reports, held_back, half)[1] < 0.04
    assert judged(known_reports, held_back)[1] > 0.15


def test_a_share_says_how_many_impressions_were_lost_or_how_many_at_least(all_reports):
    reports = replace(all_reports, day_share=np.full_like(all_reports.day_share, 0.0999))
    won = reports.by_day(reports.impressions)
    lost = lost_impressions(reports)
    assert np.isnan(lost.day).all()
    assert (lost.day_least == 9 * won + 1).all()
    quarter = lost_impressions(replace(all_reports, day_share=np.full_like(won, 0.25)))
    assert quarter.day == pytest.approx(3 * won)


def test_the_share_never_falls_as_the_bid_rises(all_reports, known_reports):
    curves = fit_win_curves(all_reports, known_reports.activity)
    bids = curves.usual_bid_micros[:, None] * np.exp(np.linspace(-3, 3, 60))
    assert (np.diff(curves.share(bids), axis=1) >= 0).all()


def test_below_the_bids_that_were_tried_a_share_costs_at_least_its_part_of_the_bid(known_reports, all_reports):
    curves = fit_win_curves(all_reports, known_reports.activity[:, : len(all_reports.covered_hours)])
    lowest = (curves.usual_bid_micros * np.exp(curves.lowest_log_bid))[:, None]
    factors = np.array([0.05, 0.3, 0.9])
    shares = curves.cautious_share(lowest * factors)
    assert (shares <= curves.share(lowest) * factors + 1e-12).all()
    assert (curves.cautious_share(lowest * 1.5) == curves.share(lowest * 1.5)).all()


@pytest.fixture(scope="module")
def high_bids():
    return draw_reports(ReportTruth(per_hour=3.0, within_log_sd=0.3, bid_log_offset=0.7), seed=4)


def test_an_interval_ends_at_1_where_too_few_impressions_were_tried_to_tell(high_bids):
    coverage, _, _, curves = judged(high_bids, hour_reports(high_bids.tables, source="high"))
    bids = high_bids.usual_bid_micros[:, None] * FACTORS
    truth, (_, high) = high_bids.share(bids), curves.interval(bids)
    assert (truth > 0.999).mean() >= 0.2  # a logit never says so
    assert coverage >= 0.9
    assert (high[truth > 0.9999] == 1).all()
    assert (high[truth < 0.9] < 1).mean() > 0.9
    beyond = curves.usual_bid_micros[:, None] * np.exp(2.4)  # nobody has bid that
    assert (curves.interval(beyond)[1] == 1).all()
    assert (curves.interval(curves.usual_bid_micros[:, None] * np.exp(-2.4))[0] == 0).all()
