"""The record of a release: what was decided about each day, what a rollback has restored, and both in words."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from gaelp.pilot.decision_book import DecisionBook, PilotEvent
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.release.assignment import treated_days
from gaelp.release.exposure_checks import Finding
from gaelp.release.release_controller import DayDecision

__all__ = [
    "agents_campaigns",
    "day_events",
    "exposure_events",
    "exposure_text",
    "incident_event",
    "note_exposure",
    "restored_event",
]

_DAY_NOTE = "exposure"  # marks the events of the record that are decisions about a day
_RESTORED_NOTE = "restored"
_BAD = ("roll_back", "abort")


def note_exposure(book: DecisionBook, decided: DayDecision, at: datetime) -> PilotEvent | None:
    """Record the decision about a day; None if exactly this is recorded.

    A decision that was recorded, but interrupted before it was in force, is made again; the later one counts.
    """
    exposure = decided.exposure
    why = "; ".join(finding.text for finding in exposure.findings)
    what = f"day {decided.day + 1}: {exposure.outcome}, {exposure.percent:g}% of the campaigns are the agent's: {why}"
    if any(event.what == what[:4000] for event in exposure_events(book.events())):
        return None
    figures: dict[str, Any] = {"subject": _DAY_NOTE, "day": decided.day, "hour": decided.at_hour}
    figures |= {"percent": exposure.percent, "outcome": exposure.outcome}
    for finding in exposure.findings:
        figures |= _plain(finding)
    figures["findings"] = [
        {"check": finding.check, "text": finding.text, "figures": _plain(finding)} for finding in exposure.findings
    ]
    book.add_event("note", what, at, figures=figures)
    return exposure_events(book.events())[-1]


def exposure_events(events: Iterable[PilotEvent]) -> list[PilotEvent]:
    """All decisions about exposure, in the order in which they were made."""
    return _of(events, _DAY_NOTE)


def day_events(events: Iterable[PilotEvent]) -> list[PilotEvent]:
    """The decisions about single days, in their order; of a day that was decided more than once, the last."""
    last = {event.figures["day"]: event for event in exposure_events(events)}
    return [last[day] for day in sorted(last)]


def incident_event(events: Sequence[PilotEvent]) -> PilotEvent | None:
    """The first decision that ended a release badly."""
    return next((event for event in day_events(events) if event.figures["outcome"] in _BAD), None)


def restored_event(events: Iterable[PilotEvent]) -> PilotEvent | None:
    """What was read back after a rollback."""
    return next(iter(_of(events, _RESTORED_NOTE)), None)


def agents_campaigns(events: Iterable[PilotEvent], plan: PilotPlan) -> int:
    """How many campaigns are the agent's on the day that was decided last."""
    decided = day_events(events)
    if not decided or decided[-1].figures["outcome"] in _BAD:
        return 0
    percent = [0.0] * (decided[-1].figures["day"] + 1)
    for event in decided:
        percent[event.figures["day"]] = event.figures["percent"]
    names = tuple(campaign.name for campaign in plan.campaigns)
    return int(treated_days(plan.name, names, percent)[-1].sum())


def exposure_text(event: PilotEvent) -> str:
    """Exposure, and the lift with its bounds, as a day's decision has them."""
    figures = event.figures
    text = f"{figures['percent']:g}% exposure"
    if (lift := figures.get("lift")) is not None:
        text += f", lift {lift:+.0%} ({_bound(figures.get('lift_lower_95'))} .. {_bound(figures.get('lift_upper_95'))})"
    return text


def _bound(bound: float | None) -> str:
    return "open" if bound is None else f"{bound:+.0%}"


def _of(events: Iterable[PilotEvent], subject: str) -> list[PilotEvent]:
    return [event for event in events if event.figures.get("subject") == subject]


def _plain(finding: Finding) -> dict[str, Any]:
    """Without figures that JSON has no number for."""
    return {
        name: value for name, value in finding.figures.items() if not isinstance(value, float) or math.isfinite(value)
    }
