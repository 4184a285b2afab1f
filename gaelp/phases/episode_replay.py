"""Play a stored episode of a simulation again, from its market, seed and policy, and compare it hour by hour."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gaelp.clock import Clock
from gaelp.config import LoadedSettings
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.episodes import play
from gaelp.market.episode_log import EpisodeLog, EpisodeSource, monday_before, seed_of
from gaelp.phases.chosen_policy import chosen_policy, hash_of_chosen, policy_version
from gaelp.phases.run_folder import PhaseFolder, RunFolder
from gaelp.phases.run_settings import keep_settings
from gaelp.phases.runs import read_record
from gaelp.phases.simulation import Plan, of_attempt, plan_simulation, prepare_training
from gaelp.phases.simulation_episodes import SimulationEpisodes
from gaelp.phases.simulation_result import SimulationResult
from gaelp.storage.episode_reader import StoredEpisode
from gaelp.storage.schema import TABLES, TableName
from gaelp.types import Phase, RunId

__all__ = ["Difference", "ReplayReport", "compare_decisions", "replay_episode"]

_COMPARED = (
    "bid_micros",
    "action",
    "budget_left_micros",
    "impressions",
    "clicks",
    "conversions",
    "spend_micros",
    "value_micros",
)


class Difference(Frozen):
    """A figure that is not as stored."""

    step: int
    segment: str
    column: str
    stored: float | None
    replayed: float | None


class ReplayReport(Frozen):
    """Whether an episode, played again, is what is stored."""

    episode: str
    market: str
    policy: str
    decisions: int
    matches: bool
    differences: tuple[Difference, ...]  # the first ones


def replay_episode(episode: StoredEpisode, loaded: LoadedSettings, clock: Clock) -> ReplayReport:
    """Play the episode again with the policy of its run; BadInput if the run cannot provide it."""
    row = episode.row
    if row["phase"] != Phase.SIMULATION or row["seed"] is None:
        raise BadInput(f"{episode.name} is of phase {row['phase']}: only simulated episodes have a seed to play again")
    folder = _folder_of(row["source"], loaded)
    plan = _plan_of(folder, loaded)
    policy, version = _policy_of(plan, folder, clock)
    if row["policy"] != version:
        raise BadInput(
            f"{episode.name} was played by {row['policy']}, run {folder.run_id!r} ended with {version}: only episodes"
            " of the policy that was judged can be played again"
        )
    markets = {market.spec.name: market for market in (plan.market, plan.shifted)}
    if row["market"] not in markets:
        raise BadInput(f"{episode.name} was played on {row['market']}; run {folder.run_id!r} has {', '.join(markets)}")
    batches: list[Mapping[TableName, pa.Table]] = []
    source = EpisodeSource(row["source"], version, monday_before(row["started_at"]))
    seeds = np.array([seed_of(row["seed"])], np.uint64)
    play(markets[row["market"]], policy, seeds, EpisodeLog(source, lambda make, _: batches.append(make())))
    decisions = batches[-1][TableName.DECISIONS].cast(TABLES[TableName.DECISIONS].columns)
    replayed = decisions.sort_by([("step", "ascending"), ("segment", "ascending")])
    differences = compare_decisions(episode.decisions, replayed)
    return ReplayReport(
        episode=episode.name,
        market=row["market"],
        policy=version,
        decisions=replayed.num_rows,
        matches=not differences,
        differences=tuple(differences[:10]),
    )


def compare_decisions(stored: pa.Table, replayed: pa.Table) -> list[Difference]:
    """Return every figure that differs, both tables sorted by step and segment."""
    if stored.num_rows != replayed.num_rows:
        rows = (float(stored.num_rows), float(replayed.num_rows))
        return [Difference(step=0, segment="", column="rows", stored=rows[0], replayed=rows[1])]
    pairs = zip(stored.to_pylist(), replayed.to_pylist(), strict=True)
    return [
        Difference(step=old["step"], segment=old["segment"], column=column, stored=old[column], replayed=new[column])
        for old, new in pairs
        for column in _COMPARED
        if old[column] != new[column]
    ]


def _folder_of(source: str, loaded: LoadedSettings) -> PhaseFolder:
    run_id, _, attempt = source.partition("/")
    folder = RunFolder(loaded.settings.home, RunId(run_id)).phase(Phase.SIMULATION, int(attempt or 1))
    if not folder.details.exists() or not folder.run.settings.exists():
        raise BadInput(
            f"run {run_id!r} is not in {folder.run.path}: its market and policy are needed to play an episode again;"
            " restore the run's folder, or set GAELP_HOME to where it is"
        )
    return folder


def _plan_of(folder: PhaseFolder, loaded: LoadedSettings) -> Plan:
    settings = keep_settings(folder.run, loaded).settings.model_copy(update={"home": loaded.settings.home})
    tuned = read_record(folder.run).tuned
    return plan_simulation(of_attempt(settings, folder.attempt), tuned_path=Path(tuned) if tuned else None)


def _policy_of(plan: Plan, folder: PhaseFolder, clock: Clock) -> tuple[Bidder, str]:
    result = SimulationResult.model_validate_json(folder.details.read_bytes())
    training = prepare_training(plan, folder, clock, SimulationEpisodes(folder))
    best: Any = folder.checkpoints / result.checkpoint if result.checkpoint else None
    policy = chosen_policy(plan.recipe, training, best)
    return policy, policy_version(plan.recipe, hash_of_chosen(plan.tuned, training, best), learned=best is not None)
