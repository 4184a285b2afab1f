"""What is asked of a gateway when it is measured: an agent that was not trained, and flights of its market."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from gaelp.config.objective import Objective
from gaelp.export.export_folder import CheckedExport
from gaelp.export.write_export import draft_export
from gaelp.gateway.wire import rows_of, to_arrow, to_json
from gaelp.market.baselines.tuned import load_tuned
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.campaign_rows import take
from gaelp.market.market import seeds_from
from gaelp.phases.agent_bundle import Agent, AgentRecipe
from gaelp.phases.agent_registration import feature_version
from gaelp.registry import VerifiedVersion
from gaelp.training.assemble import ground_of, learner_maker
from gaelp.training.market_arena import MarketArena
from gaelp.training.progress import LearnerScale
from gaelp.training.recipe import load_recipe

__all__ = ["MARKET", "PlayedFlights", "bench_agent", "bench_export", "play_flights"]

MARKET, _RULE, _ALGORITHM = "shop", "mpc", "ppo"
_OBJECTIVE = Objective(kind="profit")


@dataclass(frozen=True, slots=True)
class PlayedFlights:
    """Bodies of requests: briefs, and observations by hour; names are replaced where flights are flown again."""

    brief: bytes  # of all campaigns, as JSON
    arrow_brief: bytes
    singles: tuple[tuple[bytes, ...], ...]  # by hour and campaign, as JSON
    batches: tuple[bytes, ...]  # by hour, all campaigns, as Arrow
    json_batches: tuple[bytes, ...]  # the same as JSON


def bench_agent() -> Agent:
    """An agent around the tuned rule whose network was drawn: its speed does not depend on what it learned."""
    market = build_market(load_market_spec(MARKET), load_persona_table("personas"), _OBJECTIVE)
    tuned = load_tuned(market)
    recipe = load_recipe(_ALGORITHM).with_rule(_RULE)
    arena = MarketArena(recipe.arena, ground_of(market, tuned, _RULE), seed=1, validation_seed=1)
    learner = learner_maker(recipe.kind, recipe.agent, arena.spaces, seed=1)(LearnerScale())
    described = AgentRecipe(name="bench", learned=True, recipe=recipe, market=market.spec, objective=_OBJECTIVE, seed=1)
    return Agent(described, arena.policy("bench", lambda obs: learner.act(obs, explore=False)), market, tuned, learner)


def bench_export(version: int) -> CheckedExport:
    """The export of that agent as a version of a model; no registry is involved."""
    manifest = SimpleNamespace(name="bench", version=version, model_hash="0" * 64, feature_version=feature_version())
    registered = cast("VerifiedVersion", SimpleNamespace(manifest=manifest, manifest_hash="0" * 64))
    draft = draft_export(bench_agent(), registered, ("onnx",), at="measured now", decisions=200)
    return CheckedExport(draft.manifest, Path(f"bench-{version}"), draft.files)


def play_flights(prefix: str, campaigns: int, *, hours: int, seed: int, singles: bool) -> PlayedFlights:
    """Campaigns named PREFIX-000000 under the rule, and every request that they make."""
    agent = bench_agent()
    market, rule = agent.market, agent.tuned.build(_RULE)
    names = [f"{prefix}-{number:06d}" for number in range(campaigns)]
    obs = market.reset(seeds_from(seed, campaigns))
    rule.begin(market.brief)
    brief = rows_of(market.brief, names)
    one_by_one: list[tuple[bytes, ...]] = []
    batches: list[bytes] = []
    json_batches: list[bytes] = []
    for _ in range(min(hours, market.hours)):
        rows = rows_of(take(obs, np.arange(campaigns)), names)
        whole = to_json(rows)
        if singles:
            one_by_one.append(_apart(whole, names))
        else:
            batches.append(to_arrow(rows))
            json_batches.append(json.dumps(whole).encode())
        obs, _ = market.step(rule.act(obs))
    return PlayedFlights(
        brief=json.dumps(to_json(brief)).encode(),
        arrow_brief=to_arrow(brief),
        singles=tuple(one_by_one),
        batches=tuple(batches),
        json_batches=tuple(json_batches),
    )


def _apart(whole: dict[str, Any], names: Sequence[str]) -> tuple[bytes, ...]:
    return tuple(
        json.dumps({key: [values[place]] for key, values in whole.items()}).encode() for place in range(len(names))
    )
