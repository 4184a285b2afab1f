"""Compute the metrics of the first gate from played episodes, most of them with a 95% interval."""

import math

from pydantic.fields import FieldInfo

from gaelp.config.base import Frozen
from gaelp.config.validation import validated
from gaelp.errors import DataError
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.compare import CompareProgress, Comparison, compare
from gaelp.market.baselines.tuned import TunedRules
from gaelp.market.episode_log import EpisodeWatcher
from gaelp.market.market import Market
from gaelp.market.spec import MarketSpec

__all__ = [
    "Judged",
    "MarketShift",
    "agent_metrics",
    "first_gate_metrics",
    "judge_policy",
    "policies_compared",
    "shifted",
]

_SHIFTED = "-shifted"
_JUDGED_WHEN_SHIFTED = ("lead_over_best_rule", "ruined_share")
_NAME_MOST = 64 - len(_SHIFTED)  # a name has at most 64 characters


class MarketShift(Frozen):
    """How a held-out market differs from the one trained on: factors on its parameters."""

    volume: float = 0.8
    price_moves: float = 1.5
    value_spread: float = 1.2
    delay: float = 1.5


class Judged(Frozen):
    """The results of an agent and the tuned rules on the same held-out episodes."""

    comparison: Comparison
    metrics: dict[str, float]


def judge_policy(
    market: Market,
    policy: Bidder,
    tuned: TunedRules,
    *,
    episodes: int,
    seed: int,
    progress: CompareProgress | None = None,
    watcher: EpisodeWatcher | None = None,
) -> Judged:
    """Play the policy and every tuned rule on held-out episodes; the watcher sees every hour of the policy."""
    comparison = compare(
        market,
        tuned.build_all(),
        constant=tuned.constant(),
        candidates=[policy],
        episodes=episodes,
        seed=seed,
        progress=progress,
        watchers={policy.name: watcher} if watcher else None,
    )
    return Judged(comparison=comparison, metrics=agent_metrics(comparison, policy.name))


def policies_compared(policy: Bidder, tuned: TunedRules) -> int:
    """How many policies `judge_policy` plays on each episode."""
    return len({played.name for played in (tuned.constant(), *tuned.build_all(), policy)})


def first_gate_metrics(own: Judged, elsewhere: Judged) -> dict[str, float]:
    """The figures that the first gate reads: those of the market, and of the shifted one what it asks for there."""
    ends = ("", "_lower_95", "_upper_95")
    there = {f"{name}{end}": elsewhere.metrics[f"{name}{end}"] for name in _JUDGED_WHEN_SHIFTED for end in ends}
    return own.metrics | {f"shifted_{name}": figure for name, figure in there.items()}


def agent_metrics(comparison: Comparison, name: str) -> dict[str, float]:
    """The figures of one policy of a comparison, most of them with both ends of their interval."""
    result = comparison.of(name)
    figures = {"episodes": float(comparison.episodes), "budget_used": result.budget_used}
    figures |= {"reward_p10": result.reward_p10}
    estimates = {
        "reward": result.reward,
        "headroom_share": result.headroom_share,
        "lead_over_constant": result.lead_over_constant,
        "lead_over_best_rule": result.lead_over_best,
    }
    if result.lead_over_informed is not None:
        estimates["lead_over_informed_rule"] = result.lead_over_informed
    if (campaigns := result.against_best) is not None:
        estimates |= {"success_rate": campaigns.success_rate, "ruined_share": campaigns.ruined_share}
        figures["worst_group_lead"] = campaigns.worst_group_lead
    for key, estimate in estimates.items():
        figures |= {key: estimate.value, f"{key}_lower_95": estimate.lower_95, f"{key}_upper_95": estimate.upper_95}
    return figures


def shifted(spec: MarketSpec, shift: MarketShift) -> MarketSpec:
    """Return the market with other parameters than in training, within the limits of each parameter."""
    factors = {
        "volume": {"per_hour": shift.volume},
        "price": dict.fromkeys(("common_drift_sd", "segment_drift_sd", "hourly_noise_sd"), shift.price_moves),
        "response": dict.fromkeys(("click_log_sd", "conversion_log_sd"), shift.value_spread),
        "delay": {"mean_hours": shift.delay},
    }
    values = spec.model_dump(mode="json")
    values |= {"name": f"{spec.name[:_NAME_MOST]}{_SHIFTED}", "label": "other parameters than in training"}
    values["randomise"] = {}
    for section, keys in factors.items():
        fields = type(getattr(spec, section)).model_fields
        for key, factor in keys.items():
            values[section][key] = _within_limits(values[section][key] * factor, fields[key])
    return validated(MarketSpec, values, lambda _: f"market {spec.name!r}, shifted to judge it", error=DataError)


def _within_limits(value: float, field: FieldInfo) -> float:
    lowest = max((float(getattr(limit, "ge", -math.inf)) for limit in field.metadata), default=-math.inf)
    highest = min((float(getattr(limit, "le", math.inf)) for limit in field.metadata), default=math.inf)
    return min(max(value, lowest), highest)
