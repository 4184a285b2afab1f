import math

import numpy as np
import pytest

from gaelp.market.calibration.drift import _solve, fit_drift
from gaelp.market.calibration.harmonic import day_wave


def series(seed, *, hours=400, chains=1, persistence=0.9, sd=0.12, noise=0.05, sampling=0.05):
    rng = np.random.default_rng(seed)
    path = np.empty((chains, hours))
    path[:, 0] = sd * rng.normal(size=chains)
    for hour in range(1, hours):
        fresh = math.sqrt(1 - persistence**2) * sd * rng.normal(size=chains)
        path[:, hour] = persistence * path[:, hour - 1] + fresh
    wave = 0.2 * np.cos(2 * np.pi * (np.arange(hours) - 13) / 24)
    values = 3 + path + wave + noise * rng.normal(size=path.shape) + sampling * rng.normal(size=path.shape)
    return values, np.full(path.shape, 1 / sampling**2)


def test_the_likelihood_equals_the_dense_computation_with_gaps():
    rng = np.random.default_rng(1)
    hours, point = 30, np.array([2.0, -1.5, -2.0])
    values, precision = rng.normal(size=(2, hours)), rng.uniform(5, 50, (2, hours))
    precision[0, [4, 11]] = precision[1, 0] = 0
    design = day_wave(np.arange(float(hours)))
    persistence, sd, noise = 1 / (1 + math.exp(-2.0)), math.exp(-1.5), math.exp(-2.0)
    lag = np.abs(np.subtract.outer(np.arange(hours), np.arange(hours)))
    expected = 0.0
    for row, weight in zip(values, precision, strict=True):
        known = weight > 0
        covariance = (sd**2 * persistence**lag)[np.ix_(known, known)] + np.diag(1 / weight[known] + noise**2)
        inverse, columns = np.linalg.inv(covariance), design[known]
        information = columns.T @ inverse @ columns
        left = row[known] - columns @ np.linalg.solve(information, columns.T @ inverse @ row[known])
        logs = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(information)[1]
        expected -= 0.5 * (logs + left @ inverse @ left)
    assert _solve(values, precision, design, point)[0] == pytest.approx(expected, rel=1e-9)


def test_persistence_drift_noise_and_wave_are_recovered():
    values, precision = series(2)
    drift = fit_drift(values, precision, day_wave(np.arange(400.0)))
    for (_, low, high), truth in ((drift.persistence, 0.9), (drift.sd, 0.12), (drift.noise_sd, 0.05)):
        assert low - (high - low) / 2 <= truth <= high + (high - low) / 2
    assert drift.persistence[2] - drift.persistence[1] < 0.2
    assert np.hypot(*drift.weights[0, 1:]) == pytest.approx(0.2, abs=0.05)
    assert abs(drift.innovation_correlation) < 0.12


def test_missing_hours_are_gaps_and_not_zeros():
    values, precision = series(3)
    gone = np.random.default_rng(4).random(400) < 0.3
    values[:, gone], precision[:, gone] = 0.0, 0.0
    drift = fit_drift(values, precision, day_wave(np.arange(400.0)))
    assert drift.sd[1] - 0.02 <= 0.12 <= drift.sd[2] + 0.02
    assert drift.weights[0, 0] == pytest.approx(3, abs=0.1)


def test_chains_share_parameters_but_not_their_means():
    values, precision = series(5, hours=96, chains=6)
    values += np.arange(6)[:, None]
    drift = fit_drift(values, precision, np.ones((96, 1)), persistence=0.9)
    assert drift.persistence[0] == pytest.approx(0.9)
    assert drift.weights[:, 0] == pytest.approx(3 + np.arange(6), abs=0.25)
    assert drift.sd[2] - drift.sd[1] < 0.2


def test_plain_noise_is_not_drift():
    rng = np.random.default_rng(6)
    values = 0.05 * rng.normal(size=(1, 300))
    drift = fit_drift(values, np.full((1, 300), 1 / 0.05**2), np.ones((300, 1)))
    assert drift.sd[0] < 0.02
    assert drift.noise_sd[0] < 0.02
