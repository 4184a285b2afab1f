from dataclasses import replace

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration import calibrate
from gaelp.market.calibration.evidence import weighed
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


def test_a_rich_log_fits_every_statistic_that_it_has_an_effect_for(won_calibration):
    extra = {"hour_of_week", "price.common_drift_innovation_sd"}
    absent = "response.conversion_log_sd"  # the log's segments convert alike
    assert set(won_calibration.report.statistics) == FITTED_PATHS - {absent} | extra
    [kept] = won_calibration.report.kept
    assert kept.statistic == absent
    assert kept.estimate.interval_low == 0


EFFECTS = {path for path in FITTED_PATHS if path.endswith(("_sd", "amplitude", "correlation", "overdispersion"))}


@pytest.mark.parametrize(("seed", "segments"), [(1, 1), (2, 10), (3, 10), (5, 1)])
def test_a_small_log_without_effects_fits_nothing_that_its_interval_does_not_support(flat_log, base, seed, segments):
    calibration = calibrate(flat_log(seed, segments=segments), name="flat", base=base)
    for path in calibration.report.statistics.keys() & FITTED_PATHS:
        fitted = calibration.report.statistics[path]
        assert weighed(path, fitted, value_at(base, path)) is fitted
        # No effect is claimed, only its absence: at most half of what the base market has.
        assert path not in EFFECTS or fitted.interval_high <= value_at(base, path) / 2
    kept = {part.statistic: part for part in calibration.report.kept}
    for path in ("response.price_value_correlation", "price.common_drift_sd", "price.drift_persistence"):
        assert path in kept
        assert value_at(calibration.spec, path) == value_at(base, path)
        assert kept[path].reason


def test_a_large_log_with_planted_effects_recovers_them_inside_their_intervals(simulate, base, inside):
    log = simulate(8, segments=40, days=7, per_hour=40.0, correlation=0.7, daypart=0.4, click_rate=0.04)
    calibration = calibrate(log, name="planted", base=base).report.statistics
    planted = {
        "response.price_value_correlation": 0.7,
        "response.daypart_amplitude": 0.4,
        "response.click_log_sd": 0.5,
        "price.segment_log_sd": 0.4,
        "price.common_drift_sd": 0.1,
        "price.segment_drift_sd": 0.06,
        "price.hourly_noise_sd": 0.05,
        "price.diurnal_amplitude": 0.2,
        "volume.overdispersion": 0.15,
    }
    for path, value in planted.items():
        assert inside(calibration[path], value), path
        assert calibration[path].interval_low > 0


def test_flat_volume_is_a_finding_of_a_long_log_and_none_of_a_short_one(flat_log, base):
    long, short = (
        calibrate(flat_log(7, rows=rows, segments=3, hours=hours), name="flat", base=base)
        for rows, hours in ((8000, 168), (400, 40))
    )
    assert long.spec.hour_of_week == pytest.approx(np.ones(168), abs=0.1)
    swing = long.report.statistics["hour_of_week"]
    assert swing.interval_low == 0 < swing.interval_high
    assert short.spec.hour_of_week == ()
    [kept] = [part for part in short.report.kept if part.statistic == "hour_of_week"]
    assert "shows neither that there is an effect nor" in kept.reason


def test_a_log_that_supports_nothing_is_refused_with_what_is_needed(won_log, base):
    first = np.arange(len(won_log.covered_hours)) < 1
    hour = keep_hours(won_log, first)
    single = replace(
        hour,
        **{
            name: getattr(hour, name)[:1]
            for name in ("time_hours", "segment", "bid_micros", "price_micros", "won", "click", "conversion")
        },
        delay_hours=None,
    )
    with pytest.raises(
        DataError, match=r"saw 1 auction in 1 hour with 1 price and .* needed: 200 prices, or 24 hours, or 20 clicks"
    ):
        calibrate(single, name="one", base=base)


def test_a_value_beyond_what_a_market_computes_with_is_kept_out_and_said(simulate, base):
    log = simulate(3, segments=8, days=3, per_hour=30.0, volume_log_sd=0.0)
    wild = np.where(log.segment < 4, 1, 10**6) * np.maximum(log.price_micros, 1)
    calibration = calibrate(replace(log, price_micros=wild, bid_micros=wild + 1), name="wild", base=base)
    reasons = {part.statistic: part.reason for part in calibration.report.kept}
    assert "beyond what a market computes with" in reasons["price.segment_log_sd"]
    assert calibration.spec.price.segment_log_sd == base.price.segment_log_sd


def test_the_market_holds_what_the_report_says(won_calibration):
    for path in FITTED_PATHS & won_calibration.report.statistics.keys():
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
    single = replace(few, segment=np.zeros(few.rows, np.int64), segment_names=("all",), click=None, conversion=None)
    calibration = calibrate(replace(single, delay_hours=None), name="thin", base=base)
    kept = {part.statistic: part for part in calibration.report.kept}
    assert set(kept) >= FITTED_PATHS - {"price.level_micros"} | {"hour_of_week"}
    assert kept["price.common_drift_sd"].default == base.price.common_drift_sd
    assert kept["response.click_rate"].reason == "the log has no column click"
    for path in FITTED_PATHS - {"price.level_micros"}:
        assert value_at(calibration.spec, path) == value_at(base, path)
    assert calibration.spec.hour_of_week == ()


def test_a_log_in_which_every_bid_was_lost_fits_volume_alone(contested_log, base):
    log = replace(
        contested_log,
        won=np.zeros(contested_log.rows, bool),
        price_micros=np.full(contested_log.rows, -1),
        click=np.zeros(contested_log.rows, bool),
        conversion=None,
        delay_hours=None,
    )
    calibration = calibrate(log, name="lost", base=base)
    fitted = set(calibration.report.statistics)
    assert fitted == {"volume.per_hour", "volume.segment_log_sd", "volume.overdispersion", "hour_of_week"}
    assert calibration.spec.landscapes == ()
    assert calibration.spec.price == base.price


def test_a_first_price_log_keeps_prices_and_says_why(contested_log, base):
    log = replace(contested_log, price_micros=np.where(contested_log.won, contested_log.bid_micros, -1))
    calibration = calibrate(log, name="first", base=base)
    assert calibration.spec.price == base.price
    reasons = {part.statistic: part.reason for part in calibration.report.kept}
    assert "first-price" in reasons["price.level_micros"]
    assert "first-price" in reasons["landscapes"]


def test_what_the_bids_could_not_reach_is_noted(contested_calibration, won_calibration):
    for calibration, noted in ((contested_calibration, True), (won_calibration, False)):
        assert any("more than the bids could reach" in note for note in calibration.report.notes) == noted


def test_the_same_log_gives_the_same_market(simulate, base):
    log = simulate(9, segments=5, days=2, per_hour=20.0)
    assert calibrate(log, name="mine", base=base) == calibrate(log, name="mine", base=base)
