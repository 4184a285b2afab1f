"""What a plan should earn: played in twins of the account, with the money of the reports' own curves."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.config.objective import Objective
from gaelp.content import Creative
from gaelp.errors import DataError
from gaelp.history.fidelity import fit_account
from gaelp.market.build import load_market_spec, load_persona_table
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import hour_reports
from gaelp.market.spec import DelaySpec
from gaelp.market.view import Action
from gaelp.pilot.forecast import ForecastAccount, forecast_pilot, plan_estimates
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.pilot.sale_chance import SaleChance, draw_sales, measure_chance

CAMPAIGNS, GROUPS = 5, 3
PLENTY, SCARCE = 1_000_000_000, 12_000_000


@pytest.fixture(scope="module")
def reports():
    truth = ReportTruth(campaigns=CAMPAIGNS, groups=GROUPS, days=21, per_hour=25.0, day_log_sd=0.05, drift_sd=0.03)
    everything = hour_reports(draw_reports(truth, 11).tables, source="known")
    return replace(everything, as_of_hours=float(everything.covered_hours[-1] + 25))


@pytest.fixture(scope="module")
def account(reports):
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
def plan_of(account):
    estimates = account.estimates

    def plan(daily_micros=PLENTY, names=None, days=3):
        campaigns = tuple(
            PilotCampaign(
                name=f"pilot-{number}",
                logged_as=name,
                daily_micros=daily_micros,
                conversion_value_micros=20_000_000,
                targets=tuple(f"t{group}" for group in range(GROUPS)),
                reference_bids_micros=tuple(
                    int(bid) for bid in estimates.usual_bid_micros[number % len(estimates.campaign_names)]
                ),
                creative=Creative(id="advert"),
            )
            for number, name in enumerate(names or estimates.campaign_names)
        )
        return PilotPlan(
            name="p",
            account="1",
            currency="USD",
            time_zone="UTC",
            model_hash="0" * 64,
            campaigns=campaigns,
            first_day=date(2026, 10, 5),
            days=days,
            settle_days=7,
            reach=1.5,
            bid_ceiling_micros=100_000_000,
            loss_cap_micros=1_000_000,
        )

    return plan


class Usual:
    """Bids a multiple of the usual bids of an account."""

    name = "usual"

    def __init__(self, account, factor=1.0):
        self._bids = account.estimates.usual_bid_micros * account.estimates.bid_scale * factor
        self.briefs = []

    def begin(self, brief, belief=None, /):
        self.briefs.append((brief, belief))

    def act(self, obs, /):
        copies = len(obs.left_micros) // len(self._bids)
        return Action(np.rint(np.tile(self._bids, (copies, 1))).astype(np.int64))


def test_the_usual_bids_should_earn_what_the_log_earned(account, plan_of, reports):
    expected = forecast_pilot(plan_of(days=7), Usual(account), account, seed=1, draws=6)
    logged = reports.value_micros.sum() / reports.spend_micros.sum()
    assert 1 + expected.roi.value == pytest.approx(logged, rel=0.15)
    assert expected.total_spend_micros.value == pytest.approx(reports.spend_micros.sum() / 3, rel=0.15)
    assert expected.total_conversions.value == pytest.approx(reports.conversions.sum() / 3, rel=0.2)
    assert expected.roi.lower_95 < expected.roi.value < expected.roi.upper_95
    assert expected.wished_micros == pytest.approx(expected.total_spend_micros.value)


def test_budgets_of_the_plan_limit_what_it_wants_to_spend(account, plan_of):
    rich, poor = (
        forecast_pilot(plan_of(daily), Usual(account), account, seed=1, draws=4) for daily in (PLENTY, SCARCE)
    )
    assert poor.wished_micros < rich.wished_micros
    assert poor.wished_micros == pytest.approx(3 * CAMPAIGNS * SCARCE, rel=0.25)


def test_budgets_are_held_against_the_costs_that_reports_show(account, plan_of):
    price = account.curves.price
    cheaper = price.coefficient + np.array([np.log(0.5), 0.0, 0.0])  # than the market of training says
    curves = replace(account.curves, price=replace(price, coefficient=cheaper))
    poor = forecast_pilot(plan_of(SCARCE), Usual(account), replace(account, curves=curves), seed=1, draws=4)
    assert poor.wished_micros == pytest.approx(3 * CAMPAIGNS * SCARCE, rel=0.25)


def test_bids_stay_within_the_reach_of_the_plan(account, plan_of):
    bold, edge = (forecast_pilot(plan_of(), Usual(account, by), account, seed=1, draws=4) for by in (9.0, 1.5))
    assert bold.wished_micros == pytest.approx(edge.wished_micros, rel=0.001)


def test_long_plans_are_played_in_flights_with_what_the_reports_say_of_each_segment(account, plan_of):
    policy = Usual(account)
    spec = account.spec.model_copy(update={"days": 2})
    forecast_pilot(plan_of(days=5), policy, replace(account, spec=spec), seed=1, draws=4)
    assert [int(brief.hours[0]) for brief, _ in policy.briefs] == [48, 48, 24]
    assert [int(brief.start_hour_of_week[0]) for brief, _ in policy.briefs] == [0, 48, 96]
    assert all(belief.value_log.shape == (4 * CAMPAIGNS, GROUPS) for _, belief in policy.briefs)


def test_refunds_lower_what_it_should_earn_and_the_same_seed_gives_the_same(account, plan_of):
    kept, returned = (
        forecast_pilot(plan_of(), Usual(account), replace(account, refund_share=share), seed=3, draws=4)
        for share in (0.0, 0.1)
    )
    assert 1 + returned.roi.value == pytest.approx(0.9 * (1 + kept.roi.value))
    assert forecast_pilot(plan_of(), Usual(account), account, seed=3, draws=4) == kept


def test_campaigns_may_be_in_another_order_than_the_log_and_an_unknown_one_is_refused(account, plan_of):
    names = account.estimates.campaign_names
    chosen = plan_estimates(account.estimates, plan_of(names=(names[3], names[0])))
    assert chosen.campaign_names == (names[3], names[0])
    assert np.array_equal(chosen.per_hour, account.estimates.per_hour[[3, 0]])
    assert np.array_equal(chosen.daily_budget_micros, [PLENTY, PLENTY])
    with pytest.raises(DataError, match="campaign pilot-0 is known from nowhere, which has no estimates"):
        plan_estimates(account.estimates, plan_of(names=("nowhere",)))
    with pytest.raises(DataError, match="saw draws=2"):
        forecast_pilot(plan_of(), Usual(account), account, seed=1, draws=2)


def test_chance_is_measured_on_the_log_and_drawn_with_the_same_mean(reports):
    chance = measure_chance(reports)
    assert 0 <= chance.overdispersion < 0.3
    assert 0 <= chance.value_spread < 1
    rng = np.random.default_rng(2)
    wide = SaleChance(value_spread=0.5, overdispersion=0.2)
    sales, value = draw_sales(np.full(200_000, 3.0), np.full(200_000, 10.0), wide, rng)
    assert sales.mean() == pytest.approx(3.0, rel=0.01)
    assert sales.var() == pytest.approx(3.0 + 0.2 * 9, rel=0.02)
    assert value.mean() == pytest.approx(30.0, rel=0.01)
    assert value.var() == pytest.approx(100 * (sales.var() + 3.0 * 0.25), rel=0.03)
    plain, exact = draw_sales(np.array([2.0]), np.array([10.0]), SaleChance(value_spread=0, overdispersion=0), rng)
    assert exact[0] == 10 * plain[0]
