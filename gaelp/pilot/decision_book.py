"""The record of a pilot: each hour decided once, what was sent, what happened, and the state to resume from.

A decision belongs to (pilot, campaign, interval). All decisions of an interval and the controller's state after them
are stored in one transaction, before anything is sent: whoever resumes finds both or neither.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, text

from gaelp.config.settings import Settings
from gaelp.database import Database, Place, open_database, place_of
from gaelp.errors import Refused
from gaelp.market.policy_conformance import state_from_bytes, state_to_bytes
from gaelp.money import Micros
from gaelp.pilot.book_schema import STORE, OrderWord
from gaelp.types import PolicyState

__all__ = [
    "DENSITY_NOTE",
    "CampaignDecision",
    "DecisionBook",
    "EventKind",
    "IntervalRow",
    "MoneySoFar",
    "OrderNote",
    "PilotEvent",
    "SavedController",
    "book_place",
    "pilots_of",
]

DENSITY_NOTE = "the policy is deterministic: a given state leads to one bid, so there is no density"

EventKind = Literal["launched", "hold", "release", "missed", "stop", "end", "note"]

_INTERVAL = text("SELECT begins, state FROM pilot_interval WHERE pilot = :pilot AND slot = :slot")
_LAST = text("SELECT MAX(slot) FROM pilot_interval WHERE pilot = :pilot")
_INTERVALS = text("SELECT slot, begins, state FROM pilot_interval WHERE pilot = :pilot ORDER BY slot")
_ADD_INTERVAL = text("INSERT INTO pilot_interval (pilot, slot, begins, state) VALUES (:pilot, :slot, :begins, :state)")
_ADD_DECISION = text(
    "INSERT INTO pilot_decision (pilot, campaign, slot, body) VALUES (:pilot, :campaign, :slot, :body)"
)
_DECISIONS = text(
    "SELECT campaign, slot, body FROM pilot_decision WHERE pilot = :pilot AND slot >= :first AND slot < :last"
    " ORDER BY slot, campaign"
)
_ADD_ORDER = text(
    "INSERT INTO pilot_order (pilot, campaign, slot, word, body) VALUES (:pilot, :campaign, :slot, :word, :body)"
    " ON CONFLICT (pilot, campaign, slot) DO NOTHING"
)
_ORDERS = text(
    "SELECT campaign, slot, word, body FROM pilot_order WHERE pilot = :pilot AND slot >= :first ORDER BY slot, campaign"
)
_ADD_EVENT = text(
    "INSERT INTO pilot_event (pilot, number, at, kind, campaign, body) VALUES (:pilot,"
    " (SELECT COALESCE(MAX(number), 0) + 1 FROM pilot_event WHERE pilot = :pilot), :at, :kind, :campaign, :body)"
)
_EVENTS = text("SELECT number, at, kind, campaign, body FROM pilot_event WHERE pilot = :pilot ORDER BY number")
_SAVE = text(
    "INSERT INTO pilot_state (pilot, slot, body) VALUES (:pilot, :slot, :body)"
    " ON CONFLICT (pilot) DO UPDATE SET slot = excluded.slot, body = excluded.body"
)
_SAVE_MONEY = text(
    "INSERT INTO pilot_money (pilot, slot, body) VALUES (:pilot, :slot, :body)"
    " ON CONFLICT (pilot) DO UPDATE SET slot = excluded.slot, body = excluded.body"
)
_CAMPAIGNS = text(
    "SELECT pilot, campaign FROM pilot_decision UNION SELECT pilot, campaign FROM pilot_event ORDER BY pilot, campaign"
)
_MONEY = text("SELECT slot, body FROM pilot_money WHERE pilot = :pilot")
_SAVED = text("SELECT slot, body FROM pilot_state WHERE pilot = :pilot")


@dataclass(frozen=True, slots=True)
class CampaignDecision:
    """What was decided for one campaign in one interval; `log_factor` is the action: log of bid over reference bid."""

    campaign: str
    interval: int
    bids_micros: tuple[Micros, ...]  # by target, in the plan's order
    log_factor: tuple[float, ...]
    clipped: tuple[bool, ...]
    order: tuple[Micros, ...] = ()  # the bids to order: a step towards the wanted ones; none: nothing is sent
    why_not: str = ""  # why nothing is sent: same, small, quota or held
    density: float | None = None
    density_note: str = DENSITY_NOTE
    daily_micros: Micros = 0  # the budget for the day; 0: that of the plan


@dataclass(frozen=True, slots=True)
class OrderNote:
    """What became of a campaign's decision: sent, or why it was not."""

    campaign: str
    interval: int
    word: OrderWord
    key: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """An interval that has begun."""

    interval: int
    begins: datetime
    state: Literal["decided", "missed"]


@dataclass(frozen=True, slots=True)
class PilotEvent:
    """Something that people want to know; without a campaign, about the whole pilot."""

    number: int
    at: datetime
    kind: EventKind
    campaign: str
    what: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SavedController:
    """What the controller remembered after deciding an interval."""

    interval: int
    state: PolicyState


@dataclass(frozen=True, slots=True)
class MoneySoFar:
    """What the reports said at an hour of the pilot; value and conversions are those known by then."""

    hour: int
    spend_micros: Micros
    value_micros: Micros
    clicks: int
    conversions: float


def book_place(settings: Settings) -> Place:
    """Where these settings keep the record."""
    return place_of(settings, STORE.file_name)


def pilots_of(place: Place) -> dict[str, tuple[str, ...]]:
    """The pilots of a record with the campaigns that they decided for."""
    campaigns: dict[str, list[str]] = {}
    with closing(open_database(place, STORE, create=False)) as database, database.reading() as connection:
        for row in connection.execute(_CAMPAIGNS):
            campaigns.setdefault(row.pilot, []).append(row.campaign)
    return {pilot: tuple(name for name in names if name) for pilot, names in campaigns.items()}


class DecisionBook:
    """The record of one pilot; close it after use."""

    def __init__(self, place: Place, pilot: str) -> None:
        self._database: Database = open_database(place, STORE)
        self.pilot = pilot

    def close(self) -> None:
        """Give back the connections."""
        self._database.close()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction of this database, for what belongs together with it, such as the lease."""
        with self._database.writing() as connection:
            yield connection

    # Decisions

    def last_interval(self) -> int | None:
        """The newest interval that was decided or missed."""
        with self._database.reading() as connection:
            last: int | None = connection.execute(_LAST, {"pilot": self.pilot}).scalar_one()
        return last

    def interval(self, interval: int) -> IntervalRow | None:
        """One interval; None if it has neither been decided nor missed."""
        with self._database.reading() as connection:
            row = connection.execute(_INTERVAL, {"pilot": self.pilot, "slot": interval}).one_or_none()
        return None if row is None else IntervalRow(interval, datetime.fromisoformat(row.begins), row.state)

    def intervals(self) -> list[IntervalRow]:
        """All of them, in order."""
        with self._database.reading() as connection:
            rows = connection.execute(_INTERVALS, {"pilot": self.pilot}).all()
        return [IntervalRow(row.slot, datetime.fromisoformat(row.begins), row.state) for row in rows]

    def store(
        self,
        interval: int,
        begins: datetime,
        decisions: Sequence[CampaignDecision],
        state: PolicyState,
        *,
        money: MoneySoFar | None = None,
    ) -> None:
        """Store an interval's decisions and the state after them, once; Refused if it was stored before."""
        body = zlib.compress(state_to_bytes(state), 1)
        key = {"pilot": self.pilot, "slot": interval}
        with self._database.writing() as connection:
            if connection.execute(_INTERVAL, key).one_or_none() is not None:
                raise Refused(
                    f"interval {interval} of pilot {self.pilot} was decided before: it is never decided twice"
                )
            connection.execute(_ADD_INTERVAL, {**key, "begins": begins.isoformat(), "state": "decided"})
            for decision in decisions:
                connection.execute(_ADD_DECISION, {**key, "campaign": decision.campaign, "body": _body(decision)})
            connection.execute(_SAVE, {**key, "body": body})
            if money is not None:
                connection.execute(_SAVE_MONEY, _money_row(self.pilot, money))

    def miss(self, rows: Iterable[tuple[int, datetime]]) -> None:
        """Note intervals in which nobody decided; they are never made up for."""
        with self._database.writing() as connection:
            for interval, begins in rows:
                key = {"pilot": self.pilot, "slot": interval}
                if connection.execute(_INTERVAL, key).one_or_none() is None:
                    connection.execute(_ADD_INTERVAL, {**key, "begins": begins.isoformat(), "state": "missed"})

    def decisions(self, first: int = 0, last: int | None = None) -> list[CampaignDecision]:
        """Decisions of the intervals from first to before last."""
        span = {"pilot": self.pilot, "first": first, "last": 2**53 if last is None else last}
        with self._database.reading() as connection:
            rows = connection.execute(_DECISIONS, span).all()
        return [_decision(row.campaign, row.slot, json.loads(row.body)) for row in rows]

    def saved(self) -> SavedController | None:
        """The newest state; None before the first decision."""
        with self._database.reading() as connection:
            row = connection.execute(_SAVED, {"pilot": self.pilot}).one_or_none()
        return None if row is None else SavedController(row.slot, state_from_bytes(zlib.decompress(row.body)))

    # Money, for people who look while the loop runs

    def note_money(self, money: MoneySoFar) -> None:
        """Store what is known now, in place of what was known before."""
        with self._database.writing() as connection:
            connection.execute(_SAVE_MONEY, _money_row(self.pilot, money))

    def money(self) -> MoneySoFar | None:
        """The newest figures; None before the first decision."""
        with self._database.reading() as connection:
            row = connection.execute(_MONEY, {"pilot": self.pilot}).one_or_none()
        return None if row is None else MoneySoFar(hour=row.slot, **json.loads(row.body))

    # What became of them

    def note_orders(self, notes: Sequence[OrderNote]) -> None:
        """Store what was sent, and why the rest was not; an interval's first note of a campaign counts."""
        with self._database.writing() as connection:
            for note in notes:
                body = json.dumps({"key": note.key, "detail": note.detail[:500]})
                values = {"campaign": note.campaign, "slot": note.interval, "word": note.word, "body": body}
                connection.execute(_ADD_ORDER, {"pilot": self.pilot, **values})

    def orders(self, first: int = 0) -> list[OrderNote]:
        """What became of the decisions from an interval on."""
        with self._database.reading() as connection:
            rows = connection.execute(_ORDERS, {"pilot": self.pilot, "first": first}).all()
        return [OrderNote(row.campaign, row.slot, row.word, **json.loads(row.body)) for row in rows]

    # Events

    def add_event(
        self, kind: EventKind, what: str, at: datetime, *, campaign: str = "", figures: Mapping[str, Any] | None = None
    ) -> None:
        """Store an event."""
        body = json.dumps({"what": what[:4000], "figures": dict(figures or {})})
        values = {"pilot": self.pilot, "at": at.isoformat(), "kind": kind, "campaign": campaign, "body": body}
        with self._database.writing() as connection:
            connection.execute(_ADD_EVENT, values)

    def events(self) -> list[PilotEvent]:
        """All events, in order."""
        with self._database.reading() as connection:
            rows = connection.execute(_EVENTS, {"pilot": self.pilot}).all()
        return [
            PilotEvent(row.number, datetime.fromisoformat(row.at), row.kind, row.campaign, **json.loads(row.body))
            for row in rows
        ]

    def held(self) -> dict[str, str]:
        """Campaigns that wait for a person, and why."""
        waiting: dict[str, str] = {}
        for event in self.events():
            if event.kind == "hold":
                waiting.setdefault(event.campaign, event.what)
            elif event.kind == "release":
                waiting.pop(event.campaign, None)
        return waiting

    def release(self, campaign: str, by: str, reason: str, at: datetime) -> None:
        """A person lets a held campaign run again; the loop enables it in its next interval."""
        if campaign not in self.held():
            raise Refused(f"{campaign} is not held in pilot {self.pilot}: held are {', '.join(self.held()) or 'none'}")
        if not reason.strip():
            raise Refused(f"{campaign} is released without a reason: say why it may run again")
        self.add_event("release", reason, at, campaign=campaign, figures={"by": by})

    @property
    def stop_event(self) -> PilotEvent | None:
        """Why and when the pilot stopped by itself; None while it has not."""
        return next((event for event in self.events() if event.kind == "stop"), None)


def _money_row(pilot: str, money: MoneySoFar) -> dict[str, Any]:
    body = {name: getattr(money, name) for name in ("spend_micros", "value_micros", "clicks", "conversions")}
    return {"pilot": pilot, "slot": money.hour, "body": json.dumps(body)}


def _body(decision: CampaignDecision) -> str:
    return json.dumps(
        {
            "bids_micros": decision.bids_micros,
            "log_factor": decision.log_factor,
            "clipped": decision.clipped,
            "order": decision.order,
            "why_not": decision.why_not,
            "density": decision.density,
            "density_note": decision.density_note,
            "daily_micros": decision.daily_micros,
        }
    )


def _decision(campaign: str, interval: int, body: dict[str, Any]) -> CampaignDecision:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in body.items()}
    return CampaignDecision(campaign, interval, **values)
