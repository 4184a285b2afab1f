"""Phase 1: train an agent on a market, choose a checkpoint, and judge it on episodes and markets it has not seen."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from gaelp.agents import agent_distributions
from gaelp.checks import Goal
from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.environment import process_environment
from gaelp.config.fingerprint import fingerprint
from gaelp.config.places import shown
from gaelp.config.settings import EvaluationSettings, Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput, DataError, Refused
from gaelp.gates import Evidence, Gate, Verdict, judge, load_gate
from gaelp.market.baselines.compare import Comparison
from gaelp.market.baselines.tuned import TunedRules, load_tuned
from gaelp.market.build import build_market, configured_personas, load_market_spec
from gaelp.market.market import Market
from gaelp.observability.tracking import MlflowTracker, NoTracker, Tracker, local_uri
from gaelp.phases.goals import training_goals
from gaelp.phases.judging import MarketShift, judge_policy, shifted
from gaelp.phases.run_folder import RunFolder
from gaelp.training.assemble import MarketTraining, RunPlace, assemble, ground_of, task_grounds
from gaelp.training.curriculum_spec import load_curriculum
from gaelp.training.guardrails import is_out_of_memory
from gaelp.training.manifest import PACKAGES, describe_run, parameter_hash, write_manifest
from gaelp.training.monitor import monitor_figures
from gaelp.training.recipe import Recipe, load_recipe
from gaelp.training.reports import Report, RoundDone, Stopped, Validated
from gaelp.training.segment_policy import SegmentPolicy

__all__ = ["Identity", "Plan", "SimulationResult", "of_attempt", "plan_simulation", "run_simulation"]

OnReport = Callable[[Report], None]

_SEEDS_APART = 100_003  # a prime far from the distance of any two seeds that a person would choose


class SimulationResult(Frozen):
    """What phase 1 hands on: figures for the gate, and where the agent is."""

    run_id: str
    agent: str
    learned: bool  # False: no checkpoint did better than the rule it started from, so the rule is the agent
    stopped: str
    stop_detail: str
    rounds: int
    training_seconds: float  # with validation, over all processes that took part
    checkpoint: str | None
    model_hash: str  # SHA-256 of what the agent has learned, or of the tuned rules where a rule is the agent
    config_hash: str
    evaluation: EvaluationSettings
    metrics: dict[str, float]
    shifted_metrics: dict[str, float]  # on a market with other parameters than the one trained on
    comparison: Comparison
    verdict: Verdict  # of the first gate: what it says by itself; a person's approval comes after it


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """Everything a simulation needs, checked before anything is computed."""

    settings: Settings
    recipe: Recipe
    market: Market
    shifted: Market
    tuned: TunedRules
    gate: Gate
    identity: "Identity"

    @property
    def config_hash(self) -> str:
        """What a checkpoint must have been written under to be gone on from."""
        return fingerprint(self.identity)


def of_attempt(settings: Settings, attempt: int) -> Settings:
    """The settings of the n-th attempt at a run: trained with another seed and judged on other episodes."""
    run = settings.run.model_copy(update={"seed": _moved(settings.run.seed, attempt)})
    evaluation = settings.evaluation.model_copy(update={"seed": _moved(settings.evaluation.seed, attempt)})
    return settings.model_copy(update={"run": run, "evaluation": evaluation})


def _moved(seed: int, attempt: int) -> int:
    return (seed + (attempt - 1) * _SEEDS_APART) % 2**32


def plan_simulation(settings: Settings, *, tuned_path: Path | None = None, asked: Sequence[str] = ()) -> Plan:
    """Load market, rules and recipe; whatever does not fit is told here."""
    personas = configured_personas(settings)
    market = build_market(load_market_spec(settings.market.name), personas)
    elsewhere = build_market(shifted(market.spec, MarketShift()), personas)
    tuned = load_tuned(market, tuned_path, asked=asked)
    recipe = load_recipe(settings.training.agent).with_rounds(settings.training.rounds)
    gate = load_gate("simulation", settings.gate)
    return Plan(settings, recipe, market, elsewhere, tuned, gate, _identity(settings, recipe, tuned, gate))


class Identity(Frozen):
    """What decides the bits that training ends with."""

    seed: int
    validation_seed: int
    threads: int
    market: str
    curriculum: str | None
    recipe: Recipe
    rules: str
    goals: tuple[Goal, ...] = ()  # where reaching them ends the training


def _identity(settings: Settings, recipe: Recipe, tuned: TunedRules, gate: Gate) -> Identity:
    name = settings.training.curriculum
    return Identity(
        seed=settings.run.seed,
        validation_seed=settings.evaluation.seed,
        threads=settings.training.threads,
        market=tuned.fingerprint,
        curriculum=fingerprint(load_curriculum(name)) if name else None,
        recipe=recipe,
        rules=fingerprint(tuned),
        goals=training_goals(gate) if recipe.loop.stop_at_goals else (),
    )


def _check_identity(plan: Plan, folder: RunFolder) -> None:
    """Refuse to go on with a run that was begun otherwise, naming what differs; note how a new one is begun."""
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


def _begun_with(folder: RunFolder) -> Mapping[str, Any]:
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


def run_simulation(plan: Plan, folder: RunFolder, *, clock: Clock, on_report: OnReport) -> SimulationResult:
    """Train to the end, or go on where a run that was interrupted stands; then judge what it chose.

    What was finished with the same settings is not computed again: its result is read.
    """
    torch.set_num_threads(plan.settings.training.threads)
    try:
        training = _training(plan, folder, clock)  # what does not fit is told before anything is written
    except (MemoryError, RuntimeError) as problem:
        if not is_out_of_memory(problem):
            raise
        raise BadInput(
            f"the recipe {plan.settings.training.agent!r} does not fit into memory ({problem}): lower arena.rows, the"
            " network's layers, steps_per_update or the size of the replay"
        ) from problem
    with folder.held():
        _check_identity(plan, folder)
        return _finished(plan, folder) or _run(plan, folder, training, clock, on_report)


def _finished(plan: Plan, folder: RunFolder) -> SimulationResult | None:
    """The result of a run that was judged already, on as many episodes as are asked for now."""
    if not folder.result.exists():
        return None
    try:
        result = SimulationResult.model_validate_json(folder.result.read_bytes())
    except ValueError as problem:  # pydantic's own is one
        first = str(problem).splitlines()[0]
        raise DataError(
            f"{shown(folder.result)} is no result that this release reads ({first}): move it away, and the run is"
            " judged again from its checkpoints"
        ) from problem
    asked = (plan.config_hash, plan.settings.evaluation)
    same = (result.config_hash, result.evaluation) == asked and result.verdict.gate.asks_the_same(plan.gate)
    return result if same else None


def _run(
    plan: Plan, folder: RunFolder, training: MarketTraining, clock: Clock, on_report: OnReport
) -> SimulationResult:
    settings = plan.settings
    begun = training.folder.load_latest()  # refuses another configuration before anything of that run is touched
    if begun.checkpoint is None and folder.training_log.exists():  # the first line of the log is the first checkpoint
        raise DataError(
            f"{shown(folder.training_log)} tells of training, but there is no checkpoint in"
            f" {shown(folder.checkpoints)}: restore them from a copy, or begin another --run, which ends with the same"
            " bits"
        )
    tracker = _tracker(plan, folder, clock)
    tracker.start()
    with _closed_if_broken_off(tracker):
        tracker.params({"settings": settings.model_dump(mode="json"), "recipe": plan.recipe.model_dump(mode="json")})
        for report in training.loop.run():
            folder.log(type(report).__name__, _plain(report))
            tracker.metrics(_figures(report), step=_round(report))
            on_report(report)
        stopped = report
        if not isinstance(stopped, Stopped):
            raise TypeError(f"the last report is a {type(stopped).__name__}, not Stopped")
        result = _judged(plan, folder, training, stopped, clock)
        _write_manifest(plan, folder, training, clock)
        write_models({folder.result: result})
        tracker.metrics(result.metrics, step=stopped.round)
        tracker.artifact(folder.result)
    tracker.end("finished" if stopped.kind != "guardrail" else "failed")
    return result


@contextmanager
def _closed_if_broken_off(tracker: Tracker) -> Iterator[None]:
    """A run that fails or is interrupted does not look as if it were still at work."""
    try:
        yield
    except BaseException as problem:
        tracker.end("failed" if isinstance(problem, Exception) else "stopped")
        raise


def _training(plan: Plan, folder: RunFolder, clock: Clock) -> MarketTraining:
    settings, recipe = plan.settings, plan.recipe
    curriculum = None
    if settings.training.curriculum:
        spec = load_curriculum(settings.training.curriculum)
        curriculum = (spec, task_grounds(spec, plan.market.personas, recipe.rule))
    return assemble(
        recipe,
        ground_of(plan.market, plan.tuned, recipe.rule),
        seed=settings.run.seed,
        validation_seed=settings.evaluation.seed,
        place=RunPlace(folder.checkpoints, plan.config_hash, clock),
        curriculum=curriculum,
        goals=training_goals(plan.gate),
    )


def _tracker(plan: Plan, folder: RunFolder, clock: Clock) -> Tracker:
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
    plan: Plan, folder: RunFolder, training: MarketTraining, stopped: Stopped, clock: Clock
) -> SimulationResult:
    given = plan.settings.evaluation
    policy = _chosen(plan, training, stopped)
    judged, elsewhere = (
        judge_policy(market, policy, plan.tuned, episodes=given.episodes, seed=given.seed)
        for market in (plan.market, plan.shifted)
    )
    evidence = Evidence(
        run_id=folder.run_id,
        agent=policy.name,
        learned=stopped.best is not None,
        config_hash=plan.config_hash,
        measured_at=clock.now(),
        metrics=judged.metrics,
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
        model_hash=_model_hash(plan, training, stopped),
        config_hash=plan.config_hash,
        evaluation=given,
        metrics=judged.metrics,
        shifted_metrics=elsewhere.metrics,
        comparison=judged.comparison,
        verdict=judge(plan.gate, evidence, clock.now()),
    )


def _model_hash(plan: Plan, training: MarketTraining, stopped: Stopped) -> str:
    if stopped.best is None:
        return fingerprint(plan.tuned)
    return parameter_hash(training.loop.parameters_in(stopped.best))


def _best_state(training: MarketTraining, best: Path) -> Mapping[str, Any]:
    try:
        state: Mapping[str, Any] = training.folder.load(best).state["learner"]
    except DataError as problem:
        raise DataError(
            f"the checkpoint that did best cannot be judged, and no other stands in for it: {problem} Restore it from a"
            " copy, or begin another --run with the same options, which ends with the same bits."
        ) from problem
    return state


def _chosen(plan: Plan, training: MarketTraining, stopped: Stopped) -> SegmentPolicy:
    """The policy of the best checkpoint, or the rule itself where no checkpoint did better."""
    if stopped.best is None:
        return training.arena.unchanged(f"agent ({plan.recipe.rule} unchanged)")
    learner = training.loop.learner
    learner.load_state(_best_state(training, stopped.best))
    return training.arena.policy(f"agent ({plan.recipe.algorithm})", lambda obs: learner.act(obs, explore=False))


def _write_manifest(plan: Plan, folder: RunFolder, training: MarketTraining, clock: Clock) -> None:
    """What the run was made of; the parameters are those that training ended with."""
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


def _round(report: Report) -> int:
    return report.round


def _figures(report: Report) -> dict[str, float]:
    """The figures of a report that a curve can be drawn of."""
    match report:
        case RoundDone():
            own = {"reward": report.reward, "steps": report.steps, "steps_per_second": report.steps_per_second}
            return {f"training/{name}": value for name, value in {**own, **report.metrics}.items()}
        case Validated():
            score = report.score
            own = {"reward": score.mean, "lower_95": score.lower_95, "lead": score.lead}
            return {f"validation/{name}": value for name, value in own.items()} | monitor_figures(report.monitor)
        case _:
            return {}


def _plain(report: Report) -> dict[str, Any]:
    """A report as JSON holds it."""
    return {field.name: _value(getattr(report, field.name)) for field in dataclasses.fields(report)}


def _value(value: Any) -> Any:
    match value:
        case Frozen():
            return value.model_dump(mode="json")
        case float():
            return value if math.isfinite(value) else None
        case Path():
            return value.name
        case Mapping():
            return {str(key): _value(one) for key, one in value.items()}
        case list() | tuple():
            return [_value(one) for one in value]
        case _:
            return value
