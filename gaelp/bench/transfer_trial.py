"""How often gate 4's rule about other products is right: agents that read a product, and agents that know one by heart.

Every seed draws other products, other campaigns and other luck. The verdict is that of the shipped rule.
"""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean

from pydantic import Field

from gaelp.bench.transfer_plants import MemorisedRates, memorise_bids
from gaelp.clock import ManualClock
from gaelp.config.base import Frozen
from gaelp.config.objective import Objective
from gaelp.config.scale_settings import TransferSettings
from gaelp.gates import Evidence, Gate, judge, load_gate
from gaelp.market.baselines.compare import Estimate
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.release.transfer import SourceAgent, TransferResult, measure_transfer
from gaelp.training.assemble import RunPlace, assemble, ground_of, with_chosen_rule
from gaelp.training.checkpoint import load as load_checkpoint
from gaelp.training.recipe import load_recipe
from gaelp.training.reports import TrainingStopped

__all__ = ["BidderTrial", "SeedResult", "trained_agent", "transfer_trial"]

_NOW = datetime(2026, 11, 18, tzinfo=UTC)
_RULE = "mpc"


class SeedResult(Frozen):
    """What one seed showed of one bidder."""

    seed: int
    outcome: str
    source_gain: float
    product_gain: float
    share: Estimate
    least_gain: float
    least_on: str
    trained: dict[str, Estimate] = Field(default={}, description="gains of agents trained for the products")


class BidderTrial(Frozen):
    """One bidder over all seeds; the worst of them is the one with the lowest bound."""

    bidder: str
    market: str
    objective: str
    passed: int
    refused: int
    held: int
    share_mean: float
    worst: SeedResult
    seeds: tuple[SeedResult, ...]


def trained_agent(market: str, objective: Objective, *, rounds: int, seed: int) -> SourceAgent:
    """PPO around a rule, trained on a market for so many rounds; the rule itself if nothing did better."""
    built = build_market(load_market_spec(market), load_persona_table("personas"), objective)
    tuned = load_tuned(built)
    recipe = with_chosen_rule(load_recipe("ppo").with_rounds(rounds), built, tuned, validation_seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        place = RunPlace(Path(folder), "0" * 64, ManualClock(_NOW))
        training = assemble(recipe, ground_of(built, tuned, recipe.rule), seed=seed, validation_seed=seed, place=place)
        reports = list(training.loop.run())
        stopped = reports[-1]
        best = stopped.best if isinstance(stopped, TrainingStopped) else None
        learned = None if best is None else load_checkpoint(best).state["learner"]
    if learned is None:
        return SourceAgent(training.arena.unchanged(f"agent ({recipe.rule} unchanged)"), built, tuned, recipe, None)
    learner = training.loop.learner
    learner.load_state(learned)
    policy = training.arena.policy("agent (ppo)", lambda obs: learner.act(obs, explore=False))
    return SourceAgent(policy, built, tuned, recipe, learned)


def transfer_trial(
    market: str, objective: Objective, seeds: list[int], settings: TransferSettings, *, rounds: int
) -> Iterator[BidderTrial]:
    """Judge the trained agent, the rule inside and the planted bidders on products of every seed."""
    gate = _transfer_gate()
    agent = trained_agent(market, objective, rounds=rounds, seed=seeds[0])
    for bidder in (agent, *_rule_and_plants(agent)):
        # What a plant would learn from training further does not matter.
        given = settings if bidder is agent else settings.model_copy(update={"fine_tune_rounds": 0})
        results = [
            _seed_result(measure_transfer(bidder, given, seed=seed, clock=ManualClock(_NOW)), gate) for seed in seeds
        ]
        outcomes = [result.outcome for result in results]
        yield BidderTrial(
            bidder=bidder.policy.name,
            market=market,
            objective=objective.text,
            passed=outcomes.count("pass"),
            refused=outcomes.count("fail"),
            held=outcomes.count("inconclusive"),
            share_mean=mean(result.share.value for result in results),
            worst=min(results, key=lambda result: result.share.lower_95),
            seeds=tuple(results),
        )


def _rule_and_plants(agent: SourceAgent) -> Iterator[SourceAgent]:
    market, tuned = agent.market, agent.tuned
    response = market.spec.response
    for policy in (
        tuned.build(_RULE),
        MemorisedRates(tuned.build(_RULE), response.click_rate, response.conversion_rate),
        memorise_bids(market, tuned.build(_RULE)),
        tuned.constant(),
    ):
        yield SourceAgent(policy, market, tuned, agent.recipe, None)


def _transfer_gate() -> Gate:
    gate = load_gate("scale")
    rules = tuple(rule for rule in gate.criteria if rule.metric == "transfer_gain_share")
    return gate.model_copy(update={"criteria": rules, "alpha": None})


def _seed_result(result: TransferResult, gate: Gate) -> SeedResult:
    evidence = Evidence(
        run_id="trial",
        agent=result.agent,
        learned=True,
        config_hash="trial",
        measured_at=_NOW,
        metrics=result.metrics,
    )
    own, worst = result.bidders[0], result.worst
    return SeedResult(
        seed=result.seed,
        outcome=judge(gate, evidence, _NOW).outcome,
        source_gain=own.source_gain.value,
        product_gain=own.product_gain.value,
        share=result.share,
        least_gain=worst.gain,
        least_on=worst.differs,
        trained=result.trained,
    )
