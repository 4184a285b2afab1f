"""The report of a release that ended badly: what was decided and why, its money, what is restored, the likely cause."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pydantic import Field

from gaelp.config.base import Frozen
from gaelp.money import Micros, Money
from gaelp.release.losing_parts import LosingPart

__all__ = ["INCIDENT_FILE", "Incident", "IncidentFinding", "incident_text", "likely_cause"]

INCIDENT_FILE = "incident.md"  # in the folder of the attempt
_CENT_MICROS = 10_000

_CAUSES = {
    "stopped": "a person stopped all spending; the reason is theirs",
    "kill-switch": "a person stopped all spending; the reason is theirs",
    "loss-cap": "bids are too high for what clicks are worth, or value is reported late or not at all",
    "mandate-ended": "the permission to spend was revoked, or another model decides",
    "refused-action": "the guard or the platform refuses what is ordered: the limits, or a fault in what is ordered",
    "stale-data": "the platform does not report, so nobody knows what is spent",
    "out-of-range": "the market is not like the one that the agent was trained in",
    "violation": "money or campaigns are not as ordered: the platform, somebody else with access, or a fault in GAELP",
    "violations": "money or campaigns are not as ordered: the platform, somebody else with access, or a fault in GAELP",
    "loss": "bids are too high for what clicks are worth, or value is reported late or not at all",
    "cost-spike": "the platform delivered far more than the budgets allow, or budgets were changed outside of GAELP",
    "sample-ratio": "hours were missed on the days of one side only: look for what stopped the loop",
    "errors": "the platform did not answer or refused orders, or the loop was not running",
    "negative-feedback": "people dislike the adverts or where they are shown",
    "worse": "clicks are worth less than the agent believes: its value model is wrong or the market has changed",
    "deadline": "the difference is too small to be shown with this budget in this time",
}


class IncidentFinding(Frozen):
    """A reason, with what was seen beside its limits."""

    check: str
    text: str
    figures: dict[str, Any] = Field(default_factory=dict)


class Incident(Frozen):
    """Everything that the report says; money is of all campaigns of the release."""

    release: str
    outcome: str  # roll_back, abort or stop
    at: datetime  # people's time
    day: int  # of the release, from 0
    hour: int  # of that day
    percent_before: float
    agents_campaigns: int  # before the decision
    campaigns: int
    currency: str
    spend_micros: Micros
    agents_spend_micros: Micros
    agents_value_micros: Micros
    findings: tuple[IncidentFinding, ...]
    counts: dict[str, int] = Field(default_factory=dict, description="failed orders by kind, and missed hours")
    restored: str = ""  # what was read back; empty: nothing was yet
    worst: tuple[LosingPart, ...] = ()


def likely_cause(incident: Incident) -> str:
    """What most likely caused it, from its first finding; a person has to confirm it."""
    check = incident.findings[0].check if incident.findings else ""
    cause = _CAUSES.get(check, "see the findings: no cause is known for them")
    if check == "errors":
        failed = {name: count for name, count in incident.counts.items() if count}
        failures = ", ".join(f"{count} {name}" for name, count in failed.items())
        return f"{cause} (in the whole release: {failures or 'nothing on record'})"
    if check in ("worse", "loss") and incident.worst:
        parts = ", ".join(f"{part.target} of {part.campaign}" for part in incident.worst[:3])
        return f"{cause}; most was lost in {parts}"
    return cause


def incident_text(incident: Incident) -> str:
    """The report as Markdown."""
    return "\n".join(_lines(incident)) + "\n"


def _lines(incident: Incident) -> Iterator[str]:
    money = incident.currency
    yield f"# Release {incident.release}: {incident.outcome.replace('_', ' ')}"
    yield ""
    yield (
        f"Decided at {incident.at.isoformat(timespec='seconds')}, hour {incident.hour} of day {incident.day + 1}."
        f" Before that the agent had {incident.agents_campaigns} of {incident.campaigns} campaigns"
        f" ({incident.percent_before:g}% exposure)."
    )
    yield f"\nLikely cause, for a person to confirm: {likely_cause(incident)}."
    yield "\n## Why\n"
    for finding in incident.findings:
        yield f"- **{finding.check}**: {finding.text}"
    yield "\n| figure | value |\n|---|---|"
    for finding in incident.findings:
        for name, value in finding.figures.items():
            yield f"| {finding.check}: {name} | {value} |"
    yield "\n## Money at that moment\n"
    yield f"- spent by all campaigns since the release began: {_money(incident.spend_micros, money)}"
    yield (
        f"- under the agent: {_money(incident.agents_spend_micros, money)} spent,"
        f" {_money(incident.agents_value_micros, money)} of value known so far"
    )
    yield "\n## Restored\n"
    yield incident.restored or "Nothing was read back yet: the loop restores bids hour by hour."
    yield from _worst(incident)


def _worst(incident: Incident) -> Iterator[str]:
    yield "\n## Where the agent lost most against the control\n"
    if not incident.worst:
        yield "No ad group returned less under the agent than under the control so far."
        return
    yield "| campaign | ad group | clicks | spend | value so far | the control's value for the same spend | lost |"
    yield "|---|---|---|---|---|---|---|"
    for part in incident.worst:
        amounts = (part.spend_micros, part.value_micros, part.control_value_micros, part.lost_micros)
        cells = (part.campaign, part.target, str(part.clicks), *(_money(each, incident.currency) for each in amounts))
        yield f"| {' | '.join(cells)} |"


def _money(micros: Micros, currency: str) -> str:
    return str(Money(micros // _CENT_MICROS * _CENT_MICROS, currency))
