"""Look at a pilot's account: campaigns, hours and edits by others; who must wait for a person."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gaelp.observability import get_logger
from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.report_arrays import PilotPlaces, hour_figures
from gaelp.pilot.seen_hours import SeenHours
from gaelp.platforms import Guard
from gaelp.platforms.findings import ReconcileFinding, pause_and_alert
from gaelp.platforms.hour_keeping import with_retries
from gaelp.platforms.order_book import orders_of_campaign
from gaelp.platforms.platform import CampaignState, ForeignEdit, HourReport
from gaelp.platforms.remembered_reads import RememberedReads

__all__ = ["Look", "Looker"]

_log = get_logger(__name__)
_DAY_HOURS = 24
_EDITS_OF = timedelta(hours=3)  # read again, because a change may be listed late


@dataclass(frozen=True, slots=True)
class Look:
    """What is known at one instant."""

    at: datetime
    states: tuple[CampaignState, ...]
    figures: HourFigures
    reported_until: datetime
    held: dict[str, str]

    def state_of(self, campaign: str) -> CampaignState | None:
        """A campaign as the platform has it."""
        return next((state for state in self.states if state.campaign == campaign), None)


class Looker:
    """Reads one account for one pilot."""

    def __init__(
        self, plan: PilotPlan, places: PilotPlaces, guard: Guard, book: DecisionBook, *, reads_all: bool = True
    ) -> None:
        """Without `reads_all`, the guard's platform reads hours before yesterday once a day."""
        self._plan, self._places, self._guard, self._book = plan, places, guard, book
        self._reads_all = reads_all
        self._names = {campaign.name for campaign in plan.campaigns}
        self.seen = SeenHours(places.shape)

    def forget(self) -> None:
        """Time has passed: read everything again."""
        if isinstance(self._guard.platform, RememberedReads):
            self._guard.platform.forget()

    forget_campaigns = forget

    def forget_hours(self) -> None:
        """Read all hours that are open to revision again, however recently they were read."""
        if isinstance(self._guard.platform, RememberedReads):
            self._guard.platform.forget_hours()

    def known_at(self, end: datetime) -> datetime:
        """When the hours that ended at an instant were last read."""
        platform = self._guard.platform
        read_at = platform.known_at(end) if isinstance(platform, RememberedReads) else None
        return read_at or self._guard.ledger.clock.now()

    def look(self, hour: int, *, hold: bool = True) -> Look:
        """Read the account at the start of an hour; campaigns that somebody else changed are held first."""
        at = self._guard.ledger.clock.now()
        first = self._first_hour(hour)
        report = self._read(first)
        figures = hour_figures(report, self._places, first)
        self.seen.take_in(figures)
        if hold:
            self._hold_edited(at)
        states = self.states()
        if hold:
            self._hold_paused(states)
        held = self._book.held()
        return Look(at, states, self._began(figures, hour), report.as_of, held)

    def read_hours(self, hour: int) -> None:
        """Read the hours of all days that are open to revision: whoever asks for fewer then gets them from there."""
        self._read(min(self._first_hour(hour), max(hour - hour % _DAY_HOURS - self._revised_hours, 0)))

    def _read(self, first: int) -> HourReport:
        return with_retries(lambda: self._guard.platform.read_hours(self._places.start(first)))

    def _first_hour(self, hour: int) -> int:
        """All hours once, afterwards those of the days that are open to revision.

        Where those before yesterday are read once a day, they are new in the first hour of a day only.
        """
        if self.seen.until == 0:
            return 0
        today = hour - hour % _DAY_HOURS
        back = self._revised_hours if self._reads_all or hour == today else _DAY_HOURS
        return max(min(today - back, self.seen.until), 0)

    @property
    def _revised_hours(self) -> int:
        return _DAY_HOURS * self._guard.terms.revised_days

    def _began(self, figures: HourFigures, hour: int) -> HourFigures:
        """Without hours that have not begun by the loop's count."""
        return figures if figures.until <= hour else figures.until_hour(hour)

    def states(self) -> tuple[CampaignState, ...]:
        """The pilot's campaigns as the platform has them now."""
        states = with_retries(self._guard.platform.read_campaigns)
        return tuple(state for state in states if state.campaign in self._names)

    # Holding

    def _hold_edited(self, at: datetime) -> None:
        """A change by somebody else holds its campaign, until a person decides."""
        edits = with_retries(lambda: self._guard.platform.read_edits(at - _EDITS_OF))
        for edit in edits:
            if edit.campaign in self._names and self._is_new(edit):
                self._hold(edit.campaign, f"{edit.who} made an {edit.what} at {edit.at.isoformat()}")

    def _is_new(self, edit: ForeignEdit) -> bool:
        """Whether no event has recorded it yet."""
        text = edit.at.isoformat()
        return not any(event.campaign == edit.campaign and text in event.what for event in self._book.events())

    def _hold_paused(self, states: tuple[CampaignState, ...]) -> None:
        """A campaign that was enabled and is paused now was paused by rules, reconciliation or a person."""
        held = self._book.held()
        for state in states:
            if state.status == "paused" and state.campaign not in held and self._was_running(state.campaign):
                self._hold(state.campaign, "it was running and is paused now: by the money rules, or by a person")

    def _was_running(self, campaign: str) -> bool:
        """Whether it was enabled more often than a person has released it: each release allows one more time."""
        rows = orders_of_campaign(self._guard.ledger, self._guard.account.id, campaign)
        enabled = [row for row in rows if row.kind == "enable" and row.outcome == "done"]
        mine = sum(row.key.startswith(f"{self._plan.name}/") for row in enabled)
        released = [event for event in self._book.events() if (event.kind, event.campaign) == ("release", campaign)]
        return mine > len(released)

    def _hold(self, campaign: str, why: str) -> None:
        finding = ReconcileFinding(campaign, "held-for-a-person", f"{campaign}: {why}", violation=None)
        what = pause_and_alert(self._guard, finding)
        self.forget()
        self._book.add_event("hold", f"{why}. {what}", self._guard.wall_now(), campaign=campaign)
        _log.warning("held", campaign=campaign, why=why)
