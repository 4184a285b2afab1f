import math

import numpy as np
import pytest

from gaelp.market.calibration.drift import LevelSeries, _Scale, _solve, fit_drift
from gaelp.market.calibration.harmonic import day_wave


def chains(seed, *, hours=400, count=1, persistence=0.9, sd=0.12):
    rng = np.random.default_rng(seed)
    path = np.empty((count, hours))
    path[:, 0] = sd * rng.normal(size=count)
    for hour in range(1, hours):
        path[:, hour] = persistence * path[:, hour - 1] + math.sqrt(1 - persistence**2) * sd * rng.normal(size=count)
    return path


def common_series(seed, *, hours=400, noise=0.05, sampling=0.05, **drift):
    rng = np.random.default_rng(seed + 1000)
    path = chains(seed, hours=hours, **drift)
    wave = 0.2 * np.cos(2 * np.pi * (np.arange(hours) - 13) / 24)
    value = 3 + path + wave + noise * rng.normal(size=path.shape) + sampling * rng.normal(size=path.shape)
    return as_series(value, np.full(path.shape, 1 / sampling**2), day_wave(np.arange(float(hours))))


def as_series(value, precision, design, *, common=True):
    own_share = np.full(len(value), 0.0 if common else 1.0)
    return LevelSeries(value, precision, design, common, own_share, np.ones_like(value))


def holds(ends, truth):
    """Whether the truth is in the interval or within half its width."""
    _, low, high = ends
    return low - (high - low) / 2 <= truth <= high + (high - low) / 2


def test_the_likelihood_equals_the_dense_computation_with_gaps():
    rng = np.random.default_rng(1)
    hours, scale = 30, _Scale(persistence=0.88, common_sd=0.22, own_sd=0.1, noise_sd=0.13)
    value, precision = rng.normal(size=(2, hours)), rng.uniform(5, 50, (2, hours))
    precision[0, [4, 11]] = precision[1, 0] = 0
    own_share, noise_share = np.array([0.3, 0.8]), rng.uniform(0.2, 1, (2, hours))
    part = LevelSeries(value, precision, day_wave(np.arange(float(hours))), True, own_share, noise_share)
    lag = np.abs(np.subtract.outer(np.arange(hours), np.arange(hours)))
    expected = 0.0
    for row, weight, own, noise in zip(value, precision, own_share, noise_share, strict=True):
        known = weight > 0
        drift = (scale.common_sd**2 + own * scale.own_sd**2) * scale.persistence**lag
        covariance = drift[np.ix_(known, known)] + np.diag(1 / weight[known] + scale.noise_sd**2 * noise[known])
        inverse, columns = np.linalg.inv(covariance), part.design[known]
        information = columns.T @ inverse @ columns
        left = row[known] - columns @ np.linalg.solve(information, columns.T @ inverse @ row[known])
        logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(information)[1]
        expected -= 0.5 * (logs + left @ inverse @ left)
    assert _solve(part, scale)[0] == pytest.approx(expected, rel=1e-9)


def test_persistence_drift_noise_and_wave_are_recovered():
    drift = fit_drift([common_series(2)])
    innovation = 0.12 * math.sqrt(1 - 0.9**2)
    found = (drift.persistence, drift.common_sd, drift.noise_sd, drift.innovation_sd)
    assert all(holds(ends, truth) for ends, truth in zip(found, (0.9, 0.12, 0.05, innovation), strict=True))
    assert drift.persistence[2] - drift.persistence[1] < 0.2
    assert np.hypot(*drift.weights[0, 1:]) == pytest.approx(0.2, abs=0.05)
    assert abs(drift.innovation_correlation) < 0.12


def test_missing_hours_are_gaps_and_not_zeros():
    part = common_series(3)
    gone = np.random.default_rng(4).random(400) < 0.3
    part.value[:, gone], part.precision[:, gone] = 0.0, 0.0
    drift = fit_drift([part])
    assert holds(drift.common_sd, 0.12)
    assert drift.weights[0, 0] == pytest.approx(3, abs=0.1)


def test_series_of_segments_sharpen_what_the_common_series_says_of_persistence_and_noise():
    common = common_series(5, hours=144)
    rng = np.random.default_rng(6)
    own = 0.08 * chains(7, hours=144, count=8, sd=1.0) + 0.05 * rng.normal(size=(8, 144)) + np.arange(8)[:, None]
    apart = as_series(own, np.full(own.shape, 1e4), np.ones((144, 1)), common=False)
    alone, both = fit_drift([common]), fit_drift([common, apart])
    for name, truth in (("persistence", 0.9), ("common_sd", 0.12), ("own_sd", 0.08), ("noise_sd", 0.05)):
        assert holds(getattr(both, name), truth), name
    for name in ("persistence", "noise_sd"):
        (_, low, high), (_, alone_low, alone_high) = getattr(both, name), getattr(alone, name)
        assert high - low < alone_high - alone_low


def test_plain_noise_is_not_drift():
    rng = np.random.default_rng(6)
    value = 0.05 * rng.normal(size=(1, 300))
    drift = fit_drift([as_series(value, np.full((1, 300), 1 / 0.05**2), np.ones((300, 1)))])
    assert drift.common_sd[0] < 0.02
    assert drift.noise_sd[0] < 0.02
