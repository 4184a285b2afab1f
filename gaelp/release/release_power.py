"""What a release plan can show: how often each true lift would be promoted within its days, and at which cost.

Releases are drawn from the figures of the pilot (release_draws.py) and judged by the gate's rules on improvement and on
campaign success. A plan whose budgets do not carry a conclusion on both, with an agent as good as expected, is refused
with the size it needs. Whether enough campaigns succeed is up to the agent: that is shown and refuses no plan.
"""

import math

import numpy as np

from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.gates import Criterion, Gate
from gaelp.gates.lift_test import LiftPlan
from gaelp.release.campaign_flights import SuccessRate
from gaelp.release.release_draws import ReleaseGround, ReleaseSize, draw_releases, largest_observation

__all__ = [
    "LIFTS",
    "POWER_LEAST",
    "LiftPower",
    "ReleasePower",
    "find_release_size",
    "refuse_without_power",
    "release_power",
    "tightened_test",
]

LIFTS = (0.0, 0.15, 0.3, 0.5)  # true lifts over the control that every plan is tried on
POWER_LEAST = 0.8  # how often an agent as good as expected should be promoted, with flights enough to judge
SUCCESS = "campaign_success_rate"
_RELEASES, _SEARCH_RELEASES = 200, 60
_MOST_DAYS = 365  # of comparison that a plan can have
_FULL_DAYS_MOST = 60
_TIMES_CAMPAIGNS = (1, 1.25, 1.5, 2, 3, 4)
_SPARE_FLIGHTS = 1.05  # times the least, so that chance in spend does not leave too few
_TIGHT_LIFT, _TIGHT_RELEASES = 0.5, 40


class LiftPower(Frozen):
    """What becomes of releases with one true lift."""

    lift: float
    promoted: float  # share in which the improvement is shown within the days
    rolled_back: float  # share in which the agent is shown to be worse
    concludes: float  # share that is promoted and has enough flights to judge campaign success
    passes: float  # share in which enough of them succeed as well
    days: float  # mean, until the promotion, the rollback or the last day
    spend_micros: int  # mean, of both sides together


class ReleasePower(Frozen):
    """What releases of one size can show."""

    size: ReleaseSize
    budget_micros: int  # all first budgets over all days
    expected_lift: float
    releases: int  # drawn for each lift
    lifts: tuple[LiftPower, ...]

    @property
    def expected(self) -> LiftPower:
        """For the lift that is expected."""
        return next(each for each in self.lifts if each.lift == self.expected_lift)

    @property
    def is_enough(self) -> bool:
        """Whether a release of an agent as good as expected mostly comes to a conclusion."""
        return self.expected.concludes >= POWER_LEAST


def release_power(
    ground: ReleaseGround,
    gate: Gate,
    *,
    seed: int,
    size: ReleaseSize | None = None,
    releases: int = _RELEASES,
    lifts: tuple[float, ...] = LIFTS,
) -> ReleasePower:
    """Draw releases for each true lift, the expected one included, and judge them."""
    shape = size or ground.size
    rng = np.random.default_rng([seed, 53])
    daily = ground.plan.campaigns.daily_micros * shape.campaigns // ground.size.campaigns
    return ReleasePower(
        size=shape,
        budget_micros=daily * (shape.days + shape.full_days),
        expected_lift=ground.expected_lift,
        releases=releases,
        lifts=tuple(
            _lift_power(ground, gate, shape, lift, releases=releases, rng=rng)
            for lift in sorted({*lifts, ground.expected_lift})
        ),
    )


def tightened_test(ground: ReleaseGround, *, seed: int) -> LiftPlan:
    """The plan's test with the lowest limit that its observations hardly ever reach, never above the gate's.

    A lower limit shows the same lift with fewer pairs. It is the largest of tens of thousands that are drawn with a
    lift of 50%; what exceeds it, where sales differ from those of the pilot, is charged to later pairs.
    """
    test = ground.plan.lift
    if test.clip_at is None:
        return test
    rng = np.random.default_rng([seed, 59])
    most = largest_observation(ground, ground.size, _TIGHT_LIFT, _TIGHT_RELEASES, rng=rng)
    return test.model_copy(update={"clip_at": min(test.clip_at, float(max(math.ceil(most), 1)))})


def find_release_size(ground: ReleaseGround, gate: Gate, *, seed: int) -> ReleasePower | None:
    """The size with the fewest campaigns that is enough; None if there is none within a year.

    More days only take time. More campaigns take a pilot with as many.
    """
    for times in _TIMES_CAMPAIGNS:
        size = _size_for(ground, gate, math.ceil(times * ground.size.campaigns), seed=seed)
        if size is not None:
            power = release_power(ground, gate, seed=seed + 1, size=size, lifts=())
            if power.is_enough:
                return power
    return None


def refuse_without_power(power: ReleasePower, ground: ReleaseGround, gate: Gate, *, seed: int) -> None:
    """Raise BadInput for a plan whose budgets do not carry a conclusion; it names the budgets that do."""
    if power.is_enough:
        return
    size, expected = power.size, power.expected
    raise BadInput(
        f"{size.campaigns} campaigns for {size.days} days of comparison and {size.full_days} at 100% cannot carry gate"
        f" {gate.name}: with the expected lift of {expected.lift:+.0%} over the control {expected.promoted:.0%} of"
        f" releases are promoted, and {expected.concludes:.0%} have flights enough as well (at least {POWER_LEAST:.0%}"
        f" should). To fix it, {_way_out(ground, gate, seed=seed)}"
    )


def _way_out(ground: ReleaseGround, gate: Gate, *, seed: int) -> str:
    asked = ground.plan.exposure.steps[-2].lift_lower_min or 0.0
    if ground.expected_lift <= asked:
        return (
            f"release an agent that is further ahead, or ask for less: no budget shows {asked:+.0%} where"
            f" {ground.expected_lift:+.0%} is expected"
        )
    needed = find_release_size(ground, gate, seed=seed)
    if needed is None:
        return (
            f"raise scale.daily_micros or choose other campaigns: no size with up to {_TIMES_CAMPAIGNS[-1]} times as"
            f" many campaigns and {_MOST_DAYS} days is enough"
        )
    size = needed.size
    return (
        f"plan {size.campaigns} campaigns for scale.days={size.days} and scale.full_days={size.full_days} (budgets of"
        f" {needed.budget_micros / 1e6:,.0f} in all): there it is {needed.expected.concludes:.0%}"
    )


def _lift_power(
    ground: ReleaseGround, gate: Gate, size: ReleaseSize, lift: float, *, releases: int, rng: np.random.Generator
) -> LiftPower:
    ends = draw_releases(ground, size, lift, releases, rng=rng)
    rules = [rule for rule in gate.criteria if rule.metric == SUCCESS]
    rates = [rate for rate in ends.success if rate is not None and _is_judged(rules, rate)]
    passed = [all(_holds(rule, rate) for rule in rules) for rate in rates]
    return LiftPower(
        lift=lift,
        promoted=float(ends.promoted.mean()),
        rolled_back=float(ends.rolled_back.mean()),
        concludes=len(rates) / releases,
        passes=sum(passed) / releases,
        days=float(ends.day.mean()),
        spend_micros=round(float(ends.spend_micros.mean())),
    )


def _is_judged(rules: list[Criterion], rate: SuccessRate) -> bool:
    return all(rate.flights >= rule.minimum_sample for rule in rules)


def _holds(rule: Criterion, rate: SuccessRate) -> bool:
    figure = {"value": rate.value, "lower_95": rate.lower_95, "upper_95": rate.upper_95}[rule.compare]
    return figure is not None and rule.limit.holds(figure)


def _size_for(ground: ReleaseGround, gate: Gate, campaigns: int, *, seed: int) -> ReleaseSize | None:
    """Days in which most releases are promoted, and days at 100% that bring enough flights; None: more than a year."""
    most = max(min(_MOST_DAYS, math.ceil(_MOST_DAYS * ground.size.campaigns / campaigns)), ground.size.days)
    rng = np.random.default_rng([seed, 61])
    long = ReleaseSize(campaigns=campaigns, days=most, full_days=1)
    ends = draw_releases(ground, long, ground.expected_lift, _SEARCH_RELEASES, rng=rng)
    enough = (1 + POWER_LEAST) / 2  # more than asked: some of those that are promoted have too few flights
    days = float(np.quantile(np.where(ends.promoted, ends.day, np.inf), enough, method="inverted_cdf"))
    if not math.isfinite(days):
        return None
    flights = [rate.flights for rate in ends.success if rate is not None]
    needed = max((rule.minimum_sample for rule in gate.criteria if rule.metric == SUCCESS), default=0)
    missing = _SPARE_FLIGHTS * needed - float(np.quantile(flights, 0.1))
    spend = float(np.mean(np.sum(ground.expected.spend_micros, axis=1)))
    per_day = spend * campaigns / len(ground.expected.campaigns) / ground.plan.flights.spend_micros
    full = max(math.ceil(missing / max(per_day, 1e-9)) + 1, 1)
    return ReleaseSize(campaigns=campaigns, days=math.ceil(days), full_days=full) if full <= _FULL_DAYS_MOST else None
