"""What to show beside the verdict on phase 3, read from the records of the run."""

from pathlib import Path

from gaelp.gates.verdict_context import VerdictContext
from gaelp.money import Money
from gaelp.phases.attempt_context import attempt_context
from gaelp.phases.data_evidence import data_facts
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_result import PilotResult
from gaelp.phases.run_folder import PhaseFolder

__all__ = ["pilot_context"]


def pilot_context(result: PhaseResult, home: Path) -> VerdictContext:
    """Facts of an attempt. A file that cannot be read is named; it closes no gate."""
    return attempt_context(result, home, PilotResult, _context)


def _context(details: PilotResult, folder: PhaseFolder, result: PhaseResult) -> VerdictContext:
    return VerdictContext(
        facts=tuple(_facts(details).items()),
        stored_data=tuple(data_facts(folder).items()),
        progress=result.text.splitlines()[-1],
    )


def _facts(details: PilotResult) -> dict[str, str]:
    plan = details.plan
    facts = {
        "money": "real" if details.world == "live" else "none: the local ad platform",
        "account": f"{plan.account}, {plan.currency}, days of {plan.time_zone}",
        "campaigns": f"{len(plan.campaigns)}, {Money(plan.daily_micros, plan.currency)} a day together",
        "days": f"{plan.first_day} to {plan.last_day}, judged after {plan.settled_day}",
        "mandate": details.mandate[:12] or "none: nothing was spent",
        "model": plan.model_hash[:12],
        "ended": details.ended,
        "decisions": _decisions(details),
    }
    if details.metrics is not None:
        facts["value from"] = f"the {details.metrics.value_from}; the return is {details.metrics.label}"
    for number, text in enumerate(details.skewed_features, start=1):
        facts[f"skew {number}"] = text
    for number, text in enumerate(details.violations, start=1):
        facts[f"violation {number}"] = text
    return facts


def _decisions(details: PilotResult) -> str:
    counts = details.counts
    orders = ", ".join(f"{number} {word}" for word, number in sorted(counts.orders.items()))
    return f"{counts.decided} hours decided, {counts.missed} missed; orders: {orders or 'none'}"
