from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration import calibrate
from gaelp.market.calibration.log_frame import keep_hours

FITTED_PATHS = {
    "volume.per_hour",
    "volume.segment_log_sd",
    "volume.overdispersion",
    "price.level_micros",
    "price.segment_log_sd",
    "price.common_drift_sd",
    "price.segment_drift_sd",
    "price.drift_persistence",
    "price.hourly_noise_sd",
    "price.diurnal_amplitude",
    "response.click_rate",
    "response.click_log_sd",
    "response.conversion_rate",
    "response.conversion_log_sd",
    "response.daypart_amplitude",
    "response.price_value_correlation",
    "delay.mean_hours",
    "delay.immediate_share",
}


def value_at(spec, path):
    section, key = path.split(".")
    return getattr(getattr(spec, section), key)


def test_a_rich_log_fits_every_statistic(won_calibration):
    extra = {"hour_of_week", "price.common_drift_innovation_sd"}
    assert set(won_calibration.report.statistics) == FITTED_PATHS | extra
    assert won_calibration.report.kept == ()


def test_the_market_holds_what_the_report_says(won_calibration):
    for path in FITTED_PATHS:
        fitted = won_calibration.report.statistics[path]
        assert value_at(won_calibration.spec, path) == pytest.approx(fitted.value, rel=1e-3, abs=1e-3)
        assert fitted.interval_low <= fitted.value <= fitted.interval_high
        assert "goodness:" in fitted.method
    assert won_calibration.spec.name == "mine"
    assert "simulated" in won_calibration.spec.label


def test_the_price_level_is_the_mean_price_of_the_typical_segment(won_calibration, truth, inside):
    assert inside(won_calibration.report.statistics["price.level_micros"], truth.level_micros)


def test_hours_and_landscapes_are_measured(won_calibration, won_log):
    assert len(won_calibration.spec.hour_of_week) == 168
    assert np.mean(won_calibration.spec.hour_of_week) == pytest.approx(1, abs=1e-4)
    assert len(won_calibration.report.hour_of_week_low) == 168
    assert {landscape.name for landscape in won_calibration.spec.landscapes} == set(won_log.segment_names)


def test_what_the_base_market_would_do_to_fitted_values_is_undone_and_noted(won_calibration):
    assert won_calibration.spec.price.steepness == 1
    assert set(won_calibration.spec.randomise) == {"fatigue.strength"}
    notes = " ".join(won_calibration.report.notes)
    assert "price.steepness 2.0" in notes
    assert "randomise.price.diurnal_amplitude" in notes


def test_what_is_not_measured_stays_as_in_the_base_market(won_calibration, base):
    assert won_calibration.spec.budget == base.budget
    assert won_calibration.spec.response.campaign_log_sd == base.response.campaign_log_sd
    assert won_calibration.spec.segments == base.segments


def test_a_thin_log_keeps_defaults_and_says_so(won_log, base):
    few = keep_hours(won_log, np.arange(len(won_log.covered_hours)) < 5)
    one = replace(few, segment=np.zeros(few.rows, np.int64), segment_names=("all",), click=None, conversion=None)
    found = calibrate(replace(one, delay_hours=None), name="thin", base=base)
    kept = {part.statistic: part for part in found.report.kept}
    assert set(kept) >= FITTED_PATHS - {"price.level_micros"} | {"hour_of_week"}
    assert kept["price.common_drift_sd"].default == base.price.common_drift_sd
    assert kept["response.click_rate"].reason == "the log has no column click"
    for path in FITTED_PATHS - {"price.level_micros"}:
        assert value_at(found.spec, path) == value_at(base, path)
    assert found.spec.hour_of_week == ()


def test_a_log_in_which_every_bid_was_lost_fits_volume_alone(contested_log, base):
    log = replace(
        contested_log,
        won=np.zeros(contested_log.rows, bool),
        price_micros=np.full(contested_log.rows, -1),
        click=np.zeros(contested_log.rows, bool),
        conversion=None,
        delay_hours=None,
    )
    found = calibrate(log, name="lost", base=base)
    fitted = set(found.report.statistics)
    assert fitted == {"volume.per_hour", "volume.segment_log_sd", "volume.overdispersion", "hour_of_week"}
    assert found.spec.landscapes == ()
    assert found.spec.price == base.price


def test_a_first_price_log_keeps_prices_and_says_why(contested_log, base):
    log = replace(contested_log, price_micros=np.where(contested_log.won, contested_log.bid_micros, -1))
    found = calibrate(log, name="first", base=base)
    assert found.spec.price == base.price
    reasons = {part.statistic: part.reason for part in found.report.kept}
    assert "first-price" in reasons["price.level_micros"]
    assert "first-price" in reasons["landscapes"]


def test_what_the_bids_could_not_reach_is_noted(contested_calibration, won_calibration):
    for found, noted in ((contested_calibration, True), (won_calibration, False)):
        assert any("more than the bids could reach" in note for note in found.report.notes) == noted


def test_the_same_log_gives_the_same_market(simulate, base):
    log = simulate(9, segments=5, days=2, per_hour=20.0)
    assert calibrate(log, name="mine", base=base) == calibrate(log, name="mine", base=base)


@pytest.mark.slow
def test_intervals_of_all_statistics_hold_the_truth_about_as_often_as_they_say(simulate, base):
    truth = {
        "volume.segment_log_sd": 0.5,
        "volume.overdispersion": 0.15,
        "response.click_log_sd": 0.5,
        "response.conversion_rate": 0.1,
        "response.daypart_amplitude": 0.3,
        "response.price_value_correlation": 0.4,
        "delay.mean_hours": 8.0,
        "delay.immediate_share": 0.3,
        "price.level_micros": 2000.0,
        "price.segment_log_sd": 0.4,
        "price.common_drift_sd": 0.1,
        "price.segment_drift_sd": 0.06,
        "price.drift_persistence": 0.9,
        "price.hourly_noise_sd": 0.05,
        "price.diurnal_amplitude": 0.2,
    }
    held = dict.fromkeys(truth, 0)
    logs = 40
    for seed in range(logs):
        log = simulate(seed, segments=16, days=10, per_hour=25.0, bid_log_offset=0.5 if seed % 2 else None)
        found = calibrate(log, name="again", base=base).report.statistics
        for path, value in truth.items():
            held[path] += found[path].interval_low <= value <= found[path].interval_high
    assert sum(held.values()) / (logs * len(truth)) > 0.9, held
    assert min(held.values()) >= 0.78 * logs, held
