"""The reports of training as lines that people read."""

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
    """The figures of a round that tell whether it learns."""
    figures = " ".join(f"{name} {report.metrics[key]:.3g}" for key, name in _SHOWN.items() if key in report.metrics)
    return f"reward {report.reward:.3f} {figures} {report.steps_per_second / 1000:.0f}k steps/s"


def _goals(monitor: MonitorReport) -> str:
    """How many goals are met, and how far the others are."""
    if not monitor.goals:
        return ""
    missing = ", ".join(
        f"{one.goal.figure} {'unknown' if one.distance is None else f'{one.distance:+.3f}'}"
        for one in monitor.goals
        if not one.met
    )
    met = f"{sum(one.met for one in monitor.goals)} of {len(monitor.goals)} goals met"
    return f"{met} (to go: {missing})" if missing else met


def _course(monitor: MonitorReport) -> str:
    """Where the reward is going over the short window, and whether the newest one is odd."""
    words = []
    for series in monitor.series:
        if series.name == "reward" and series.short.trend in ("rising", "falling"):
            words.append(f"{series.short.trend} over {series.short.count} validations")
        if series.name == "reward" and series.short.anomaly in ("high", "low"):
            words.append(f"oddly {series.short.anomaly}")
    return ", ".join(words)


def as_text(report: TrainingReport) -> str:
    """A line for what is worth one; empty for a round or a checkpoint, of which there are many."""
    match report:
        case Resumed():
            refused = "".join(f"\n  refused: {reason}" for reason in report.refused)
            return f"resumed after round {report.round} from {report.path.name}{refused}"
        case Validated():
            score, star = report.score, " *" if report.best else ""
            half = (score.lead_upper_95 - score.lead_lower_95) / 2
            rule = f", {score.lead:+.4f} ±{half:.4f} against the rule" if score.compared else ""
            seen = "".join(f", {words}" for words in (_goals(report.monitor), _course(report.monitor)) if words)
            return f"round {report.round}: validation reward {score.mean:.4f}{rule}{seen}{star}"
        case Intervened():
            return f"round {report.round}: {report.guardrail}: {report.action} ({report.detail})"
        case TrainingStopped():
            how = "finished" if report.kind in {"finished", "goal"} else "stopped"
            return f"{how} after round {report.round}: {report.detail}"
        case _:
            return ""
