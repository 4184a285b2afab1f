"""What to show beside the verdict on phase 4, read from the records of the run."""

from pathlib import Path

from gaelp.gates.verdict_context import Picture, VerdictContext
from gaelp.money import Money
from gaelp.phases.attempt_context import attempt_context
from gaelp.phases.data_evidence import data_facts
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.scale_result import EXPOSURE_PICTURE, ScaleResult
from gaelp.release.incident import INCIDENT_FILE

__all__ = ["scale_context"]


def scale_context(result: PhaseResult, home: Path) -> VerdictContext:
    """Facts of an attempt. A file that cannot be read is named; it closes no gate."""
    return attempt_context(result, home, ScaleResult, _context)


def _context(details: ScaleResult, folder: PhaseFolder, result: PhaseResult) -> VerdictContext:
    return VerdictContext(
        facts=tuple((_facts(details) | _incident(folder)).items()),
        stored_data=tuple(data_facts(folder).items()),
        progress=result.text.splitlines()[-1],
        pictures=_pictures(folder),
    )


def _facts(details: ScaleResult) -> dict[str, str]:
    plan, exposure = details.plan.campaigns, details.plan.exposure
    steps = " -> ".join(f"{step.percent:g}%" for step in exposure.steps)
    facts = {
        "money": "real" if details.world == "live" else "none: the local ad platform",
        "account": f"{plan.account}, {plan.currency}, days of {plan.time_zone}",
        "campaigns": f"{len(plan.campaigns)}, {Money(plan.daily_micros, plan.currency)} a day together at first",
        "control": "the incumbent's usual bids, scaled down until its budget lasts",
        "steps": f"{steps} ({exposure.strategy.replace('_', ' ')})",
        "days": f"{len(details.days)} from {plan.first_day} on",
        "mandate": details.mandate[:12],
        "model": plan.model_hash[:12],
        "ended": (details.ended or "without a proof").replace("_", " "),
        "last decision": details.why,
    }
    for number, text in enumerate(details.violations, start=1):
        facts[f"violation {number}"] = text
    return facts


def _incident(folder: PhaseFolder) -> dict[str, str]:
    """What the incident report says first, where there is one."""
    path = folder.path / INCIDENT_FILE
    if not path.exists():
        return {}
    cause = next((line for line in path.read_text().splitlines() if line.startswith("Likely cause")), "")
    return {"incident": f"{path}: {cause}"}


def _pictures(folder: PhaseFolder) -> tuple[Picture, ...]:
    path = folder.path / EXPOSURE_PICTURE
    if not path.exists():
        return ()
    return (
        Picture(
            title="Exposure, and what the comparison shows",
            text="Above: the share of the campaigns that the agent bids for. Below: its lift in value per dollar over"
            " the control. The band holds at every look: the improvement is shown where it lies above the dashed line.",
            png=path.read_bytes(),
        ),
    )
