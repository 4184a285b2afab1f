"""Every figure of phase 2, and the part of it that is passed on."""

from collections.abc import Sequence

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.gates import Verdict
from gaelp.history.fidelity_report import FidelityReport, FidelityScore, FigureScore
from gaelp.history.lift_report import LiftReport
from gaelp.history.logged_lift import GroupLift, PolicyLift
from gaelp.history.policy_ranking import PolicyRanking
from gaelp.history.posterior_report import PosteriorGroup, PosteriorLift
from gaelp.history.split_windows import Splits
from gaelp.phases.history_figures import ModelBased, TrueResult
from gaelp.phases.log_judgement import HARM_SHARE
from gaelp.phases.phase_result import PhaseResult, ResultTable
from gaelp.phases.run_folder import PhaseFolder
from gaelp.types import Phase

__all__ = ["HistoryResult", "as_phase_result"]

_GAPS_SHOWN = 5
_MODEL_LABEL = "model-based"


class HistoryResult(Frozen):
    """What phase 2 measured, stored in history.json."""

    run_id: str
    agent: str
    learned: bool
    model_hash: str
    model: str = Field(description="the hashed file, relative to the attempt's folder")
    splits: Splits
    look: int = Field(description="at the sealed window, from 1")
    confidence: float = Field(description="of each interval on the sealed window: a third of the gate's alpha")
    fidelity: FidelityReport
    log_problems: tuple[str, ...] = Field(description="why the log cannot settle the gate, if it cannot")
    lift: PolicyLift | None = Field(description="of the agent over the logging policy; none without propensities")
    incumbent_lift: PolicyLift | None = Field(description="of the agent over the champion; none where there is none")
    rivals: tuple[PolicyLift, ...] = Field(description="of rules on the same decisions, over the logging policy")
    groups: tuple[GroupLift, ...] = Field(description="the agent's lift by campaign and by segment")
    model_based: ModelBased | None = Field(
        default=None, description="lifts by the market alone, where there are no weights"
    )
    ranking: PolicyRanking | None = Field(default=None, description="do market and log order the bidders alike?")
    truth: tuple[TrueResult, ...] = Field(default=(), description="on a made history: its sealed days run again")
    seconds: float
    verdict: Verdict

    @property
    def harmed(self) -> tuple[GroupLift | PosteriorGroup, ...]:
        """Campaigns and segments that the agent certainly harms."""
        groups = self.groups if self.model_based is None else self.model_based.groups
        return tuple(group for group in groups if group.upper < -HARM_SHARE)

    @property
    def true_lifts(self) -> dict[str, TrueResult]:
        """Results of running the sealed days again, by bidder; empty for a log that cannot be run again."""
        return {each.key: each for each in self.truth}


def as_phase_result(result: HistoryResult, folder: PhaseFolder) -> PhaseResult:
    """Return the result of phase 2 in the common form."""
    return PhaseResult(
        phase=Phase.HISTORY,
        run_id=result.run_id,
        attempt=folder.attempt,
        agent=result.agent,
        learned=result.learned,
        model_hash=result.model_hash,
        model=result.model,
        verdict=result.verdict,
        seconds=result.seconds,
        judged_on=f"sealed window {result.splits.sealed.fingerprint}",
        text=_meaning(result),
        tables=(_fidelity(result.fidelity), _gaps(result.fidelity), _lifts(result), *_rankings(result)),
    )


def _fidelity(report: FidelityReport) -> ResultTable:
    scores = (
        ("totals match", report.simulator_match),
        ("accuracy by campaign-day", report.prediction_accuracy),
        ("correlation with actuals", report.correlation_with_actuals),
    )
    rows = [(name, _score(score), "", "") for name, score in scores]
    rows += [_figure(figure) for figure in report.figures]
    return ResultTable(
        columns=("the market against the log", "score (95% interval)", "total, market over log", "error over chance"),
        rows=tuple(rows),
        above=f"Does the market reproduce what happened? {report.campaign_days} campaign-days, nothing fitted to them",
    )


def _score(score: FidelityScore) -> str:
    return f"{score.value:.3f} ({score.lower_95:.3f} .. {score.upper_95:.3f})"


def _figure(figure: FigureScore) -> tuple[str, str, str, str]:
    return figure.figure, "", f"{figure.total_error:+.1%}", f"{figure.noise_ratio:.2f}"


def _gaps(report: FidelityReport) -> ResultTable:
    rows = tuple((gap.words, f"{gap.gap:+.0%}") for gap in report.gaps_beyond_chance[:_GAPS_SHOWN])
    return ResultTable(
        columns=("what the market gets wrong, the surest first", "gap"),
        rows=rows or (("nothing beyond chance", ""),),
    )


def _lifts(result: HistoryResult) -> ResultTable:
    return _model_lifts(result, result.model_based) if result.model_based else _weighted_lifts(result)


def _weighted_lifts(result: HistoryResult) -> ResultTable:
    named = [*([result.lift] if result.lift else []), *result.rivals]
    rows = [_lift_row(lift) for lift in named] or [("no figures", "", "", "", "")]
    return ResultTable(
        columns=(
            "on the sealed window",
            "value per dollar",
            "lift over the logging policy",
            "realised alone",
            "inside",
        ),
        rows=tuple(rows + _true_rows(result, 5)),
        above=f"Would it have done better? Look {result.look} of 3 at {_days(result)}",
        below="Value per dollar of bids within the log's support; intervals hold over all three looks together."
        f" {_truth_text(result)}",
    )


def _model_lifts(result: HistoryResult, model: ModelBased) -> ResultTable:
    rows = [_model_row(lift) for lift in (model.lift, *model.rivals)]
    return ResultTable(
        columns=("on the sealed window, model-based", "value per dollar", "lift over the logged bids", "draws better"),
        rows=tuple(rows + _true_rows(result, 4)),
        above=f"Would it have done better? The log has no propensities, so only the market can say ({_MODEL_LABEL})."
        f" Look {result.look} of 3 at {_days(result)}",
        below=f"Played in {model.lift.draws} markets drawn from what the log leaves unknown; the intervals are their"
        f" spread, over all three looks together. They do not cover what the market gets wrong. {_truth_text(result)}",
    )


def _model_row(lift: PosteriorLift) -> tuple[str, ...]:
    return lift.policy, f"{lift.market_value_per_dollar:.3f}", _model_interval(lift), f"{lift.better_share:.0%}"


def _model_interval(lift: PosteriorLift) -> str:
    return f"{lift.lift:+.1%} ({lift.lift_lower:+.1%} .. {lift.lift_upper:+.1%})"


def _true_rows(result: HistoryResult, columns: int) -> list[tuple[str, ...]]:
    rows = []
    for each in result.truth:
        name = f"{each.key}, run again" if not each.is_automated else f"{each.key} of the platform, run again"
        row = (name, f"{each.value_per_dollar:.3f}", f"{each.lift:+.1%}, spends {each.spend_share:.0%}")
        rows.append((*row, *("",) * (columns - len(row))))
    return rows


def _truth_text(result: HistoryResult) -> str:
    if not result.truth:
        return (
            "What the platform's own automated bidding would have brought is not known: no log of other bids says it."
        )
    return (
        "Run again: this history was made on the local ad platform, which ran its sealed days again with that bidder;"
        " expected value, no estimate. No rule reads it."
    )


def _rankings(result: HistoryResult) -> tuple[ResultTable, ...]:
    ranking = result.ranking
    if ranking is None:
        return ()
    verdict = "the same" if ranking.same_best else f"another, which loses {ranking.regret:.1%} of value per dollar"
    row = (", ".join(ranking.policies), f"{ranking.spearman:.2f}", f"{ranking.kendall:.2f}", verdict)
    columns = ("bidders by the market, best first", "Spearman", "Kendall", "best one by the log")
    return (ResultTable(columns=columns, rows=(row,), above="Do market and log order the bidders alike?"),)


def _days(result: HistoryResult) -> str:
    sealed = result.splits.sealed
    return f"{sealed.first_day} to {sealed.last_day}, {sealed.campaigns} campaigns"


def _lift_row(lift: PolicyLift) -> tuple[str, ...]:
    value = lift.judged.value_per_dollar
    return (
        lift.policy,
        "-" if value is None else f"{value:.3f}",
        _interval(lift.judged),
        _interval(lift.realised),
        f"{lift.inside_share:.0%}",
    )


def _interval(report: LiftReport) -> str:
    if report.lift is None:
        return "inconclusive"
    return f"{report.lift:+.1%} ({report.lift_lower:+.1%} .. {report.lift_upper:+.1%})"


def _meaning(result: HistoryResult) -> str:
    lines = [*_doubts(result), *(_harm(group) for group in result.harmed)]
    return "\n".join([*lines, f"Run {result.run_id}: {_sentence(result)}"])


def _doubts(result: HistoryResult) -> Sequence[str]:
    reasons = result.log_problems if result.lift is None else (*result.log_problems, *result.lift.judged.inconclusive)
    return [f"Too little to decide: {reason}" for reason in reasons]


def _harm(group: GroupLift | PosteriorGroup) -> str:
    return f"{group.kind} {group.name} would lose: {group.lift:+.1%} ({group.lower:+.1%} .. {group.upper:+.1%})."


def _sentence(result: HistoryResult) -> str:
    if result.model_based is not None:
        lift = _model_interval(result.model_based.lift)
        return (
            f"{_MODEL_LABEL}: by the market alone, the agent's value per dollar is {lift} over the logged bids'."
            f" The log has no propensities; {_judged_by(result)} judged, with higher bars."
        )
    if result.lift is None or result.lift.judged.lift is None:
        return "the log does not say what the agent would have been worth."
    report = result.lift.judged
    return f"the agent's value per dollar is {_interval(report)} over the logging policy's, on decisions it never saw."


def _judged_by(result: HistoryResult) -> str:
    file = result.verdict.gate.file
    return f"gate {result.verdict.gate.name}" if file is None else file.path
