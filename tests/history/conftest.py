"""A small account with a known truth, fitted once for all tests of the package."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.history.fidelity import fit_account
from gaelp.history.logged_campaigns import LogFacts, LoggedDecisions
from gaelp.market.build import load_market_spec, load_persona_table
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import hour_reports, keep_days
from gaelp.market.spec import DelaySpec

CALIBRATED_DAYS, DAYS = 21, 35
TRUTH = ReportTruth(campaigns=5, groups=3, days=DAYS, per_hour=25.0, day_log_sd=0.05, drift_sd=0.03)


@pytest.fixture(scope="session")
def personas():
    return load_persona_table("personas")


@pytest.fixture(scope="session")
def known():
    return draw_reports(TRUTH, 11)


@pytest.fixture(scope="session")
def windows(known):
    """Calibration and held-out window of one log, read a day after its end."""
    everything = hour_reports(known.tables, source="known")
    everything = replace(everything, as_of_hours=float(everything.covered_hours[-1] + 25))
    first, later = keep_days(everything, 0, CALIBRATED_DAYS), keep_days(everything, CALIBRATED_DAYS, DAYS)
    return first, later


@pytest.fixture(scope="session")
def fitted(windows):
    """Fit and market of the calibration window."""
    base = load_market_spec("search").model_copy(update={"delay": DelaySpec(mean_hours=20, window_hours=720)})
    fit = fit_reports(windows[0], base)
    return fit, calibrate_reports(windows[0], name="known", base=base, fit=fit).spec


@pytest.fixture(scope="session")
def account(windows, fitted):
    return fit_account(windows[0], *fitted)


@pytest.fixture(scope="session")
def with_budgets(account):
    """The same campaigns with budgets: the first has far too little, the others more than they can spend."""
    estimates = account.estimates
    budget = np.full(len(estimates.campaign_names), 1e12)
    budget[0] = 5_000_000.0
    return replace(estimates, daily_budget_micros=budget, overdelivery=2.0)


@pytest.fixture(scope="session")
def drawn_log():
    """Draws logged decisions whose truth is known: a click costs the root of the bid and is worth the same at any."""

    def draw(campaigns=8, days=28, spread=0.4, density_factor=1.0):
        rng, segments = np.random.default_rng(5), 4
        shape = (campaigns, days * 24, segments)
        action = spread * rng.standard_normal(shape)
        clicks = rng.poisson(2.0 * np.exp(0.3 * action))
        value = 20e6 * rng.binomial(clicks, 0.06)
        spend = clicks * 1e6 * np.exp(0.5 * action) * rng.lognormal(0, 0.1, shape)
        campaign, hour, segment = (index.ravel() for index in np.indices(shape))
        density = np.exp(-0.5 * (action / max(spread, 1e-9)) ** 2) / (max(spread, 1e-9) * np.sqrt(2 * np.pi))
        rows = campaign.size
        start = np.datetime64("2026-09-07T00:00:00", "us") + hour.astype("timedelta64[h]").astype("timedelta64[us]")
        return LoggedDecisions(
            campaign_names=tuple(f"campaign-{number}" for number in range(campaigns)),
            segment_names=tuple(f"segment-{number}" for number in range(segments)),
            source_names=("drawn",),
            as_of=None,
            campaign=campaign,
            segment=segment,
            source=np.zeros(rows, np.int64),
            account_day=740_000 + hour // 24,
            hour_start=start,
            step=hour,
            bid_micros=np.maximum(np.rint(1e6 * np.exp(action.ravel())), 1).astype(np.int64),
            action=action.ravel(),
            density=density_factor * density.ravel(),
            density_kind=np.ones(rows, np.int8),
            budget_left_micros=np.full(rows, -1),
            impressions=20 * clicks.ravel() + 1,
            clicks=clicks.ravel(),
            conversions=(value / 20e6).ravel(),
            spend_micros=np.rint(spend).astype(np.int64).ravel(),
            value_micros=np.rint(value).astype(np.int64).ravel(),
            delay_hours=np.zeros(0),
            delay_click_hours=np.zeros(0),
            facts=LogFacts(0, 0, 0, 0, 0, {}, None, "UTC"),
        )

    return draw
