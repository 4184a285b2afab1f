"""The lift of one policy over another where a log has no propensities: in twins drawn from the posterior.

Both policies play the same twins: the same draw of what the log leaves unknown, with the same random numbers. Each draw
gives one lift; their spread is what is unknown about the market, together with the chance of one window. The result
rests on the market being right, so it counts only beside fidelity, and it is labelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import DataError
from gaelp.history.twin_market import TwinMarket, posterior_draws
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.objective import achieved_micros, target_return
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec

__all__ = ["PosteriorLift", "TwinWindow", "posterior_lift"]

DRAWS_MIN = 20
_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class TwinWindow:
    """What the twins are drawn from and how long they run."""

    spec: MarketSpec  # the calibrated market
    personas: PersonaTable
    estimates: SegmentEstimates
    days: int
    start_hour_of_week: int
    objective: Objective = VALUE


class PosteriorLift(Frozen):
    """Of the first policy over the second, one entry a draw, all campaigns together."""

    label: str = "model-based"
    policy: str
    baseline: str
    draws: int
    value_per_dollar: tuple[float, ...]  # ratio of value per unit of money, less 1
    objective: tuple[float, ...]  # what the objective counts, over what the baseline achieves in size, less 1
    lift: float  # median over draws of value per unit of money
    lift_lower_95: float
    lift_upper_95: float
    objective_lift: float
    objective_lift_lower_95: float
    objective_lift_upper_95: float
    better_share: float  # of draws in which value per unit of money is higher


def posterior_lift(policy: Bidder, baseline: Bidder, window: TwinWindow, *, draws: int, seed: int) -> PosteriorLift:
    """Play both policies in the same twins; the interval is the spread over draws."""
    if draws < DRAWS_MIN:
        raise DataError(f"saw {draws} draws; allowed: {DRAWS_MIN} or more, or the ends of the interval mean nothing.")
    drawn = posterior_draws(window.estimates, draws, np.random.default_rng([seed, 19]))
    value, spend, achieved = _played(policy, window, drawn, seed)
    base_value, base_spend, base_achieved = _played(baseline, window, drawn, seed)
    if (base_spend <= 0).any() or (base_value <= 0).any():
        raise DataError(f"{baseline.name} buys nothing in at least one of {draws} twins: there is nothing to compare")
    per_dollar = (value / np.maximum(spend, 1.0)) / (base_value / base_spend) - 1
    lift = (achieved - base_achieved) / np.maximum(np.abs(base_achieved), 1.0)
    lower, upper = np.quantile(per_dollar, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    objective_lower, objective_upper = np.quantile(lift, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    return PosteriorLift(
        policy=policy.name,
        baseline=baseline.name,
        draws=draws,
        value_per_dollar=tuple(per_dollar.tolist()),
        objective=tuple(lift.tolist()),
        lift=float(np.median(per_dollar)),
        lift_lower_95=float(lower),
        lift_upper_95=float(upper),
        objective_lift=float(np.median(lift)),
        objective_lift_lower_95=float(objective_lower),
        objective_lift_upper_95=float(objective_upper),
        better_share=float((per_dollar > 0).mean()),
    )


def _played(
    policy: Bidder, window: TwinWindow, drawn: Sequence[SegmentEstimates], seed: int
) -> tuple[Floats, Floats, Floats]:
    """Expected value, spend and what the objective counts, of each draw, (R,)."""
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
    value, spend = np.zeros(twin.market.campaigns), np.zeros(twin.market.campaigns)
    while not twin.done:
        observation, outcome = twin.step(policy.act(observation))
        value += outcome.value_micros.sum(axis=1)
        spend += twin.market.state.cost_micros.sum(axis=1)
    target = target_return(window.objective, twin.brief.conversion_value_micros)
    # Logged campaigns have no hindsight optimum: a flight that misses its target counts with the whole penalty.
    unbounded = np.full(len(value), np.inf)
    achieved = achieved_micros(window.objective, value, spend, target=target, optimum_micros=unbounded)
    by_draw = (len(drawn), -1)
    value, spend, achieved = (each.reshape(by_draw).sum(axis=1) for each in (value, spend, achieved))
    return value, spend, achieved
