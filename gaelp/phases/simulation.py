"""Phase 1: train an agent on a market, choose a checkpoint, and judge it on episodes and markets it has not seen."""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from gaelp.agents import agent_distributions
from gaelp.agents.out_of_memory import is_out_of_memory
from gaelp.checks import Goal
from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.environment import process_environment
from gaelp.config.fingerprint import fingerprint
from gaelp.config.load import load_model
from gaelp.config.objective import VALUE, Objective, is_value
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput, DataError, Refused
from gaelp.gates import Evidence, Gate, judge, load_gate
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, configured_personas, load_market_spec
from gaelp.market.market import Market
from gaelp.observability.tracking import MlflowTracker, NoTracker, Tracker, local_uri
from gaelp.phases.chosen_policy import chosen_policy, hash_of_chosen, policy_version
from gaelp.phases.data_evidence import asks_for_data, judge_with_data
from gaelp.phases.data_job import DataJob, RunJob, run_directly
from gaelp.phases.declaration import Assignment
from gaelp.phases.goals import training_goals
from gaelp.phases.judging import MarketShift, first_gate_metrics, judge_policy, policies_compared, shifted
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.report_values import as_json_values, curve_figures
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.simulation_episodes import SimulationEpisodes
from gaelp.phases.simulation_result import SimulationResult, as_phase_result
from gaelp.phases.stage_report import EpisodesPlayed, OnReport, StageReport
from gaelp.training.assemble import MarketTraining, RunPlace, assemble, ground_of, task_grounds, with_chosen_rule
from gaelp.training.checkpoint import load as load_checkpoint
from gaelp.training.curriculum_spec import load_curriculum
from gaelp.training.manifest import PACKAGES, describe_run, parameter_hash, write_manifest
from gaelp.training.recipe import Recipe, load_recipe
from gaelp.training.reports import TrainingStopped
from gaelp.training.state_tree import tensors_in
from gaelp.types import Phase

__all__ = [
    "Identity",
    "Plan",
    "hash_agent",
    "of_attempt",
    "plan_simulation",
    "prepare_training",
    "run_simulation",
    "simulate",
]

_SEEDS_APART = 100_003  # a prime far from the distance of any two seeds that a person would choose


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Everything that a simulation needs, checked before anything is computed."""

    settings: Settings
    recipe: Recipe
    market: Market
    shifted: Market
    tuned: TunedRules
    gate: Gate
    identity: "Identity"

    @property
    def config_hash(self) -> str:
        """The hash that a checkpoint must carry for training to resume from it."""
        return fingerprint(self.identity)


def of_attempt(settings: Settings, attempt: int) -> Settings:
    """Return the settings of the n-th attempt at a run: other seeds for training and for evaluation."""
    run = settings.run.model_copy(update={"seed": _moved(settings.run.seed, attempt)})
    evaluation = settings.evaluation.model_copy(update={"seed": _moved(settings.evaluation.seed, attempt)})
    return settings.model_copy(update={"run": run, "evaluation": evaluation})


def _moved(seed: int, attempt: int) -> int:
    return (seed + (attempt - 1) * _SEEDS_APART) % 2**32


def plan_simulation(
    settings: Settings, *, tuned_path: Path | None = None, asked: Sequence[str] = (), gate: Gate | None = None
) -> Plan:
    """Load market, rules and recipe; raise for whatever does not fit together."""
    personas = configured_personas(settings)
    market = build_market(load_market_spec(settings.market.name), personas, settings.objective)
    elsewhere = build_market(shifted(market.spec, MarketShift()), personas, settings.objective)
    tuned = load_tuned(market, tuned_path, asked=asked)
    recipe = load_recipe(settings.training.agent).with_rounds(settings.training.rounds)
    recipe = with_chosen_rule(recipe, market, tuned, validation_seed=settings.evaluation.seed)
    gate = gate or load_gate(Phase.SIMULATION, settings.gate)
    return Plan(settings, recipe, market, elsewhere, tuned, gate, _identity(settings, recipe, tuned, gate))


class Identity(Frozen):
    """Everything that determines the trained parameters, bit for bit."""

    seed: int
    validation_seed: int
    threads: int
    market: str
    objective: Objective = Field(default=VALUE, exclude_if=is_value)  # runs of before there were others have none
    curriculum: str | None
    recipe: Recipe
    rules: str
    goals: tuple[Goal, ...] = ()  # if training stops once they are reached


def _identity(settings: Settings, recipe: Recipe, tuned: TunedRules, gate: Gate) -> Identity:
    name = settings.training.curriculum
    return Identity(
        seed=settings.run.seed,
        validation_seed=settings.evaluation.seed,
        threads=settings.training.threads,
        market=tuned.fingerprint,
        objective=settings.objective,
        curriculum=fingerprint(load_curriculum(name)) if name else None,
        recipe=recipe,
        rules=fingerprint(tuned),
        goals=training_goals(gate) if recipe.loop.stop_at_goals else (),
    )


def _check_identity(plan: Plan, folder: PhaseFolder) -> None:
    """Record the identity of a new run; raise Refused if the run was begun with another one, naming the differences."""
    if not folder.identity.exists():
        write_models({folder.identity: plan.identity})
        return
    begun = dict(_leaves(_begun_with(folder)))
    mine = dict(_leaves(plan.identity.model_dump(mode="json")))
    differing = [key for key in sorted(begun.keys() | mine.keys()) if begun.get(key) != mine.get(key)]
    if differing:
        shown = "; ".join(f"{key} was {begun.get(key)}, is {mine.get(key)}" for key in differing[:5])
        raise Refused(
            f"run {folder.run_id!r} was begun with another configuration: {shown}. Give the --config and --set it was"
            " begun with, or another --run"
        )


def _begun_with(folder: PhaseFolder) -> Mapping[str, Any]:
    try:
        values = json.loads(folder.identity.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:  # undecodable bytes are a ValueError too
        values = problem
    if not isinstance(values, Mapping):
        raise DataError(
            f"{shown(folder.identity)} does not say what run {folder.run_id!r} was begun with ({values!r:.200}):"
            " restore it from a copy, or begin another --run"
        )
    return values


def _leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, Mapping):
        for key, value in values.items():
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, values


def run_simulation(
    plan: Plan,
    folder: PhaseFolder,
    *,
    clock: Clock,
    on_report: OnReport,
    run_job: RunJob = run_directly,
    store_episodes: bool = True,
) -> SimulationResult:
    """Train, resuming an interrupted run from its checkpoint, then judge the chosen checkpoint and what it stored.

    A run that was finished with the same settings is not computed again: its result is read.
    """
    torch.set_num_threads(plan.settings.training.threads)
    episodes = SimulationEpisodes(folder, plan.settings if store_episodes else None)
    try:
        training = prepare_training(plan, folder, clock, episodes)  # raises before anything is written
    except (MemoryError, RuntimeError) as problem:
        if not is_out_of_memory(problem):
            raise
        raise BadInput(
            f"the recipe {plan.settings.training.agent!r} does not fit into memory ({problem}): lower arena.rows, the"
            " network's layers, steps_per_update or the size of the replay"
        ) from problem
    with folder.run.held():
        _check_identity(plan, folder)
        result = _finished(plan, folder) or _run(plan, folder, training, clock, on_report, episodes, run_job)
        if not result.learned:  # the rule is the agent: store it beside its figures
            write_models({folder.rules: plan.tuned})
        return result


def _finished(plan: Plan, folder: PhaseFolder) -> SimulationResult | None:
    """Return the stored result if it was judged with the same settings and rules."""
    if not folder.details.exists():
        return None
    try:
        result = SimulationResult.model_validate_json(folder.details.read_bytes())
    except ValueError as problem:  # pydantic's own is one
        first = str(problem).splitlines()[0]
        raise DataError(
            f"{shown(folder.details)} is no result that this release reads ({first}): move it away, and the run is"
            " judged again from its checkpoints"
        ) from problem
    asked = (plan.config_hash, plan.settings.evaluation)
    same = (result.config_hash, result.evaluation) == asked and result.verdict.gate.asks_the_same(plan.gate)
    return result if same else None


def _run(
    plan: Plan,
    folder: PhaseFolder,
    training: MarketTraining,
    clock: Clock,
    on_report: OnReport,
    episodes: SimulationEpisodes,
    run_job: RunJob,
) -> SimulationResult:
    settings = plan.settings
    begun = training.folder.load_latest()  # refuses another configuration before anything of that run is touched
    if begun.checkpoint is None and folder.training_log.exists():  # the first line of the log is the first checkpoint
        raise DataError(
            f"{shown(folder.training_log)} records training, but there is no checkpoint in"
            f" {shown(folder.checkpoints)}: restore them from a copy, or begin another --run, which gives an identical"
            " agent"
        )
    # MLflow creates its database, and the loop plays the unchanged rule before its first report.
    on_report(StageReport("preparing to train", hint="a first run on a machine compiles the market: about a minute"))
    tracker = _tracker(plan, folder, clock)
    tracker.start()
    with _closed_if_broken_off(tracker):
        tracker.params({"settings": settings.model_dump(mode="json"), "recipe": plan.recipe.model_dump(mode="json")})
        with episodes.recorded():
            stopped = _trained(plan, folder, training, tracker, on_report)
            result = _judged(plan, folder, training, stopped, clock, on_report, episodes)
        if episodes.settings is not None and asks_for_data(plan.gate):
            on_report(StageReport("checking the stored data"))
            result = result.judged_again(
                judge_with_data(result.verdict, DataJob(settings, folder, result.verdict.evidence.measured_at), run_job)
            )
        _write_manifest(plan, folder, training, clock)
        write_models({folder.details: result})
        tracker.metrics(result.metrics, step=stopped.round)
        tracker.artifact(folder.details)
    tracker.end("finished" if stopped.kind != "guardrail" else "failed")
    return result


def _trained(
    plan: Plan, folder: PhaseFolder, training: MarketTraining, tracker: Tracker, on_report: OnReport
) -> TrainingStopped:
    reports = training.loop.run()
    first = next(reports)
    on_report(StageReport("training", first.round, plan.recipe.loop.rounds, "round"))
    for report in chain([first], reports):
        folder.log(type(report).__name__, as_json_values(report))
        tracker.metrics(curve_figures(report), step=report.round)
        on_report(report)
    if not isinstance(report, TrainingStopped):
        raise TypeError(f"the last report is a {type(report).__name__}, not Stopped")
    return report


@contextmanager
def _closed_if_broken_off(tracker: Tracker) -> Iterator[None]:
    """Mark the run in the tracker as failed or stopped if it breaks off, so that it does not look active."""
    try:
        yield
    except BaseException as problem:
        tracker.end("failed" if isinstance(problem, Exception) else "stopped")
        raise


def prepare_training(plan: Plan, folder: PhaseFolder, clock: Clock, episodes: SimulationEpisodes) -> MarketTraining:
    """Assemble the training of a plan; nothing is written."""
    settings, recipe = plan.settings, plan.recipe
    curriculum = None
    if settings.training.curriculum:
        spec = load_curriculum(settings.training.curriculum)
        curriculum = (spec, task_grounds(spec, plan.market.personas, recipe.rule, settings.objective))
    return assemble(
        recipe,
        ground_of(plan.market, plan.tuned, recipe.rule),
        seed=settings.run.seed,
        validation_seed=settings.evaluation.seed,
        place=RunPlace(folder.checkpoints, plan.config_hash, clock),
        curriculum=curriculum,
        goals=training_goals(plan.gate),
        watch_round=episodes.of_round,
    )


def _tracker(plan: Plan, folder: PhaseFolder, clock: Clock) -> Tracker:
    settings = plan.settings
    if not settings.training.tracking:
        return NoTracker()
    return MlflowTracker(
        local_uri(settings.home),
        settings.run.name,
        folder.run_id,
        clock=clock,
        environ=process_environment(),
    )


def _judged(
    plan: Plan,
    folder: PhaseFolder,
    training: MarketTraining,
    stopped: TrainingStopped,
    clock: Clock,
    on_report: OnReport,
    episodes: SimulationEpisodes,
) -> SimulationResult:
    given = plan.settings.evaluation
    policy = chosen_policy(plan.recipe, training, stopped.best)
    model_hash = hash_of_chosen(plan.tuned, training, stopped.best)
    watcher = episodes.of_policy(policy_version(plan.recipe, model_hash, learned=stopped.best is not None))
    markets = (plan.market, plan.shifted)
    played = EpisodesPlayed(on_report, policies_compared(policy, plan.tuned) * given.episodes * len(markets))
    judged, elsewhere = (
        judge_policy(
            market, policy, plan.tuned, episodes=given.episodes, seed=given.seed, progress=played.add, watcher=watcher
        )
        for market in markets
    )
    evidence = Evidence(
        run_id=folder.run_id,
        agent=policy.name,
        learned=stopped.best is not None,
        config_hash=plan.config_hash,
        measured_at=clock.now(),
        metrics=first_gate_metrics(judged, elsewhere),
    )
    return SimulationResult(
        run_id=folder.run_id,
        agent=policy.name,
        learned=evidence.learned,
        stopped=stopped.kind,
        stop_detail=stopped.detail,
        rounds=stopped.round,
        training_seconds=stopped.seconds,
        checkpoint=stopped.best.name if stopped.best else None,
        model_hash=model_hash,
        config_hash=plan.config_hash,
        evaluation=given,
        metrics=evidence.metrics,
        shifted_metrics=elsewhere.metrics,
        comparison=judged.comparison,
        verdict=judge(plan.gate, evidence, clock.now()),
    )


def _write_manifest(plan: Plan, folder: PhaseFolder, training: MarketTraining, clock: Clock) -> None:
    """Record seed, packages and machine, and the parameters at the end of training."""
    manifest = describe_run(
        run_id=folder.run_id,
        seed=plan.settings.run.seed,
        config_hash=plan.config_hash,
        parameters=training.loop.final_parameters(),
        compile_mode="none",
        clock=clock,
        packages=(*PACKAGES, *agent_distributions(plan.recipe.kind)),
    )
    write_manifest(folder.manifest, manifest)


def simulate(given: Assignment) -> PhaseResult:
    """Carry out one attempt at phase 1."""
    plan = plan_simulation(of_attempt(given.settings, given.attempt), gate=given.gate)
    result = run_simulation(plan, given.folder, clock=given.clock, on_report=given.on_report, run_job=given.run_job)
    return as_phase_result(result, given.folder)


def hash_agent(path: Path) -> str:
    """Return the model hash of a checkpoint (its learned parameters) or of a file of tuned rules."""
    if path.suffix == ".yaml":
        return fingerprint(load_model(TunedRules, path))
    return parameter_hash(tensors_in(load_checkpoint(path).state["learner"]))
