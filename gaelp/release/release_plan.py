"""The plan of a release: campaigns and money, which people sign as a mandate, and the steps of its exposure."""

from datetime import date

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.config.scale_settings import ScaleSettings
from gaelp.errors import BadInput
from gaelp.gates import Criterion, Gate
from gaelp.gates.lift_test import LiftPlan, lift_plan
from gaelp.pilot.campaign_names import pilot_campaign_name
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.release.campaign_flights import FLIGHT_CONVERSIONS, FlightRules
from gaelp.release.exposure import ExposurePlan, choose_strategy, plan_exposure
from gaelp.release.exposure_checks import CheckLimits
from gaelp.release.pairs import PairRules

__all__ = ["IMPROVEMENT", "ProvenLift", "ReleasePlan", "improvement_rule", "make_release_plan"]

IMPROVEMENT = "improvement"  # the metric of gate 4 that promotes
_ESTIMATE = "improvement_estimate"  # a production gate may ask for less proof, and for this beside it
_LOSS_SHARE = 3
_RAISED_TIMES = 2


class ProvenLift(Frozen):
    """What was proven before: the lift over the logged bids, and what a campaign of the pilot spent on a day."""

    value: float
    lower_95: float
    day_spend_micros: int
    conversion_micros: int = Field(description="what the pilot spent for a conversion")


class ReleasePlan(Frozen):
    """Everything that is fixed before the first dollar of a release."""

    campaigns: PilotPlan
    exposure: ExposurePlan
    pairs: PairRules
    lift: LiftPlan
    flights: FlightRules
    full_days: int

    @property
    def proof_days(self) -> int:
        """Days on which the comparison may end with a proof."""
        return self.campaigns.days - self.full_days


def improvement_rule(gate: Gate) -> Criterion:
    """The rule of a gate that asks for a proven improvement over the control."""
    for rule in gate.criteria:
        if rule.metric == IMPROVEMENT and rule.sequential:
            return rule
    raise BadInput(f"gate {gate.name} has no sequential rule on {IMPROVEMENT}: a release ends by one, so add it")


def make_release_plan(
    pilot: PilotPlan, settings: ScaleSettings, gate: Gate, proven: ProvenLift, *, name: str, first_day: date
) -> ReleasePlan:
    """The release of an agent on the campaigns of its pilot, as counterparts with names of their own."""
    if settings.step_days % 2:
        raise BadInput(
            f"scale.step_days={settings.step_days}; allowed: even numbers, days are compared in blocks of two"
        )
    rule = improvement_rule(gate)
    campaigns = _campaigns(pilot, settings, name=name, first_day=first_day)
    strategy = choose_strategy(proven.value, proven.lower_95)
    exposure = plan_exposure(
        strategy,
        CheckLimits(loss_cap_micros=campaigns.loss_cap_micros),
        lift_lower_min=rule.threshold,
        lift_min=_asked_estimate(gate),
        step_days=settings.step_days,
        pairs_min=rule.minimum_sample,
        hold_deadline_days=settings.days,
    )
    unit = max(proven.day_spend_micros // 2, 1)
    return ReleasePlan(
        campaigns=campaigns,
        exposure=exposure,
        pairs=PairRules(unit_micros=unit, age_days_min=settings.mature_days),
        lift=lift_plan(gate, rule),
        flights=FlightRules(spend_micros=FLIGHT_CONVERSIONS * max(proven.conversion_micros, 1)),
        full_days=settings.full_days,
    )


def _asked_estimate(gate: Gate) -> float | None:
    """What a gate asks of the point estimate beside its bound; none: nothing."""
    return next((rule.threshold for rule in gate.criteria if rule.metric == _ESTIMATE), None)


def _campaigns(pilot: PilotPlan, settings: ScaleSettings, *, name: str, first_day: date) -> PilotPlan:
    daily = settings.daily_micros
    campaigns = tuple(
        campaign.model_copy(
            update={
                "name": pilot_campaign_name(name, campaign.logged_as),
                "daily_micros": daily or campaign.daily_micros,
            }
        )
        for campaign in pilot.campaigns
    )
    first = max(campaign.daily_micros for campaign in campaigns)
    raised = settings.raised_daily_micros or _RAISED_TIMES * first
    if raised < first:
        raise BadInput(
            f"scale.raised_daily_micros={raised} is below a first budget of {first}: raise it, or lower that"
        )
    days = settings.days + settings.full_days
    spend = sum(campaign.daily_micros for campaign in campaigns) * days
    return PilotPlan.model_validate(
        {
            **pilot.model_dump(),
            "name": name,
            "campaigns": [campaign.model_dump() for campaign in campaigns],
            "first_day": first_day,
            "days": days,
            "settle_days": settings.settle_days,
            "loss_cap_micros": settings.loss_cap_micros or spend // _LOSS_SHARE,
            "raise_percent": settings.raise_percent,
            "raised_daily_micros": raised,
        }
    )
