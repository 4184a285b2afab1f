"""Compare policies on held-out episodes, all on the same ones: rewards, headroom and leads with 95% intervals."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gaelp.arrays import Bools, Floats, Uints
from gaelp.config.base import Frozen
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import BadInput
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.campaign_outcomes import group_leads, ruined, succeeded
from gaelp.market.baselines.episodes import Played, held_out_seeds, join_played, play
from gaelp.market.episode_log import EpisodeWatcher
from gaelp.market.market import Market
from gaelp.market.reward import headroom_share, optimum_share

__all__ = [
    "CampaignFigures",
    "CampaignMoney",
    "Comparison",
    "Estimate",
    "PolicyResult",
    "campaign_figures",
    "compare",
    "compare_played",
    "headroom",
    "lead",
]

CompareProgress = Callable[[str, int, int], None]  # policy, episodes done, episodes in all

_EPISODES_MAX = 1_000_000  # more would only narrow an interval that is already a thousandth
_BATCH_EPISODES = 256  # bounds memory: about 40 MB with 72 hours and 8 segments
_Z_95 = 1.959963984540054
_INFORMED = "(informed)"
_LEAST_BASE = 0.01  # of the optimum: a lead is relative to at least this, for a rule that earns nothing or loses


class Estimate(Frozen):
    """A mean over episodes and its 95% interval."""

    value: float
    lower_95: float
    upper_95: float


class CampaignMoney(Frozen):
    """What a policy did with the money: means of a campaign, ratios of sums; values and conversions are expected."""

    spend_micros: int
    spend_share: float  # of all budgets together
    value_micros: int
    profit_micros: int
    roas: float | None  # value over spend; None if nothing was spent
    cpa_micros: int | None  # spend per conversion; None if nothing was won


class CampaignFigures(Frozen):
    """How a policy did against a reference, campaign by campaign."""

    success_rate: Estimate  # share of campaigns with at least 0.97 of the reference's outcome
    ruined_share: Estimate  # share of campaigns with less than 0.7 of it
    worst_group: str  # of fifty groups of campaigns, such as `price, 10 of 10`
    worst_group_lead: float


class PolicyResult(Frozen):
    """How one policy did."""

    policy: str
    informed: bool
    reward: Estimate
    headroom_share: Estimate  # of the way from the constant bid to the optimum
    difference_to_best: Estimate  # in reward, against the best uninformed rule on the same episodes
    lead_over_best: Estimate  # the same relative to that rule's reward
    lead_over_constant: Estimate  # relative to the constant bid's reward
    lead_over_informed: Estimate | None = None  # relative to the best informed rule, if there is one
    budget_used: float
    reward_p10: float
    against_best: CampaignFigures | None = None  # the best uninformed rule; None in results from before it was reported
    success_rate: float | None = None  # in older results: share of episodes with at least the constant bid's reward
    last_50_z: float | None = None  # in older results: standard errors between the last 50 episodes and those before
    money: CampaignMoney | None = None  # None in results from before it was reported


class Comparison(Frozen):
    """How policies did on the same held-out episodes of one market, in the order in which they were given."""

    market: str
    label: str
    episodes: int
    seed: int
    objective: Objective = VALUE
    constant: str
    best_uninformed: str
    best_informed: str | None = None
    results: tuple[PolicyResult, ...]

    def of(self, policy: str) -> PolicyResult:
        """One policy's result."""
        return next(result for result in self.results if result.policy == policy)


def compare(
    market: Market,
    rules: Sequence[Bidder],
    *,
    constant: Bidder,
    candidates: Sequence[Bidder] = (),
    episodes: int = 1000,
    seed: int = 1009,
    progress: CompareProgress | None = None,
    watchers: Mapping[str, EpisodeWatcher] | None = None,
) -> Comparison:
    """Play every policy on the same held-out episodes; a policy's watcher, by its name, sees every hour.

    The best uninformed rule is the one with the highest mean here, so a lead over it is rather under- than overstated;
    `candidates` are compared with it but cannot be it.
    """
    policies = _unique([constant, *rules, *candidates])
    if episodes < 2:
        raise BadInput(f"episodes={episodes} seen, 2 or more allowed: an interval needs several")
    if episodes > _EPISODES_MAX:
        raise BadInput(f"episodes={episodes} seen, {_EPISODES_MAX} or fewer allowed: choose a thousand or so")
    seeds = held_out_seeds(seed, episodes)
    watchers = watchers or {}
    played = {
        policy.name: _play_in_batches(market, policy, seeds, progress, watchers.get(policy.name)) for policy in policies
    }
    names = [rule.name for rule in _unique([constant, *rules])]
    return compare_played(market, played, rules=names, constant=constant.name, seed=seed)


def compare_played(
    market: Market, played: Mapping[str, Played], *, rules: Sequence[str], constant: str, seed: int
) -> Comparison:
    """Compare policies that have played the same episodes; those that are not named in `rules` are candidates."""
    best = _best(played, [name for name in rules if _INFORMED not in name])
    informed_names = [name for name in rules if _INFORMED in name]
    informed = _best(played, informed_names) if informed_names else None
    of_constant = played[constant]
    optimum_shares = optimum_share(market.objective, of_constant.optimum_micros, of_constant.budget_micros)
    return Comparison(
        market=market.spec.name,
        label=market.spec.label,
        episodes=len(played[constant].reward),
        seed=seed,
        objective=market.objective,
        constant=constant,
        best_uninformed=best,
        best_informed=informed,
        results=tuple(
            _result(
                name,
                outcome,
                optimum_shares=optimum_shares,
                constant=of_constant.reward,
                best=played[best].reward,
                informed=played[informed].reward if informed else None,
            )
            for name, outcome in played.items()
        ),
    )


def _unique(policies: Sequence[Bidder]) -> list[Bidder]:
    """Each name once; the constant bid may come again among the rules."""
    return list({policy.name: policy for policy in reversed(policies)}.values())[::-1]


def _play_in_batches(
    market: Market, policy: Bidder, seeds: Uints, progress: CompareProgress | None, watcher: EpisodeWatcher | None
) -> Played:
    parts = []
    for first in range(0, len(seeds), _BATCH_EPISODES):
        batch = seeds[first : first + _BATCH_EPISODES]
        parts.append(play(market, policy, batch, watcher))
        if progress:
            progress(policy.name, first + len(batch), len(seeds))
    return join_played(parts, market.objective)


def _best(played: Mapping[str, Played], names: Sequence[str]) -> str:
    return max(names, key=lambda name: float(played[name].reward.mean()))


def _result(
    name: str,
    played: Played,
    *,
    optimum_shares: Floats | None,
    constant: Floats,
    best: Floats,
    informed: Floats | None,
) -> PolicyResult:
    reward = played.reward
    return PolicyResult(
        policy=name,
        informed=_INFORMED in name,
        reward=_mean_over_optima(reward, optimum_shares),
        headroom_share=headroom(reward, constant, optimum_shares),
        difference_to_best=_mean_over_optima(reward - best, optimum_shares),
        lead_over_best=lead(reward, best),
        lead_over_constant=lead(reward, constant),
        lead_over_informed=None if informed is None else lead(reward, informed),
        budget_used=float(played.budget_used.mean()),
        reward_p10=float(np.quantile(reward, 0.1)),
        against_best=campaign_figures(reward, best, played.launch),
        money=_money(played),
    )


def _money(played: Played) -> CampaignMoney:
    spend, value = float(played.cost_micros.sum()), float(played.value_micros.sum())
    conversions, campaigns = float(played.conversions.sum()), len(played.reward)
    return CampaignMoney(
        spend_micros=round(spend / campaigns),
        spend_share=spend / float(played.budget_micros.sum()),
        value_micros=round(value / campaigns),
        profit_micros=round((value - spend) / campaigns),
        roas=value / spend if spend else None,
        cpa_micros=round(spend / conversions) if conversions else None,
    )


# Ratios of means get their interval by the delta method: the influence of each episode on the ratio has mean zero, and
# its standard deviation over the square root of the number of episodes is the ratio's standard error.


def _mean_over_optima(reward: Floats, optimum_shares: Floats | None) -> Estimate:
    """The mean; where rewards share a mean optimum, its error counts as well."""
    mean = float(reward.mean())
    return _estimate(mean, reward - (mean if optimum_shares is None else mean * optimum_shares))


def headroom(reward: Floats, constant: Floats, optimum_shares: Floats | None = None) -> Estimate:
    """How much of the way from the constant bid to the optimum: (agent - constant) / (1 - constant)."""
    mean, base = float(reward.mean()), float(constant.mean())
    room = 1.0 - base
    influence = (reward - mean) / room - (constant - base) * (1.0 - mean) / room**2
    if optimum_shares is not None:
        influence = influence - headroom_share(mean, base) * (optimum_shares - 1.0) / room
    return _estimate(headroom_share(mean, base), influence)


def lead(reward: Floats, reference: Floats) -> Estimate:
    """How far ahead of a reference in the same episodes: reward / reference - 1.

    A reference that earns less than a hundredth of the optimum is taken to earn that much when the lead is divided.
    """
    mean, base = float(reward.mean()), float(reference.mean())
    if base < _LEAST_BASE:
        difference = reward - reference
        return _estimate(float(difference.mean()) / _LEAST_BASE, (difference - difference.mean()) / _LEAST_BASE)
    influence = (reward - mean) / base - (reference - base) * mean / base**2
    return _estimate(mean / base - 1.0, influence)


def campaign_figures(reward: Floats, reference: Floats, launch: Floats) -> CampaignFigures:
    """Compare with a reference in the same campaigns, whose `launch_properties` are given."""
    leads = group_leads(reward, reference, launch)
    worst = min(leads, key=lambda name: leads[name])
    return CampaignFigures(
        success_rate=_share(succeeded(reward, reference)),
        ruined_share=_share(ruined(reward, reference)),
        worst_group=worst,
        worst_group_lead=leads[worst],
    )


def _share(chosen: Bools) -> Estimate:
    """A share with Wilson's interval, which also holds for a share of 0: no case in 2,000 may still be 0.19%."""
    count, share = len(chosen), float(chosen.mean())
    shrunk = 1 + _Z_95**2 / count
    middle = (share + _Z_95**2 / (2 * count)) / shrunk
    half = _Z_95 * math.sqrt(share * (1 - share) / count + _Z_95**2 / (4 * count**2)) / shrunk
    lower, upper = min(middle - half, share), max(middle + half, share)  # equal but for rounding at 0 and 1
    return Estimate(value=share, lower_95=max(lower, 0.0), upper_95=min(upper, 1.0))


def _estimate(value: float, influence: Floats) -> Estimate:
    half = _Z_95 * float(influence.std(ddof=1)) / math.sqrt(len(influence))
    return Estimate(value=value, lower_95=value - half, upper_95=value + half)
