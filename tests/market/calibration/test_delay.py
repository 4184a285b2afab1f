from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.delay import fit_delay, matured_share
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.log_frame import make_log
from gaelp.market.spec import DelaySpec

BASE = DelaySpec(window_hours=72)


def clicks(seed, *, rows=6000, hours=96.0, immediate=0.3, mean=12.0, rate=0.1, window=72):
    """Clicks over some hours; conversions reported after the end or the window are not in the log."""
    rng = np.random.default_rng(seed)
    time = rng.uniform(0, hours, rows)
    delay = np.where(rng.random(rows) < immediate, 0.0, rng.exponential(mean, rows))
    conversion = (rng.random(rows) < rate) & (time + delay <= hours) & (delay <= window)
    return make_log(
        source="clicks",
        time_hours=time,
        bid_micros=np.full(rows, 10),
        price_micros=np.full(rows, 5),
        won=np.ones(rows, bool),
        click=np.ones(rows, bool),
        conversion=conversion,
        conversion_time_hours=np.where(conversion, time + delay, np.nan),
    )


def test_share_at_once_and_mean_delay_are_recovered(inside):
    fit = fit_delay(clicks(seed=1), BASE)
    assert inside(fit.mean_hours, 12)
    assert inside(fit.immediate_share, 0.3)
    assert fit.mean_hours.interval_high / fit.mean_hours.interval_low < 1.6
    assert fit.mean_hours.goodness < 0.08


def test_the_end_of_the_log_does_not_shorten_delays(inside):
    log = clicks(seed=2, rows=20_000, hours=24, mean=15)
    fit = fit_delay(log, BASE)
    assert inside(fit.mean_hours, 15)
    delays = log.delay_hours[log.delay_hours > 0]
    assert delays.mean() < 8  # what the conversions alone would say


def test_a_window_shorter_than_the_delays_does_not_shorten_them(inside):
    fit = fit_delay(clicks(seed=3, rows=20_000, mean=20, window=24), DelaySpec(window_hours=24))
    assert inside(fit.mean_hours, 20)


def test_conversions_after_the_window_are_said_to_be_left_out(inside):
    fit = fit_delay(clicks(seed=4, rows=20_000, mean=20, window=90), DelaySpec(window_hours=24))
    assert inside(fit.mean_hours, 20)
    assert "after the window" in fit.mean_hours.method


def test_nothing_at_once_is_a_share_of_zero():
    log = clicks(seed=5, immediate=0.0)
    fit = fit_delay(log, DelaySpec(immediate_share=0.3))
    assert fit.immediate_share.interval_low == 0
    assert fit.immediate_share.value < 0.03
    assert fit.used.immediate_share == fit.immediate_share.value
    # Where the base market has none either, there is nothing to overrule.
    assert isinstance(fit_delay(log, BASE).immediate_share, TooLittle)


def test_rates_are_corrected_with_the_delay_that_the_market_gets():
    log = clicks(seed=9, rows=300, hours=200, immediate=0.0, mean=3.0)
    fit = fit_delay(log, DelaySpec(immediate_share=0.03))
    assert isinstance(fit.immediate_share, TooLittle)
    assert fit.used == DelaySpec(mean_hours=fit.mean_hours.value, immediate_share=0.03)


def test_delays_that_are_not_exponential_are_seen_in_the_goodness():
    log = clicks(seed=6)
    late = np.where(log.delay_hours > 0, 10.0, log.delay_hours)
    assert fit_delay(replace(log, delay_hours=late), BASE).mean_hours.goodness > 0.3


@pytest.mark.parametrize("missing", ["click", "conversion", "delay_hours"])
def test_without_conversion_times_the_base_delay_is_used(missing):
    fit = fit_delay(replace(clicks(seed=7), **{missing: None}), DelaySpec(mean_hours=5))
    assert isinstance(fit.mean_hours, TooLittle)
    assert fit.used.mean_hours == 5


def test_few_later_conversions_are_too_little():
    fit = fit_delay(clicks(seed=8, rows=100), BASE)
    assert isinstance(fit.immediate_share, TooLittle)
    assert "20 needed" in fit.immediate_share.reason


def test_the_matured_share_rises_from_the_share_at_once_and_stops_at_the_window():
    delay = DelaySpec(mean_hours=10, immediate_share=0.2, window_hours=24)
    share = matured_share(delay, np.array([0.0, 10, 24, 100]))
    assert share == pytest.approx([0.2, 1 - 0.8 / np.e, 1 - 0.8 * np.exp(-2.4), 1 - 0.8 * np.exp(-2.4)])
    assert matured_share(DelaySpec(), np.array([0.0, 5])).tolist() == [1, 1]
    assert isinstance(fit_delay(clicks(seed=1), BASE).used, DelaySpec)
    assert isinstance(fit_delay(clicks(seed=1), BASE).mean_hours, Fitted)


def test_the_matured_share_follows_the_family_of_delays():
    delay = DelaySpec(mean_hours=10, immediate_share=0.2, family="mixture", parts=[(3, 1), (1, 37)])
    shares = 0.75 * np.exp(-np.array([1.0, 20])) + 0.25 * np.exp(-np.array([1.0, 20]) / 37)
    assert matured_share(delay, np.array([1.0, 20])) == pytest.approx(1 - 0.8 * shares)
