"""The lift of one policy over another where a log has no propensities: in twins drawn from the posterior.

Both policies play the same twins: the same draw of what the log leaves unknown, with the same random numbers. Each draw
gives one lift; their spread is what is unknown about the market, together with the chance of one window. The result
rests on the market being right, so it counts only beside fidelity, and it is labelled.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gaelp.arrays import Bools, Floats
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import DataError
from gaelp.history.bid_response import BidResponse, draw_response
from gaelp.history.posterior_report import PosteriorGroup, PosteriorLift
from gaelp.history.twin_market import TwinMarket, posterior_draws
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.objective import achieved_micros, target_return
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec
from gaelp.market.view import Action

__all__ = [
    "TwinOutcome",
    "TwinWindow",
    "lift_between",
    "lifts_by_group",
    "play_in_twins",
    "posterior_lift",
]

DRAWS_MIN = 20


@dataclass(frozen=True, slots=True)
class TwinWindow:
    """What the twins are drawn from and how long they run."""

    spec: MarketSpec  # the calibrated market
    personas: PersonaTable
    estimates: SegmentEstimates
    days: int
    start_hour_of_week: int
    objective: Objective = VALUE
    curves: ReportCurves | None = None  # count clicks and money by them, see `bid_response`; None: by the market


@dataclass(frozen=True, slots=True)
class TwinOutcome:
    """What one policy brought in each of R draws."""

    policy: str
    value_micros: Floats  # (R, N, S) expected
    spend_micros: Floats  # (R, N, S)
    achieved_micros: Floats  # (R,) what the objective counts, all campaigns together
    own_value_per_dollar: float  # with clicks and prices as the market itself makes them, over all draws

    @property
    def value_per_dollar(self) -> float:
        """Over all draws and campaigns; 0 where nothing was bought."""
        return float(self.value_micros.sum() / max(float(self.spend_micros.sum()), 1.0))


def posterior_lift(policy: Bidder, baseline: Bidder, window: TwinWindow, *, draws: int, seed: int) -> PosteriorLift:
    """Play both policies in the same twins; the interval is the spread over draws."""
    ours, theirs = (play_in_twins(bidder, window, draws=draws, seed=seed) for bidder in (policy, baseline))
    return lift_between(ours, theirs)


def play_in_twins(policy: Bidder, window: TwinWindow, *, draws: int, seed: int) -> TwinOutcome:
    """Play a policy in so many twins; the same window, draws and seed give the same twins to every policy."""
    if draws < DRAWS_MIN:
        raise DataError(f"saw {draws} draws; allowed: {DRAWS_MIN} or more, or the ends of the interval mean nothing.")
    drawn = posterior_draws(window.estimates, draws, np.random.default_rng([seed, 19]))
    return _played(policy, window, drawn, seed)


def lift_between(ours: TwinOutcome, theirs: TwinOutcome, confidence: float = 0.95) -> PosteriorLift:
    """Of one policy over another that played the same twins."""
    if (theirs.spend_micros.sum(axis=(1, 2)) <= 0).any() or (theirs.value_micros.sum(axis=(1, 2)) <= 0).any():
        raise DataError(
            f"{theirs.policy} buys nothing in at least one of {len(theirs.achieved_micros)} twins: there is nothing to"
            " compare"
        )
    everything = np.ones(ours.value_micros.shape[1:], bool)
    per_dollar = _ratio(ours, theirs, everything)
    size = np.maximum(np.abs(theirs.achieved_micros), 1.0)
    objective = (ours.achieved_micros - theirs.achieved_micros) / size
    outside = (1 - confidence) / 2
    objective_lower, objective_upper = np.quantile(objective, [outside, 1 - outside])
    lift, lower, upper = _interval(per_dollar, confidence)
    return PosteriorLift(
        policy=ours.policy,
        baseline=theirs.policy,
        draws=len(per_dollar),
        confidence=confidence,
        market_value_per_dollar=ours.value_per_dollar,
        baseline_value_per_dollar=theirs.value_per_dollar,
        value_per_dollar=tuple(per_dollar.tolist()),
        objective=tuple(objective.tolist()),
        lift=lift,
        lift_lower=lower,
        lift_upper=upper,
        objective_lift=float(np.median(objective)),
        objective_lift_lower=float(objective_lower),
        objective_lift_upper=float(objective_upper),
        better_share=float((per_dollar > 0).mean()),
    )


def lifts_by_group(
    ours: TwinOutcome, theirs: TwinOutcome, estimates: SegmentEstimates, confidence: float = 0.95
) -> tuple[PosteriorGroup, ...]:
    """By campaign, and by segments of the same name in all campaigns, where the baseline buys; by Bonferroni."""
    groups = [(kind, name, cells) for kind, name, cells in _groups(estimates) if _buys(theirs, cells)]
    each = 1 - (1 - confidence) / max(len(groups), 1)
    lifts = []
    for kind, name, cells in groups:
        lift, lower, upper = _interval(_ratio(ours, theirs, cells), each)
        lifts.append(PosteriorGroup(kind=kind, name=name, lift=lift, lower=lower, upper=upper))
    return tuple(lifts)


def _groups(estimates: SegmentEstimates) -> Iterator[tuple[str, str, Bools]]:
    """Kind, name and cells (N, S)."""
    for place, name in enumerate(estimates.campaign_names):
        cells = np.zeros(estimates.row.shape, bool)
        cells[place] = estimates.present[place]
        yield "campaign", name, cells
    names = np.array(estimates.segment_names)
    for name in np.unique(names[estimates.present]).tolist():
        yield "segment", name, (names == name) & estimates.present


def _buys(outcome: TwinOutcome, cells: Bools) -> bool:
    """Whether the cells have value and spend in every draw."""
    return bool(min(_sum(outcome.value_micros, cells).min(), _sum(outcome.spend_micros, cells).min()) > 0)


def _sum(figures: Floats, cells: Bools) -> Floats:
    return np.asarray(figures[:, cells].sum(axis=1))


def _ratio(ours: TwinOutcome, theirs: TwinOutcome, cells: Bools) -> Floats:
    """Value per unit of money of one over the other, less 1, (R,)."""
    own = _sum(ours.value_micros, cells) / np.maximum(_sum(ours.spend_micros, cells), 1.0)
    return np.asarray(own / (_sum(theirs.value_micros, cells) / _sum(theirs.spend_micros, cells)) - 1)


def _interval(lifts: Floats, confidence: float) -> tuple[float, float, float]:
    """Mean and ends for a further draw, by Student's t in logarithms; a policy that buys nothing has -1."""
    if lifts.min() <= -1:
        return -1.0, -1.0, float(lifts.max())
    logs = np.log1p(lifts)
    draws = len(logs)
    reach = stats.t.ppf(0.5 + confidence / 2, draws - 1) * float(logs.std(ddof=1)) * math.sqrt(1 + 1 / draws)
    mean = float(logs.mean())
    return math.expm1(mean), math.expm1(mean - reach), math.expm1(mean + reach)


def _played(policy: Bidder, window: TwinWindow, drawn: Sequence[SegmentEstimates], seed: int) -> TwinOutcome:
    twin = TwinMarket(
        window.spec,
        window.personas,
        window.estimates,
        drawn,
        days=window.days,
        start_hour_of_week=window.start_hour_of_week,
        seed=seed,
        objective=window.objective,
    )
    policy.begin(twin.brief)
    observation = twin.observe()
    response = None
    if window.curves is not None:
        response = draw_response(window.curves, window.estimates, drawn, np.random.default_rng([seed, 29]))
    pair = (twin.market.campaigns, twin.brief.segments)
    value, spend, own = np.zeros(pair), np.zeros(pair), np.zeros(2)
    while not twin.done:
        action = policy.act(observation)
        observation, outcome = twin.step(action)
        hour_value, hour_spend = outcome.value_micros, twin.market.state.cost_micros.astype(np.float64)
        own += hour_value.sum(), hour_spend.sum()
        if response is not None:
            hour_value, hour_spend = _by_curves(response, twin, action, hour_value)
        value += hour_value
        spend += hour_spend
    target = target_return(window.objective, twin.brief.conversion_value_micros)
    # Logged campaigns have no hindsight optimum: a flight that misses its target counts with the whole penalty.
    unbounded = np.full(len(value), np.inf)
    achieved = achieved_micros(
        window.objective, value.sum(axis=1), spend.sum(axis=1), target=target, optimum_micros=unbounded
    )
    by_draw = (len(drawn), -1, pair[1])
    return TwinOutcome(
        policy=policy.name,
        value_micros=value.reshape(by_draw),
        spend_micros=spend.reshape(by_draw),
        achieved_micros=achieved.reshape(len(drawn), -1).sum(axis=1),
        own_value_per_dollar=float(own[0] / max(own[1], 1.0)),
    )


def _by_curves(response: BidResponse, twin: TwinMarket, action: Action, value_micros: Floats) -> tuple[Floats, Floats]:
    """Value and spend of the hour that was played, (R x N, S), with clicks and their prices as bids move them."""
    shape = (twin.copies, *twin.estimates.row.shape)
    bids = action.bid_micros.reshape(shape) / twin.estimates.bid_scale
    value = value_micros.reshape(shape) * response.clicks_factor(bids)
    spend = response.spend_micros(bids, twin.market.state.impressions.reshape(shape))
    return value.reshape(value_micros.shape), spend.reshape(value_micros.shape)
