"""How often gate 3 is right: simulated pilots with a known true return, judged by the code of production.

A world is drawn from a seed; its history is synthesized and an account fitted to it, as before a real pilot. Then
bidders run the plan's days on the same campaigns and budgets, several times with other random numbers, late conversions
settle, and the gate judges. Bidders whose true return is chosen are the incumbent with all bids scaled: the higher it
bids, the less it returns.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np

from gaelp.arrays import Floats
from gaelp.bench.pilot_driver import DrivenPilot
from gaelp.bench.pilot_world import Flight, PilotOutcome, PilotWorld, fly, pilot_hours
from gaelp.bench.sandbox_bidders import UNLIMITED_MICROS, scaled
from gaelp.config.base import Frozen
from gaelp.content import Creative
from gaelp.gates import Evidence, Gate, judge
from gaelp.history.fidelity import fit_account
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.market.calibration.report_frame import hour_reports
from gaelp.phases.agent_bundle import Agent
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.forecast import ForecastAccount, forecast_pilot, plan_estimates
from gaelp.pilot.late_value import LateValue, fit_refunds, late_value
from gaelp.pilot.pilot_figures import PilotFigures
from gaelp.pilot.pilot_metrics import PilotMetrics, measure_pilot
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan
from gaelp.pilot.power import PowerGround, statistical_rules
from gaelp.pilot.sale_chance import measure_chance
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.serving import ServedCampaign, TargetRoas
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_tables
from gaelp.storage.schema import TableName

__all__ = ["CASES", "PilotSize", "TrialResult", "TrialWorld", "draw_world", "run_case", "summary"]

_TABLES = (TableName.HOUR_REPORTS, TableName.IMPRESSION_SHARES, TableName.CONVERSIONS, TableName.DECISIONS)
_WEEKS, _DRAWS = 4, 8
_FACTORS = (0.55, 0.75, 1.0, 1.35, 1.8, 2.6)  # of the incumbent's bids, between which a true return is looked for
_LASTING_FACTORS = (0.3, 0.45, 0.65, 1.0)
_REHEARSAL_KEY = 10**6  # of random numbers that no pilot uses
_ROAS_WARM_DAYS = 14  # automated bidding learns from conversions
_MODEL_HASH = "0" * 64


class PilotSize(Frozen):
    """How large and how bold a pilot is."""

    campaigns: int
    days: int
    settle_days: int = 7
    daily_micros: int = 25_000_000
    reach: float = 1.5


@dataclass(frozen=True, slots=True)
class TrialWorld:
    """Everything that is known before a pilot, and what only the measurement knows."""

    seed: int
    world: PilotWorld  # its campaigns are those of the plan
    plan: PilotPlan
    agent: Agent
    account: ForecastAccount
    late: LateValue
    expected: PilotExpectation
    factors: Mapping[str, float]  # of the incumbent's bids, by the true return that it has there
    lasting: tuple[float, ...]  # by campaign: with it the budget lasts

    @property
    def incumbents(self) -> list[ServedCampaign]:
        """The campaigns as they ran in the history."""
        return [campaign.served for campaign in self.world.campaigns]

    def ground(self, gate: Gate) -> PowerGround:
        """What the power of a plan in this world is computed from."""
        return PowerGround(
            gate=gate,
            chance=self.account.chance,
            late=self.late,
            time_zone=self.plan.time_zone,
            settle_days=self.plan.settle_days,
            daily_micros=self.plan.campaigns[0].daily_micros,
        )


class TrialResult(Frozen):
    """One pilot."""

    seed: int
    key: int
    case: str
    true_roi: float
    failed: tuple[str, ...]  # rules that do not hold
    roi: float
    roi_lower_95: float
    streak: int
    efficiency: float
    expected_roi: float
    expected_roi_lower_95: float
    expected_roi_upper_95: float
    seen_roi: float  # without any correction for what is late


def draw_world(spec: SandboxSpec, seed: int, agent: Agent, size: PilotSize) -> TrialWorld:
    """Synthesize, fit and forecast; the campaigns of the pilot are the first of the history."""
    synthesis = SynthesisSpec(weeks=_WEEKS, campaigns=size.campaigns, seed=seed)
    history = synthesize(synthesis, spec.model_copy(update={"seed": seed}), simulator_points=False)
    tables = history_tables(history, only=_TABLES)
    reports = hour_reports(tables, source="synthesized")
    market = agent.market
    fit = fit_reports(reports, market.spec)
    account = fit_account(reports, fit, market.spec)
    world = PilotWorld(history.world, history.campaigns, history.end_tick)
    plan = _plan(world, size, account.estimates.conversion_value_micros)
    refunds = fit_refunds(tables[TableName.CONVERSIONS], history.instant(history.end_tick))
    chance = measure_chance(reports)
    known = ForecastAccount(
        spec=market.spec,
        personas=market.personas,
        estimates=account.estimates,
        curves=account.curves,
        objective=market.objective,
        chance=chance,
        refund_share=0.0 if refunds is None else refunds.share,
    )
    expected = forecast_pilot(plan, agent.policy, known, seed=seed, draws=_DRAWS)
    drawn = TrialWorld(
        seed=seed,
        world=world,
        plan=plan,
        agent=agent,
        account=known,
        late=late_value(fit.delay, refunds),
        expected=expected,
        factors={},
        lasting=(1.0,) * size.campaigns,
    )
    return replace(drawn, factors=_factors(drawn), lasting=_lasting(drawn))


def _plan(world: PilotWorld, size: PilotSize, value_micros: Floats) -> PilotPlan:
    first = date.fromordinal(_ordinal(world))
    campaigns = tuple(
        PilotCampaign(
            name=campaign.name,
            logged_as=campaign.name,
            daily_micros=size.daily_micros,
            conversion_value_micros=round(float(value)),
            targets=tuple(sorted(campaign.segments)),
            reference_bids_micros=tuple(_sorted_bids(campaign.segments, campaign.served)),
            creative=Creative(id=campaign.name),
        )
        for campaign, value in zip(world.campaigns, value_micros, strict=True)
    )
    return PilotPlan(
        name="trial",
        account=world.spec.customer_ids[0],
        currency=world.spec.currency,
        time_zone=world.spec.time_zone,
        model_hash=_MODEL_HASH,
        campaigns=campaigns,
        first_day=first,
        days=size.days,
        settle_days=size.settle_days,
        reach=size.reach,
        bid_ceiling_micros=100_000_000,
        loss_cap_micros=size.campaigns * size.days * size.daily_micros,
    )


def _ordinal(world: PilotWorld) -> int:
    return (world.spec.start.astimezone(world.spec.zone) + timedelta(minutes=world.end_tick)).date().toordinal()


def _sorted_bids(segments: Sequence[str], served: ServedCampaign) -> list[int]:
    """In the order of the estimates, which is that of names."""
    return [group.bid_micros for _, group in sorted(zip(segments, served.groups, strict=True))]


def _static(world: TrialWorld, factors: Sequence[float], *, limited: bool = True) -> list[ServedCampaign]:
    budget = [campaign.daily_micros for campaign in world.plan.campaigns]
    return [
        replace(scaled(campaign, factor), daily_micros=own if limited else UNLIMITED_MICROS)
        for campaign, factor, own in zip(world.incumbents, factors, budget, strict=True)
    ]


def _flight(world: TrialWorld, key: int, warm_days: int = 4) -> Flight:
    return Flight(days=world.plan.days, settle_days=world.plan.settle_days, warm_days=warm_days, key=key)


def _factors(world: TrialWorld) -> dict[str, float]:
    """Factors at which the incumbent truly returns -10% and 0%, between those that were tried."""
    count = len(world.plan.campaigns)
    flight = _flight(world, _REHEARSAL_KEY)
    returns = [fly(world.world, flight, _static(world, [f] * count), world.incumbents).true_roi for f in _FACTORS]
    falling = np.minimum.accumulate(returns)
    logs = np.interp([0.1, 0.0], -falling, np.log(_FACTORS))
    return {"true ROI -10%": float(np.exp(logs[0])), "true ROI 0%": float(np.exp(logs[1]))}


def _lasting(world: TrialWorld) -> tuple[float, ...]:
    """The largest factor up to 1 of each campaign with which it spends no more than its budget without a limit."""
    count, flight = len(world.plan.campaigns), _flight(world, _REHEARSAL_KEY + 1)
    spend = np.stack(
        [
            fly(world.world, flight, _static(world, [f] * count, limited=False), world.incumbents).true_spend_micros
            for f in _LASTING_FACTORS
        ]
    )
    budget = np.array([campaign.daily_micros for campaign in world.plan.campaigns]) * world.plan.days
    logs = np.log(_LASTING_FACTORS)
    return tuple(
        float(np.exp(np.interp(np.log(own), np.log(np.maximum.accumulate(spent)), logs)))
        for own, spent in zip(budget, spend.T, strict=True)
    )


def _constant(world: TrialWorld) -> list[ServedCampaign]:
    """One bid for all ad groups of a campaign."""
    bids = [sum(group.bid_micros for group in each.groups) // len(each.groups) for each in world.incumbents]
    return [
        replace(each, groups=tuple(replace(group, bid_micros=bid) for group in each.groups))
        for each, bid in zip(_static(world, [1.0] * len(bids)), bids, strict=True)
    ]


def _random(world: TrialWorld, key: int) -> list[ServedCampaign]:
    """A random factor between 1/3 and 3 on the constant bid, for each ad group and hour of the week."""
    rng = np.random.default_rng([world.seed, key, 53])
    return [
        replace(
            each,
            groups=tuple(
                replace(group, hour_factors=tuple(np.exp(rng.uniform(-np.log(3), np.log(3), 168))))
                for group in each.groups
            ),
        )
        for each in _constant(world)
    ]


def _agent_pilot(world: TrialWorld, key: int) -> PilotOutcome:
    """The agent, hour by hour, through the controller; reports lag as those of the world do."""
    flight = _flight(world, key)
    ticks = pilot_hours(world.world, flight)
    driven = DrivenPilot.of(
        world.world,
        plan_estimates(world.account.estimates, world.plan),
        world.agent.policy,
        world.agent.market,
        hour_ticks=ticks,
        start_hour_of_week=24 * world.plan.first_day.weekday(),
        reach=world.plan.reach,
    )
    return fly(world.world, flight, driven, world.incumbents)


def _always(bids: Callable[[TrialWorld, int], list[ServedCampaign]], warm_days: int = 4) -> "RunBidder":
    return lambda world, key: fly(world.world, _flight(world, key, warm_days), bids(world, key), world.incumbents)


def _scaled_to(name: str) -> "RunBidder":
    return _always(lambda world, _: _static(world, [world.factors[name]] * len(world.plan.campaigns)))


RunBidder = Callable[[TrialWorld, int], PilotOutcome]

CASES: Mapping[str, RunBidder] = {
    "true ROI -10%": _scaled_to("true ROI -10%"),
    "true ROI 0%": _scaled_to("true ROI 0%"),
    "incumbent": _always(lambda world, _: _static(world, [1.0] * len(world.plan.campaigns))),
    "incumbent, scaled until its budget lasts": _always(lambda world, _: _static(world, world.lasting)),
    "constant": _always(lambda world, _: _constant(world)),
    "random": _always(_random),
    "target ROAS 1.3": _always(
        lambda world, _: [
            replace(each, strategy=TargetRoas(1.3)) for each in _static(world, [1.0] * len(world.plan.campaigns))
        ],
        _ROAS_WARM_DAYS,
    ),
    "agent": _agent_pilot,
}


def run_case(world: TrialWorld, case: str, key: int, gate: Gate) -> TrialResult:
    """One pilot, judged by the rules of the gate that chance can make wrong."""
    outcome = CASES[case](world, key)
    measured = measure_pilot(
        _figures(world, outcome), world.expected, world.late, time_zone=world.plan.time_zone, safety_violations=0
    )
    evidence = Evidence(
        run_id="trial",
        agent=case,
        learned=case == "agent",
        config_hash="trial",
        measured_at=outcome.as_of,
        metrics=measured.metrics,
    )
    verdict = judge(statistical_rules(gate), evidence, outcome.as_of)
    failed = tuple(result.criterion.metric for result in verdict.results if result.outcome != "pass")
    return _result(world, case, key, outcome, measured, failed)


def _figures(world: TrialWorld, outcome: PilotOutcome) -> PilotFigures:
    return PilotFigures(
        as_of=outcome.as_of,
        days=outcome.days,
        campaigns=world.expected.campaigns,
        spend_micros=outcome.spend_micros,
        impressions=outcome.impressions,
        clicks=outcome.clicks,
        conversions=outcome.conversions,
        value_micros=outcome.value_micros,
        sales=outcome.sales,
        sale_value_micros=outcome.sale_value_micros,
    )


def _result(
    world: TrialWorld, case: str, key: int, outcome: PilotOutcome, measured: PilotMetrics, failed: tuple[str, ...]
) -> TrialResult:
    expected = world.expected.roi
    return TrialResult(
        seed=world.seed,
        key=key,
        case=case,
        true_roi=outcome.true_roi,
        failed=failed,
        roi=measured.roi,
        roi_lower_95=measured.roi_lower_95,
        streak=measured.positive_roi_streak,
        efficiency=measured.budget_efficiency,
        expected_roi=expected.value,
        expected_roi_lower_95=expected.lower_95,
        expected_roi_upper_95=expected.upper_95,
        seen_roi=measured.value_micros / max(measured.spend_micros, 1) - 1,
    )


def summary(results: Sequence[TrialResult]) -> dict[str, dict[str, object]]:
    """By case: how many pilots passed, what refused the others, and how true returns and estimates compare."""
    by_case: dict[str, dict[str, object]] = {}
    for case in dict.fromkeys(result.case for result in results):
        rows = [result for result in results if result.case == case]
        true = np.array([row.true_roi for row in rows])
        refused = Counter(rule for row in rows for rule in row.failed)
        by_case[case] = {
            "pilots": len(rows),
            "worlds": len({row.seed for row in rows}),
            "passed": sum(not row.failed for row in rows),
            "refused_by": dict(refused.most_common()),
            "true_roi": {"mean": float(true.mean()), "least": float(true.min()), "most": float(true.max())},
            "roi_error": float(np.mean([row.roi - row.true_roi for row in rows])),
            "uncorrected_error": float(np.mean([row.seen_roi - row.true_roi for row in rows])),
            "bound_above_truth": sum(row.roi_lower_95 > row.true_roi for row in rows),
            "efficiency": {
                "mean": float(np.mean([row.efficiency for row in rows])),
                "least": min(row.efficiency for row in rows),
            },
        }
    return by_case
