"""Where a run's release is: exposure, lift with its bounds and money, for people who look while it runs."""

from contextlib import closing

from pydantic import ValidationError

from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.database import has_store
from gaelp.errors import GaelpError
from gaelp.phases.pilot_standing import PilotNow, describe_pilot, money_now
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.scale_planning import RELEASE_PLAN_FILE
from gaelp.pilot.book_schema import STORE
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.release.release_plan import ReleasePlan
from gaelp.release.release_record import agents_campaigns, day_events, exposure_text, restored_event
from gaelp.types import Phase, RunId

__all__ = ["ReleaseNow", "describe_release", "release_now"]


class ReleaseNow(Frozen):
    """What was decided at the newest check, and what is known of the improvement; none: nothing limits it."""

    money: PilotNow
    day: int  # 1 is the first
    days: int
    percent: float
    outcome: str
    campaigns: int
    agents_campaigns: int
    lift: float | None = None
    lift_lower_95: float | None = None
    lift_upper_95: float | None = None
    pairs: int = 0
    text: str  # exposure and lift in words
    decision: str
    restored: str = ""


def release_now(settings: Settings, run_id: str) -> ReleaseNow | None:
    """Where the release of a run is; None before its first day."""
    folder = RunFolder(settings.home, RunId(run_id)).phase(Phase.SCALE)
    path, place = folder.path / RELEASE_PLAN_FILE, book_place(settings)
    if not path.exists() or not has_store(place, STORE):
        return None
    try:
        plan = ReleasePlan.model_validate_json(path.read_bytes()).campaigns
    except (OSError, ValidationError) as problem:
        raise GaelpError(
            f"{path} is not the plan of a release ({type(problem).__name__}): restore it from a backup"
        ) from problem
    money = money_now(place, plan)
    with closing(DecisionBook(place, plan.name)) as book:
        events = book.events()
    decided, restored = day_events(events), restored_event(events)
    if money is None or not decided:
        return None
    newest = decided[-1]
    compared = next((event for event in reversed(decided) if event.figures.get("lift") is not None), newest)
    lift = {name: compared.figures.get(name) for name in ("lift", "lift_lower_95", "lift_upper_95")}
    return ReleaseNow(
        money=money,
        day=newest.figures["day"] + 1,
        days=plan.days,
        percent=newest.figures["percent"],
        outcome=newest.figures["outcome"],
        campaigns=len(plan.campaigns),
        agents_campaigns=agents_campaigns(events, plan),
        **lift,
        pairs=compared.figures.get("pairs", 0),
        text=exposure_text(newest),
        decision=newest.what,
        restored="" if restored is None else restored.what,
    )


def describe_release(now: ReleaseNow) -> list[str]:
    """The same in words, one line each."""
    split = f"{now.agents_campaigns} of {now.campaigns} campaigns are the agent's, the others the control's"
    lines = [
        *describe_pilot(now.money, "release"),
        f"day {now.day} of at most {now.days}: {now.text}, {now.pairs} pairs; {split}",
        f"last decision: {now.decision}",
    ]
    return [*lines, f"after the rollback: {now.restored}"] if now.restored else lines
