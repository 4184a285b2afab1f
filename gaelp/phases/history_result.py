"""Every figure of phase 2, and the part of it that is passed on."""

from collections.abc import Sequence

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.gates import Verdict
from gaelp.history.fidelity_report import FidelityReport, FidelityScore, FigureScore
from gaelp.history.lift_report import LiftReport
from gaelp.history.logged_lift import GroupLift, PolicyLift
from gaelp.history.split_windows import Splits
from gaelp.phases.log_judgement import HARM_SHARE
from gaelp.phases.phase_result import PhaseResult, ResultTable
from gaelp.phases.run_folder import PhaseFolder
from gaelp.types import Phase

__all__ = ["HistoryResult", "as_phase_result"]

_GAPS_SHOWN = 5


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
    seconds: float
    verdict: Verdict

    @property
    def harmed(self) -> tuple[GroupLift, ...]:
        """Campaigns and segments that the agent certainly harms."""
        return tuple(group for group in self.groups if group.upper < -HARM_SHARE)


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
        tables=(_fidelity(result.fidelity), _gaps(result.fidelity), _lifts(result)),
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
    named = [*([result.lift] if result.lift else []), *result.rivals]
    return ResultTable(
        columns=(
            "on the sealed window",
            "value per dollar",
            "lift over the logging policy",
            "realised alone",
            "inside",
        ),
        rows=tuple(_lift_row(lift) for lift in named) or (("no propensities in the log", "", "", "", ""),),
        above=f"Would it have done better? Look {result.look} of 3 at {_days(result)}",
        below="Value per dollar of bids within the log's support; intervals hold over all three looks together.",
    )


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


def _harm(group: GroupLift) -> str:
    return f"{group.kind} {group.name} would lose: {group.lift:+.1%} ({group.lower:+.1%} .. {group.upper:+.1%})."


def _sentence(result: HistoryResult) -> str:
    if result.lift is None or result.lift.judged.lift is None:
        return "the log does not say what the agent would have been worth."
    report = result.lift.judged
    return f"the agent's value per dollar is {_interval(report)} over the logging policy's, on decisions it never saw."
