"""A market from hourly reports, and from bid simulator points alone."""

import math

import pytest

from gaelp.market.build import build_market, load_persona_table
from gaelp.market.calibration import calibrate_points, calibrate_reports
from gaelp.market.calibration.report_frame import bid_points, without_shares
from gaelp.storage.schema import TableName


@pytest.fixture(scope="module")
def calibration(first_weeks, base):
    return calibrate_reports(first_weeks, name="mine", base=base)


def test_every_number_has_an_interval_and_those_of_the_truth_lie_in_it(calibration, inside):
    statistics = calibration.report.statistics
    truth = {
        "volume.per_hour": 8.0,
        "volume.segment_log_sd": 0.5,
        "response.click_rate": 0.06,
        "response.click_log_sd": 0.35,
        "response.conversion_rate": 0.08,
        "delay.mean_hours": 20.0,
        "delay.immediate_share": 0.3,
        "price.diurnal_amplitude": 0.15,
    }
    for path, value in truth.items():
        assert inside(statistics[path], value), path
    ratio = 0.06 * 0.08 * 25_000_000 / calibration.spec.price.level_micros
    assert statistics["response.return_ratio"].value == pytest.approx(ratio, rel=0.25)


def test_bids_and_prices_of_the_market_are_for_an_impression(calibration, known_reports):
    level = calibration.spec.price.level_micros
    paid_a_click = 1_000_000 * math.exp(0.6**2 / 2)
    assert 0.5 * 0.06 * paid_a_click < level < 1.2 * 0.06 * paid_a_click
    assert any("for an impression" in note for note in calibration.report.notes)


def test_each_segment_has_its_curve_with_intervals_in_the_report(calibration, first_weeks):
    curves = calibration.report.curves
    assert tuple(curve.segment for curve in curves) == first_weeks.segment_names
    for curve in curves:
        shares = [point.share for point in curve.win_rate]
        assert shares == sorted(shares)
        assert all(point.interval_low <= point.share <= point.interval_high for point in curve.win_rate)


def test_the_market_can_be_played(calibration):
    market = build_market(calibration.spec, load_persona_table("personas"))
    assert len(calibration.spec.landscapes) > 1
    assert market is not None


def test_missing_shares_are_said_and_widen_the_intervals(calibration, first_weeks, base):
    blind = calibrate_reports(without_shares(first_weeks), name="blind", base=base)
    assert any("no impression share" in note for note in blind.report.notes)

    def width(report):
        return sum(point.interval_high - point.interval_low for curve in report.curves for point in curve.win_rate)

    assert width(blind.report) > 2 * width(calibration.report)


def test_points_alone_give_volumes_prices_and_click_rates_and_keep_the_rest(known_reports, base, inside):
    names, points = bid_points(known_reports.tables[TableName.BID_SIMULATIONS])
    found = calibrate_points(points, names, source="points", name="mine", base=base)
    assert inside(found.report.statistics["volume.per_hour"], 8.0)
    assert inside(found.report.statistics["response.click_rate"], 0.06)
    assert found.spec.delay == base.delay
    assert found.spec.hour_of_week == base.hour_of_week
    assert len(found.report.curves) == len(names)
