"""Write the incident report of a release that was rolled back, aborted or stopped, from its record and its figures."""

from pathlib import Path

import numpy as np

from gaelp.arrays import Bools
from gaelp.config.write import write_texts
from gaelp.phases.pilot_spending import loop_counts
from gaelp.pilot.decision_book import PilotEvent
from gaelp.pilot.loop import PilotRun
from gaelp.release.incident import INCIDENT_FILE, Incident, IncidentFinding, incident_text
from gaelp.release.losing_parts import losing_parts
from gaelp.release.release_record import exposure_events, incident_event, restored_event
from gaelp.release.running_release import controller_of

__all__ = ["write_incident"]

_DAY_HOURS = 24
_FAILED = ("late", "refused", "rejected", "unknown")


def write_incident(folder: Path, run: PilotRun) -> bool:
    """Write it into the attempt's folder; False if nothing went wrong."""
    ended = incident_event(run.book.events()) or run.book.stop_event
    if ended is None:
        return False
    write_texts({folder / INCIDENT_FILE: incident_text(_incident(run, ended))})
    return True


def _incident(run: PilotRun, ended: PilotEvent) -> Incident:
    controller, plan, reported = controller_of(run), run.plan, run.looker.seen
    hours = len(reported.cost_micros)
    treated = _treated_hours(run, hours)
    own = treated[:, :, None]
    day = int(ended.figures.get("day", max(controller.hour - 1, 0) // _DAY_HOURS))
    hour = int(ended.figures.get("hour", controller.hour % _DAY_HOURS))
    decided_at = _DAY_HOURS * day + hour
    percent_before = _percent_before(run, decided_at)
    counts = loop_counts(run.book)
    restored = restored_event(run.book.events())
    stop = run.book.stop_event
    return Incident(
        release=plan.name,
        outcome=str(ended.figures.get("outcome", "stop")),
        at=ended.at,
        day=day,
        hour=hour,
        percent_before=percent_before,
        agents_campaigns=int(controller.treated_in(decided_at - 1).sum()) if decided_at else 0,
        campaigns=len(plan.campaigns),
        currency=plan.currency,
        spend_micros=int(reported.cost_micros[:decided_at].sum()),
        agents_spend_micros=int(np.where(own, reported.cost_micros, 0)[:decided_at].sum()),
        agents_value_micros=int(np.where(own, reported.value_micros, 0)[:decided_at].sum()),
        findings=_findings(ended),
        counts={word: counts.orders.get(word, 0) for word in _FAILED} | {"missed hours": counts.missed},
        restored=stop.what if stop is not None else "" if restored is None else restored.what,
        worst=losing_parts(
            reported.value_micros,
            reported.cost_micros,
            reported.clicks,
            treated,
            [(campaign.name, campaign.targets) for campaign in plan.campaigns],
        ),
    )


def _findings(ended: PilotEvent) -> tuple[IncidentFinding, ...]:
    """Those of a decision about a day; a stop by the rules of every pilot has one."""
    if "findings" in ended.figures:
        return tuple(IncidentFinding.model_validate(each) for each in ended.figures["findings"])
    figures = {name: value for name, value in ended.figures.items() if name != "rule"}
    return (IncidentFinding(check=str(ended.figures.get("rule", "stop")), text=ended.what, figures=figures),)


def _treated_hours(run: PilotRun, hours: int) -> Bools:
    """Which campaigns were the agent's in each hour that is reported, (H, N)."""
    controller = controller_of(run)
    rows = [controller.treated_in(hour) for hour in range(hours)]
    return np.stack(rows) if rows else np.zeros((0, len(run.plan.campaigns)), np.bool_)


def _percent_before(run: PilotRun, hour: int) -> float:
    """The exposure that was decided before the decision of an hour."""
    earlier = [
        event.figures["percent"]
        for event in exposure_events(run.book.events())
        if _DAY_HOURS * event.figures["day"] + event.figures.get("hour", 0) < hour
    ]
    return float(earlier[-1]) if earlier else 0.0
