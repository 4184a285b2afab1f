"""What the control should return: usual bids where budgets are plenty, lower ones where they would not last."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.config.objective import Objective
from gaelp.history.fidelity import fit_account
from gaelp.market.build import load_market_spec, load_persona_table
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import hour_reports
from gaelp.market.spec import DelaySpec
from gaelp.pilot.forecast import ForecastAccount
from gaelp.pilot.sale_chance import measure_chance
from gaelp.release.control_forecast import expected_lift, forecast_control, value_per_money

PLENTY, SCARCE = 1_000_000_000, 12_000_000


@pytest.fixture(scope="module")
def account():
    truth = ReportTruth(campaigns=3, groups=2, days=21, per_hour=25.0, day_log_sd=0.05, drift_sd=0.03)
    everything = hour_reports(draw_reports(truth, 12).tables, source="known")
    reports = replace(everything, as_of_hours=float(everything.covered_hours[-1] + 25))
    base = load_market_spec("search").model_copy(update={"delay": DelaySpec(mean_hours=20, window_hours=720)})
    fit = fit_reports(reports, base)
    spec = calibrate_reports(reports, name="known", base=base, fit=fit).spec
    fitted = fit_account(reports, fit, spec)
    return ForecastAccount(
        spec=spec,
        personas=load_persona_table("personas"),
        estimates=fitted.estimates,
        curves=fitted.curves,
        objective=Objective(kind="profit"),
        chance=measure_chance(reports),
    )


@pytest.fixture(scope="module")
def plan_of(account, pilot_plan):
    """A pilot of the account's campaigns with their usual bids."""

    def plan(daily_micros):
        campaigns = tuple(
            pilot_plan.campaigns[number].model_copy(
                update={
                    "logged_as": name,
                    "daily_micros": daily_micros,
                    "reference_bids_micros": tuple(int(bid) for bid in account.estimates.usual_bid_micros[number]),
                }
            )
            for number, name in enumerate(account.estimates.campaign_names)
        )
        return pilot_plan.model_copy(update={"campaigns": campaigns, "bid_ceiling_micros": 100_000_000})

    return plan


@pytest.fixture(scope="module")
def plenty(account, plan_of):
    return forecast_control(plan_of(PLENTY), account, seed=1)


@pytest.fixture(scope="module")
def scarce(account, plan_of):
    return forecast_control(plan_of(SCARCE), account, seed=1)


def test_where_the_budget_would_not_last_the_control_bids_less_until_it_does(plenty, scarce):
    spend = np.mean(scarce.spend_micros, axis=0)
    assert (np.mean(plenty.spend_micros, axis=0) > 1.3 * SCARCE).any()
    assert (spend < 1.1 * SCARCE).all()
    assert (spend > 0.75 * SCARCE).all()


def test_bidding_less_returns_more_for_each_unit_of_money(plenty, scarce):
    assert value_per_money(scarce) > 1.05 * value_per_money(plenty)


def test_the_lift_is_over_that_control_and_not_over_the_usual_bids(plenty, scarce):
    assert expected_lift(scarce, scarce) == 0
    assert expected_lift(scarce, plenty) > 0.05


def test_the_same_seed_gives_the_same_forecast(account, plan_of, scarce):
    assert forecast_control(plan_of(SCARCE), account, seed=1) == scarce
