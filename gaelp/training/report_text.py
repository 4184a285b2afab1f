"""Describe the reports of training in sentences for people."""

from collections.abc import Iterator

from gaelp.training.monitor import MonitorReport
from gaelp.training.reports import Intervened, Resumed, RoundDone, TrainingReport, TrainingStopped, Validated

__all__ = ["as_text", "round_text"]

_SHOWN = {
    "approx_kl": "KL",
    "entropy": "entropy",
    "explained_variance": "explained",
    "loss": "loss",
    "critic_loss": "critic",
    "value_loss": "value",
}


def round_text(report: RoundDone) -> str:
    """The figures of a round that show whether the agent is learning, for a progress bar."""
    figures = [f"{name} {report.metrics[key]:.3g}" for key, name in _SHOWN.items() if key in report.metrics]
    return ", ".join([f"reward {report.reward:.3f}", *figures, f"{report.steps_per_second / 1000:.0f}k steps/s"])


def as_text(report: TrainingReport) -> str:
    """What happened, in sentences; empty for a round or a checkpoint, of which there are many."""
    match report:
        case Resumed():
            refused = "".join(f"\n  Not used: {reason}" for reason in report.refused)
            return f"Resumed after round {report.round} from {report.path.name}.{refused}"
        case Validated():
            return " ".join(_validation(report))
        case Intervened():
            return (
                f"Round {report.round}, guardrail {report.guardrail!r}: {_end(report.detail)} Action: {report.action}."
            )
        case TrainingStopped():
            how = "Finished" if report.kind in {"finished", "goal"} else "Stopped"
            return f"{how} after round {report.round}: {_end(report.detail)} {_outcome(report)}"
        case _:
            return ""


def _validation(report: Validated) -> Iterator[str]:
    score = report.score
    half = (score.lead_upper_95 - score.lead_lower_95) / 2
    rule = f", {score.lead:+.4f} ±{half:.4f} against the rule" if score.compared else ""
    yield f"Round {report.round}: validation reward {score.mean:.4f}{rule}."
    if report.monitor.goals:
        yield _goals(report.monitor)
    yield from _course(report.monitor)
    if report.best:
        yield "This is the best so far."
    elif score.lead > 0 and not score.proven and score.lead_lower_all_looks is not None:
        yield f"The lead may be luck: over all looks of the run its lower bound is {score.lead_lower_all_looks:+.4f}."


def _goals(monitor: MonitorReport) -> str:
    """How many goals are met, and how far the others are."""
    missing = ", ".join(
        f"{report.goal.figure} {'not measured' if report.distance is None else f'{report.distance:+.3f}'}"
        for report in monitor.goals
        if not report.met
    )
    met = f"{sum(report.met for report in monitor.goals)} of {len(monitor.goals)} goals are met"
    return f"{met}; missing: {missing}." if missing else f"{met}."


def _course(monitor: MonitorReport) -> Iterator[str]:
    """The trend of the reward over the short window, and whether the newest reward is an outlier."""
    for series in monitor.series:
        if series.name == "reward" and series.short.trend in ("rising", "falling"):
            yield f"The reward is {series.short.trend} over {series.short.count} validations."
        if series.name == "reward" and series.short.anomaly in ("high", "low"):
            yield f"This reward is unusually {series.short.anomaly}."


def _outcome(report: TrainingStopped) -> str:
    if report.best_score is None:
        return "No checkpoint was validated."
    if report.best is None:
        return "No better than the rule it started from, beyond luck: the rule is handed on."
    lead = f", {report.best_score.lead:+.4f} against the rule" if report.best_score.compared else ""
    return f"The best checkpoint is {report.best.name}: validation reward {report.best_score.mean:.4f}{lead}."


def _end(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
