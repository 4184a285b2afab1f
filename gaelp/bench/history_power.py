"""How often gate 2 passes a policy whose true lift is known, on histories of the local ad platform.

Each history is another world. A policy bids the incumbent's bids times a factor for each ad group, and is judged on the
log by the functions of phase 2, at the confidence of one look. Its true lift comes from the same world, run again with
its bids. `predicted` is the share of passes that `gaelp history plan` would state for that true lift.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy import stats

from gaelp.arrays import Floats
from gaelp.bench.logged_histories import cached_log, first_days
from gaelp.bench.true_lift import true_lifts
from gaelp.config.base import Frozen
from gaelp.gates import Evidence, Gate, judge, load_gate
from gaelp.history.lift_report import LiftReport
from gaelp.history.log_checks import check_log
from gaelp.history.log_power import plan_log
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import LoggedPolicy, PolicyLift
from gaelp.phases.log_judgement import AGENT, JudgedLog, judge_on_log, look_options
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.topics import TOPICS, keywords_for

__all__ = [
    "CASES",
    "VERSIONS",
    "JudgedCase",
    "JudgedVersion",
    "PowerSize",
    "StatedPlan",
    "WorldResult",
    "lift_gate",
    "world_result",
]

REACH = 1.5
VERSIONS = ("judged", "realised", "recalibrated")
_REPLICATES = 100  # of a bootstrap that no rule reads
_LIFT_SAMPLE = "effective_sample"
_NOW = datetime(2026, 11, 18, tzinfo=UTC)


def _raised_topics(count: int) -> Floats:
    """Bids at the ends of the reach: the first topics up, the others down; shape (topics,), in logs."""
    return np.where(np.arange(TOPICS) < count, 1.0, -1.0) * math.log(REACH)


# Factors were chosen on worlds with seeds 1001 to 1008, where mean true lifts are +15%, -10%, 0, and as in the names.
CASES: Mapping[str, Floats] = {
    "better by 15%": np.full(TOPICS, math.log(0.813)),
    "worse by 10%": np.full(TOPICS, math.log(1.19)),
    "identical": np.zeros(TOPICS),
    "other bids, no lift": _raised_topics(3),
    "better, at the ends of the reach": _raised_topics(1),
    "all bids / 1.5": _raised_topics(0),
    "all bids x 1.5": _raised_topics(TOPICS),
}


@dataclass(frozen=True, slots=True)
class PowerSize:
    """How much history there is, after how many of its days it is judged, and in how many weeks the truth is seen."""

    campaigns: int
    weeks: int
    judged_days: tuple[int, ...]
    true_weeks: int
    with_plan: bool = True  # whether to ask what `gaelp history plan` would say of the whole history
    bid_log_sd: float = 0.4


class JudgedVersion(Frozen):
    """A lift by one estimator; nothing where the log cannot say."""

    lift: float | None
    lower: float | None
    upper: float | None
    failed: tuple[str, ...]  # rules about the lift that do not hold


class StatedPlan(Frozen):
    """What `gaelp history plan` says of a history."""

    error: float  # of log(1 + lift) by realised value, on the whole history
    days: int
    weeks: float  # for a lift of 15%, with the log's own spread


class JudgedCase(Frozen):
    """One policy on the first days of one history."""

    case: str
    days: int
    true_lift: float
    versions: dict[str, JudgedVersion]
    predicted: float | None  # chance of a pass by realised value, by the plan


class WorldResult(Frozen):
    """Every policy on one history."""

    seed: int
    campaigns: int
    plan: StatedPlan | None
    judged: tuple[JudgedCase, ...]


def lift_gate() -> Gate:
    """Gate 2 without its rules about the market and the stored data."""
    gate = load_gate("history")
    rules = tuple(rule for rule in gate.criteria if rule.sample_metric == _LIFT_SAMPLE)
    return gate.model_copy(update={"criteria": rules})


def world_result(
    world: SandboxSpec, seed: int, size: PowerSize, gate: Gate, cache: Path | None, cases: Sequence[str] = tuple(CASES)
) -> WorldResult:
    """Judge the cases on the history of one seed; history and result are kept in `cache`."""
    path = None if cache is None else cache / f"{_name(seed, size, cases)}.json"
    if path is not None and path.exists():
        return WorldResult.model_validate_json(path.read_bytes())
    spec = SynthesisSpec(weeks=size.weeks, campaigns=size.campaigns, seed=seed, bid_log_sd=size.bid_log_sd)
    own = world.model_copy(update={"seed": seed})
    logged = cached_log(spec, own, cache)
    moved = {name: CASES[name] for name in cases if CASES[name].any()}
    lifts = dict.fromkeys(cases, 0.0) | true_lifts(spec, own, moved, weeks=size.true_weeks)
    rng = np.random.default_rng([seed, 29])
    plan = _plan(logged, size, rng) if size.with_plan else None
    judged = [
        _judged_case(first_days(logged, days), name, lifts[name], plan, gate, rng)
        for days in size.judged_days
        for name in cases
    ]
    result = WorldResult(seed=seed, campaigns=size.campaigns, plan=plan, judged=tuple(judged))
    if path is not None:
        path.write_text(result.model_dump_json(), encoding="utf-8")
    return result


def _plan(logged: LoggedDecisions, size: PowerSize, rng: np.random.Generator) -> StatedPlan:
    plan = plan_log(logged, rng, reach=REACH, confidence=look_options(_REPLICATES).confidence, lifts=(0.15,))
    nearest = min(plan.spreads, key=lambda each: abs(each.bid_log_sd - size.bid_log_sd))
    return StatedPlan(error=plan.standard_error, days=plan.days, weeks=nearest.weeks[0])


def _name(seed: int, size: PowerSize, cases: Sequence[str]) -> str:
    """Of the file with the results; other factors, days or sizes have another."""
    key = {"size": asdict(size), "cases": {name: CASES[name].tolist() for name in cases}}
    return f"power-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]}-seed-{seed}"


def _judged_case(
    logged: LoggedDecisions,
    name: str,
    true_lift: float,
    plan: StatedPlan | None,
    gate: Gate,
    rng: np.random.Generator,
) -> JudgedCase:
    options = look_options(_REPLICATES)
    policy = LoggedPolicy(name, _shift(logged, CASES[name]), np.ones(len(logged), bool))
    judged = judge_on_log(logged, check_log(logged), {AGENT: policy}, rng, options)
    if judged.lift is None:
        raise AssertionError(f"{name}: a synthesized history has propensities")
    lift = judged.lift
    reports = dict(zip(VERSIONS, (lift.judged, lift.realised, lift.recalibrated), strict=True))
    versions = {
        version: JudgedVersion(
            lift=report.lift,
            lower=report.lift_lower,
            upper=report.lift_upper,
            failed=_failed(judged, lift, report, gate),
        )
        for version, report in reports.items()
    }
    days = len(np.unique(logged.account_day))
    predicted = None if plan is None else _predicted(plan, days, true_lift, options.confidence)
    return JudgedCase(case=name, days=days, true_lift=true_lift, versions=versions, predicted=predicted)


def _predicted(plan: StatedPlan, days: int, true_lift: float, confidence: float) -> float:
    error = plan.error * math.sqrt(plan.days / days)
    return float(stats.norm.cdf(math.log1p(true_lift) / error - stats.norm.ppf(0.5 + confidence / 2)))


def _shift(logged: LoggedDecisions, by_topic: Floats) -> Floats:
    """Of each decision, (R,): the segments of a synthesized history are named after its topics."""
    topic_of = {keywords_for(topic, 1)[0]: topic for topic in range(TOPICS)}
    topics = np.array([topic_of[name] for name in logged.segment_names])
    return np.asarray(by_topic[topics[logged.segment]])


def _failed(judged: JudgedLog, lift: PolicyLift, report: LiftReport, gate: Gate) -> tuple[str, ...]:
    """The rules that do not hold if this report were the one that is read."""
    alone = lift.model_copy(update={"realised": report, "recalibrated": report})
    evidence = Evidence(
        run_id="power",
        agent=lift.policy,
        learned=False,
        config_hash="power",
        measured_at=_NOW,
        metrics=JudgedLog(judged.check, lift=alone, groups=judged.groups).metrics,
    )
    results = judge(gate, evidence, _NOW).results
    return tuple(result.criterion.metric for result in results if result.outcome != "pass")
