import numpy as np
import pytest

from gaelp.market.calibration.fitted import TooLittle
from gaelp.market.calibration.seasonality import HourFactors, fit_hour_factors

WEEK = np.arange(168)
DAYS = np.where(WEEK // 24 >= 5, 0.7, 1.12)
STRUCTURE = (1 + 0.6 * np.sin(2 * np.pi * (WEEK % 24 - 9) / 24)) * DAYS
STRUCTURE = STRUCTURE / STRUCTURE.mean()


def totals(hours, factor, seed, *, mean=500.0, dispersion=0.01, first=0):
    rng = np.random.default_rng(seed)
    cell = (np.arange(hours) + first) % 168
    wild = rng.gamma(1 / dispersion, dispersion, hours)
    return rng.poisson(mean * factor[cell] * wild).astype(float), np.ones(hours), cell


def test_a_month_recovers_every_hour_of_the_week():
    habit = STRUCTURE * np.exp(0.2 * np.random.default_rng(1).normal(size=168))
    habit /= habit.mean()
    factors = fit_hour_factors(*totals(28 * 24, habit, seed=2))
    assert isinstance(factors, HourFactors)
    assert np.abs(factors.factor / habit - 1).mean() < 0.05
    assert ((factors.low <= habit) & (habit <= factors.high)).mean() > 0.9
    assert factors.factor.mean() == pytest.approx(1)
    assert factors.swing.goodness > 0.95


def test_a_week_falls_back_on_hour_of_day_and_weekday():
    habit = STRUCTURE * np.exp(0.2 * np.random.default_rng(1).normal(size=168))
    habit /= habit.mean()
    factors = fit_hour_factors(*totals(168, habit, seed=2))
    table = factors.factor.reshape(7, 24)
    assert table == pytest.approx(np.outer(table.mean(axis=1), table.mean(axis=0)), rel=1e-6)
    assert np.abs(factors.factor / STRUCTURE - 1).mean() < 0.12
    assert ((factors.low <= habit) & (habit <= factors.high)).mean() > 0.9


def test_an_unseen_weekday_has_the_mean_of_the_others_and_a_wide_interval():
    factors = fit_hour_factors(*totals(4 * 24, STRUCTURE, seed=3))
    day = factors.factor.reshape(7, 24).mean(axis=1)
    assert day[4:] == pytest.approx(np.full(3, day[:4].mean()), rel=0.02)
    width = (factors.high / factors.low).reshape(7, 24).mean(axis=1)
    assert width[5] > 1.5 * width[0]


def test_an_unseen_hour_of_day_lies_between_its_neighbours():
    count, exposure, cell = totals(10 * 24, STRUCTURE, seed=4, dispersion=0.001)
    kept = cell % 24 != 12
    factors = fit_hour_factors(count[kept], exposure[kept], cell[kept])
    day = factors.factor.reshape(7, 24)[0]
    assert min(day[11], day[13]) <= day[12] <= max(day[11], day[13])


def test_flat_volume_gets_flat_factors():
    factors = fit_hour_factors(*totals(14 * 24, np.ones(168), seed=5, dispersion=0.05))
    assert np.abs(factors.factor - 1).max() < 0.15


def test_hours_covered_in_part_are_not_quiet_hours():
    count, exposure, cell = totals(14 * 24, np.ones(168), seed=6, mean=2000.0)
    exposure = np.where(cell % 24 == 3, 0.5, 1.0)
    factors = fit_hour_factors(count * exposure, exposure, cell)
    assert factors.factor.reshape(7, 24)[:, 3].mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("hours", "mean"), [(30, 500.0), (96, 0.2)])
def test_a_short_or_nearly_empty_log_is_too_little(hours, mean):
    factors = fit_hour_factors(*totals(hours, STRUCTURE, seed=7, mean=mean))
    assert isinstance(factors, TooLittle)
    assert str(hours) in factors.reason
