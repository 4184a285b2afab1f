"""Measure the first gate before anything depends on it: how often it refuses planted bad agents and passes good ones.

Every agent is played once on a pool of fresh episodes, on the market and on the shifted one. A repetition draws its
episodes from the pool without replacement and judges them by the code of production. Repetitions share episodes, so
their verdicts are less independent than those of as many pools would be.

A campaign depends on its seed and its bidder alone. An agent that bids one way in some campaigns and another way in the
others can therefore be joined from two agents that were played.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.gates import Evidence, Gate, Verdict, judge
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.compare import compare_played
from gaelp.market.baselines.episodes import Played, held_out_seeds, join_played, play
from gaelp.market.market import Market
from gaelp.phases.judging import Judged, agent_metrics, first_gate_metrics

__all__ = [
    "Opponents",
    "Plant",
    "Pool",
    "PoolOutcome",
    "failed_rules",
    "mixed",
    "nothing_delivered",
    "play_pool",
    "trial",
    "verdict_on",
]

_BATCH_EPISODES = 256
_NOW = datetime(2026, 11, 18, tzinfo=UTC)


class PoolOutcome(NamedTuple):
    """What one agent did in every episode of the pool, on both markets."""

    own: Played
    shifted: Played


Plant = Callable[[Floats], PoolOutcome]


class Opponents(NamedTuple):
    """The bidders that every agent is compared with on a pool."""

    constant: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Pool:
    """Everything that was played on the same episodes of a market and of the shifted one."""

    market: Market
    shifted: Market
    opponents: Opponents
    outcomes: dict[str, PoolOutcome]

    @property
    def episodes(self) -> int:
        """How many episodes every agent has played."""
        return len(self.outcomes[self.opponents.constant].own.reward)

    def with_agent(self, name: str, outcome: PoolOutcome) -> "Pool":
        """The same pool with one more agent."""
        return Pool(self.market, self.shifted, self.opponents, {**self.outcomes, name: outcome})


def play_pool(
    market: Market, shifted: Market, rules: Sequence[Bidder], agents: Sequence[Bidder], *, episodes: int, seed: int
) -> Pool:
    """Play rules and agents on the same held-out episodes; the first rule is the constant bid."""
    seeds = held_out_seeds(seed, episodes)
    batches = [seeds[first : first + _BATCH_EPISODES] for first in range(0, episodes, _BATCH_EPISODES)]
    outcomes = {
        bidder.name: PoolOutcome(
            *(
                join_played([play(place, bidder, batch) for batch in batches], place.objective)
                for place in (market, shifted)
            )
        )
        for bidder in (*rules, *agents)
    }
    return Pool(market, shifted, Opponents(rules[0].name, tuple(rule.name for rule in rules)), outcomes)


def mixed(usual: Played, spoiled: Played, chosen: Bools) -> Played:
    """What an agent brings that is `spoiled` in the chosen campaigns, (N,), and as usual in the others."""
    columns = zip(usual, spoiled, strict=True)
    return Played._make(np.where(chosen if a.ndim == 1 else chosen[:, None], b, a) for a, b in columns)


def nothing_delivered(usual: Played) -> Played:
    """What a bidder brings that never bids, in the same campaigns."""
    none = np.zeros_like(usual.reward)
    return usual._replace(
        reward=none, budget_used=none, achieved_micros=none, value_micros=none, cost_micros=none, conversions=none
    )


def verdict_on(pool: Pool, agent: str, gate: Gate, rows: Ints | None = None) -> Verdict:
    """Judge an agent of the pool on some of its episodes, or on all."""
    own, elsewhere = (
        _judged(market, {name: outcome[place] for name, outcome in pool.outcomes.items()}, pool.opponents, agent, rows)
        for place, market in enumerate((pool.market, pool.shifted))
    )
    evidence = Evidence(
        run_id="trial",
        agent=agent,
        learned=True,
        config_hash="trial",
        measured_at=_NOW,
        metrics=first_gate_metrics(own, elsewhere),
    )
    return judge(gate, evidence, _NOW)


def _judged(
    market: Market, played: Mapping[str, Played], opponents: Opponents, agent: str, rows: Ints | None
) -> Judged:
    candidate = "candidate"  # the agent may be a rule itself, and a rule is not compared with itself
    compared = {name: played[name] for name in opponents.rules} | {candidate: played[agent]}
    if rows is not None:
        compared = {name: Played._make(column[rows] for column in columns) for name, columns in compared.items()}
    comparison = compare_played(market, compared, rules=opponents.rules, constant=opponents.constant, seed=0)
    return Judged(comparison=comparison, metrics=agent_metrics(comparison, candidate))


def failed_rules(verdict: Verdict) -> set[str]:
    """The metrics of the rules that do not hold."""
    return {result.criterion.metric for result in verdict.results if result.outcome != "pass"}


def trial(
    pool: Pool, agent: str | Plant, gate: Gate, *, episodes: int, repetitions: int, rng: np.random.Generator
) -> dict[str, object]:
    """Judge an agent again and again on other episodes: the share of refusals, and which rules refused how often.

    A plant is given a fresh number from 0 to 1 for each campaign in every repetition, to choose those it spoils.
    """
    refused: Counter[str] = Counter()
    alone: Counter[str] = Counter()
    refusals = 0
    for _ in range(repetitions):
        rows = np.sort(rng.choice(pool.episodes, episodes, replace=False))
        if isinstance(agent, str):
            verdict = verdict_on(pool, agent, gate, rows)
        else:
            verdict = verdict_on(pool.with_agent("planted", agent(rng.random(pool.episodes))), "planted", gate, rows)
        failed = failed_rules(verdict)
        refusals += bool(failed)
        refused.update(failed)
        alone.update(failed if len(failed) == 1 else ())
    return {
        "refused": refusals / repetitions,
        "refused_by": {rule: count / repetitions for rule, count in refused.most_common()},
        "refused_by_one_rule_alone": {rule: count / repetitions for rule, count in alone.most_common()},
    }
