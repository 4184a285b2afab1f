"""Explain a stop: who made it and why; and if it is incomplete, which part is missing and what to do now."""

from collections.abc import Iterable
from datetime import datetime

from gaelp.budget.kill_switch import PartReport, StopReport
from gaelp.budget.latch import StopRecord

__all__ = ["describe_stops", "shortfall"]

_BY_HAND = "pause them on the platform by hand, now"


def describe_stops(stops: Iterable[StopRecord]) -> str:
    """When and by whom spending was stopped, and why; the first stop first."""
    first, *later = (f"{_time(stop)} by {stop.by or 'unknown'}: {stop.reason or 'no reason given'}" for stop in stops)
    return "; ".join([f"Stopped since {first}", *(f"again at {stop}" for stop in later)])


def _time(stop: StopRecord) -> str:
    return f"{datetime.fromisoformat(stop.at):%Y-%m-%d %H:%M:%S} UTC"


def shortfall(report: StopReport) -> str:
    """What is not done, and what that means; empty if every connected part is done."""
    if report.complete:
        return ""
    missing = [part for part in report.parts if part.outcome in ("failed", "still trying")]
    head = f"STOPPED IN PART ({report.stop_id})" if report.stopped else "NOT STOPPED"
    parts = " ".join(f"{part.name} {part.outcome}: {_detail(part)}{_meaning(part, report)}." for part in missing)
    hand = (
        ""
        if report.stopped or report.outcome("pause") == "done"
        else f" Spending may continue, and campaigns may still run: {_BY_HAND}."
    )
    return f"{head}. {parts}{hand}"


def _detail(part: PartReport) -> str:
    return f"{part.detail.rstrip('.')}. " if part.detail else ""


def _meaning(part: PartReport, report: StopReport) -> str:
    match part.name:
        case "latch" if report.outcome("fence") == "done":
            return "The fence stops all who use this ledger; repeat `gaelp kill` once this is fixed"
        case "latch":
            return "Spenders on this machine are not stopped by it"
        case "fence" if report.stopped:
            return (
                "This machine is stopped; others that use the same ledger are NOT until the fence is raised: repeat"
                " `gaelp kill` when the ledger can be reached, and pause on the platform by hand if they spend"
            )
        case "fence":
            return "Nobody who uses this ledger is stopped by it: repeat `gaelp kill` when it can be reached"
        case "pause":
            return f"Campaigns may still run: {_BY_HAND}"
