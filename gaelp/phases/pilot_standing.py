"""Where a run's pilot is, from its plan and its record: for people who look while another process drives it."""

from contextlib import closing
from datetime import datetime

from pydantic import ValidationError

from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.database import Place, has_store
from gaelp.errors import GaelpError
from gaelp.money import Micros, Money
from gaelp.phases.planned_pilot import PLAN_FILE, PlannedPilot
from gaelp.phases.run_folder import RunFolder
from gaelp.pilot.book_schema import STORE
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.types import Phase, RunId

__all__ = ["PilotNow", "describe_pilot", "money_now", "pilot_now"]

_DAY_HOURS = 24
_CENT_MICROS = 10_000


class PilotNow(Frozen):
    """A pilot's money against its budgets, and who waits for a person; figures are as of its newest decided hour."""

    hours_decided: int
    hours: int
    currency: str
    budget_micros: Micros  # of all campaigns and days
    loss_cap_micros: Micros
    spend_micros: Micros
    value_micros: Micros  # known so far
    clicks: int
    conversions: float
    roi: float | None  # so far; none before anything was spent
    held: dict[str, str]  # by campaign, why
    ended: str = ""
    launched_at: datetime | None = None


def pilot_now(settings: Settings, run_id: str) -> PilotNow | None:
    """Where the pilot of a run is; None before it begins to spend."""
    folder = RunFolder(settings.home, RunId(run_id)).phase(Phase.PILOT)
    path, place = folder.path / PLAN_FILE, book_place(settings)
    if not path.exists() or not has_store(place, STORE):
        return None
    try:
        plan = PlannedPilot.model_validate_json(path.read_bytes()).plan
    except (OSError, ValidationError) as problem:
        raise GaelpError(
            f"{path} is not the plan of a pilot ({type(problem).__name__}): restore it from a backup"
        ) from problem
    return money_now(place, plan)


def money_now(place: Place, plan: PilotPlan) -> PilotNow | None:
    """The same of any plan that a loop carries out; None before it begins."""
    with closing(DecisionBook(place, plan.name)) as book:
        events, money, last = book.events(), book.money(), book.last_interval()
        if not events:
            return None
        ended = [event.what for event in events if event.kind in ("stop", "end")]
        spend, value = (0, 0) if money is None else (money.spend_micros, money.value_micros)
        return PilotNow(
            hours_decided=0 if last is None else last + 1,
            hours=_DAY_HOURS * plan.days,
            currency=plan.currency,
            budget_micros=plan.budget_micros,
            loss_cap_micros=plan.loss_cap_micros,
            spend_micros=spend,
            value_micros=value,
            clicks=0 if money is None else money.clicks,
            conversions=0.0 if money is None else money.conversions,
            roi=value / spend - 1 if spend else None,
            held=book.held(),
            ended=ended[-1] if ended else "",
            launched_at=events[0].at,
        )


def describe_pilot(now: PilotNow, name: str = "pilot") -> list[str]:
    """The same in words, one line each."""
    spent = Money(now.spend_micros // _CENT_MICROS * _CENT_MICROS, now.currency)
    text = (
        f"{name}: {now.hours_decided} of {now.hours} hours, {spent} of {Money(now.budget_micros, now.currency)} spent"
    )
    if now.roi is not None:
        known = Money(now.value_micros // _CENT_MICROS * _CENT_MICROS, now.currency)
        text += f", {known} of value known so far ({now.roi:+.0%}; late conversions and refunds still change it)"
    lines = [text]
    lines += [f"held: {name}: {why} (`gaelp pilot release {name}`)" for name, why in sorted(now.held.items())]
    return lines + ([f"the {name} has ended: {now.ended}"] if now.ended else [])
