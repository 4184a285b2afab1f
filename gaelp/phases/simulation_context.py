"""What to show beside the verdict on phase 1, read from the records of the run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaelp.gates.verdict_context import ComparedBidder, CurvePoint, LearningCurve, VerdictContext
from gaelp.market.baselines.catalog import CATALOG
from gaelp.market.baselines.compare import Comparison, PolicyResult
from gaelp.market.baselines.comparison_text import MONEY_COLUMNS, money_cells
from gaelp.phases.data_evidence import data_facts
from gaelp.phases.market_limits import market_limits
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.runs import read_record
from gaelp.phases.simulation_result import SimulationResult
from gaelp.training.recipe import NO_RULE
from gaelp.training.scores import Score

__all__ = ["simulation_context"]

_SUMMARIES = {kind.build().name: f"{kind.summary[0].upper()}{kind.summary[1:]}." for kind in CATALOG}


def simulation_context(result: PhaseResult, home: Path) -> VerdictContext:
    """Facts, bidders and learning curve of an attempt. A file that cannot be read is named; it closes no gate."""
    folder = result.folder(home)
    try:
        details = SimulationResult.model_validate_json(folder.details.read_bytes())
        begun = json.loads(folder.identity.read_text(encoding="utf-8"))
        return VerdictContext(
            facts=tuple(_facts(folder, details, begun).items()),
            stored_data=tuple(data_facts(folder).items()),
            progress=_progress(details, begun["recipe"]["rule"]),
            bidders=_bidders(details.comparison),
            curve=_learning_curve(folder, details, begun["recipe"]["rule"]),
        )
    except (OSError, ValueError, LookupError, TypeError) as problem:  # pydantic's own error is a ValueError
        first = (str(problem).splitlines() or [type(problem).__name__])[0]
        return VerdictContext(facts=(("records of the run", f"cannot be read: {first}"),))


def _facts(folder: PhaseFolder, details: SimulationResult, begun: Mapping[str, Any]) -> dict[str, str]:
    comparison, recipe = details.comparison, begun["recipe"]
    label = f" ({comparison.label})" if comparison.label else ""
    start = "from scratch" if recipe["rule"] == NO_RULE else f"from the rule {recipe['rule']}"
    early = "" if details.stopped == "finished" else f" ({details.stop_detail})"
    rounds = f"{details.rounds} of {recipe['loop']['rounds']} rounds{early}"
    limits = market_limits(details.verdict.gate, comparison)
    facts = {
        "market": f"{comparison.market}{label}",
        "objective": comparison.objective.label,
        "config": _config(folder),
        "training": f"{recipe['algorithm']} starting {start}, {rounds}",
        "seeds": f"{begun['seed']} for training, {details.evaluation.seed} for evaluation; no episode serves both",
        "episodes": f"{comparison.episodes} held-out episodes, the same for every bidder",
        "on a market with other parameters": _shifted(details.shifted_metrics),
    }
    campaigns = comparison.of(details.agent).against_best
    if campaigns is not None:
        lead = f"{100 * campaigns.worst_group_lead:+.2f}% against the best rule"
        facts["worst group of campaigns"] = f"{_group_text(campaigns.worst_group)}: {lead}"
    return facts | ({"limits of this market": " ".join(limits)} if limits else {})


def _group_text(group: str) -> str:
    """A group such as `price, 10 of 10` in words: which end of the order its slice is at."""
    name, _, place = group.partition(", ")
    number, _, count = place.partition(" of ")
    ends = {"1": "the lowest", count: "the highest"}
    return f"sorted by {name}, slice {place} ({ends.get(number, f'1 is the lowest, {count} the highest')})"


def _config(folder: PhaseFolder) -> str:
    if not folder.run.record.exists():
        return "not recorded: the run was begun outside the pipeline"
    record = read_record(folder.run)
    return f"{record.config}{''.join(f', {override}' for override in record.overrides)}"


def _shifted(metrics: Mapping[str, float]) -> str:
    reward, lead = (
        tuple(metrics[f"{name}{end}"] for end in ("", "_lower_95", "_upper_95"))
        for name in ("reward", "lead_over_best_rule")
    )
    return (
        f"reward {reward[0]:.3f} ({reward[1]:.3f} .. {reward[2]:.3f}), lead over the best rule there {_percent(*lead)}"
    )


def _progress(details: SimulationResult, rule: str) -> str:
    """Whether the agent is better than the best rule, which mostly is the one it started from."""
    if not details.learned:
        return (
            f"No better than the rule it started from ({rule}): no checkpoint did better in validation, so what is"
            " judged here is that rule, unchanged."
        )
    best = details.comparison.best_uninformed
    name = f"the rule it started from ({best})" if best == rule else f"the best rule ({best})"
    lead = details.comparison.of(details.agent).lead_over_best
    text = _percent(lead.value, lead.lower_95, lead.upper_95)
    if lead.lower_95 > 0:
        return f"Better than {name}: its lead is {text}."
    if lead.upper_95 < 0:
        return f"Worse than {name}: its lead is {text}."
    return f"No better than {name}: its lead of {text} may be chance."


def _percent(value: float, lower: float, upper: float) -> str:
    value, lower, upper = (round(100 * figure, 2) + 0.0 for figure in (value, lower, upper))  # + 0.0: no minus before 0
    return f"{value:+.2f}% ({lower:+.2f}% .. {upper:+.2f}%)"


def _bidders(comparison: Comparison) -> tuple[ComparedBidder, ...]:
    """Best first."""
    ranked = sorted(comparison.results, key=lambda result: -result.reward.value)
    has_money = all(result.money for result in ranked)  # not in results from before money was reported
    return tuple(
        ComparedBidder(
            name=result.policy,
            meaning=_meaning(result, comparison),
            reward=result.reward.value,
            lower_95=result.reward.lower_95,
            upper_95=result.reward.upper_95,
            money=_money(result) if has_money else (),
        )
        for result in ranked
    )


def _money(result: PolicyResult) -> tuple[tuple[str, str], ...]:
    return tuple(zip(MONEY_COLUMNS[1:], money_cells(result.money), strict=True)) if result.money else ()


def _meaning(result: PolicyResult, comparison: Comparison) -> str:
    meaning = _SUMMARIES.get(result.policy, "The agent that is judged here.")
    is_best = result.policy == comparison.best_uninformed
    best = " The best of the rules that know no more than the agent." if is_best else ""
    return f"{meaning}{best}"


def _learning_curve(folder: PhaseFolder, details: SimulationResult, rule: str) -> LearningCurve | None:
    """The validations in the training log; None if there was none. Of a round logged twice the later one counts."""
    scores: dict[int, Score] = {}
    chosen = None
    for line in folder.training_log.read_text(encoding="utf-8").splitlines():
        report = _validated(line)
        if report is not None:
            scores[report["round"]] = Score.model_validate(report["score"])
            chosen = report["round"] if report["best"] else chosen
    if not scores:
        return None
    compared = all(score.compared for score in scores.values())
    episodes = next(iter(scores.values())).episodes
    measure = f"Lead over {rule} in validation" if compared else "Reward in validation"
    return LearningCurve(
        measure=f"{measure}, as a share of the optimum ({episodes} episodes)",
        zero=f"no better than {rule}" if compared else None,
        points=tuple(_point(number, score, compared=compared) for number, score in sorted(scores.items())),
        chosen_round=chosen if details.learned else None,
    )


def _point(number: int, score: Score, *, compared: bool) -> CurvePoint:
    if compared:
        return CurvePoint(round=number, value=score.lead, lower_95=score.lead_lower_95, upper_95=score.lead_upper_95)
    return CurvePoint(round=number, value=score.mean, lower_95=score.lower_95, upper_95=score.upper_95)


def _validated(line: str) -> dict[str, Any] | None:
    """The report of a validation; None for other reports and for a line that a killed process left unfinished."""
    try:
        report = json.loads(line)
    except ValueError:
        return None
    return report if isinstance(report, dict) and report.get("report") == "Validated" else None
