"""The reports of training as lines that people read."""

from gaelp.training.reports import Intervened, Report, Resumed, RoundDone, Stopped, Validated

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


def as_text(report: Report) -> str:
    """A line for what is worth one; empty for a round or a checkpoint, of which there are many."""
    match report:
        case Resumed():
            refused = "".join(f"\n  refused: {reason}" for reason in report.refused)
            return f"resumed after round {report.round} from {report.path.name}{refused}"
        case Validated():
            score, star = report.score, " *" if report.best else ""
            half = (score.lead_upper_95 - score.lead_lower_95) / 2
            goals = report.monitor.goals
            met = f", {sum(goal.met for goal in goals)} of {len(goals)} goals met" if goals else ""
            return (
                f"round {report.round}: validation reward {score.mean:.4f},"
                f" {score.lead:+.4f} ±{half:.4f} against the rule{met}{star}"
            )
        case Intervened():
            return f"round {report.round}: {report.guardrail}: {report.action} ({report.detail})"
        case Stopped():
            return f"stopped after round {report.round}: {report.detail}"
        case _:
            return ""
