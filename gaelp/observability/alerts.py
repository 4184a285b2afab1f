"""Tell people what they must know: each alert once, not too many, and a critical one again until somebody answers.

A dispatcher sends an alert to its channels. What was told already is counted and not repeated; beyond a rate, what is
not critical is summed up in one alert; a critical alert that nobody acknowledges goes to the second channels. A channel
that fails does not stop the others, and they are told of it. Call `tick` every minute: it escalates and sums up.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import RLock
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, AwareDatetime, Field, JsonValue, PositiveFloat, PositiveInt, field_validator

from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.observability.redact import mask, mask_text

__all__ = ["Alert", "AlertPolicy", "Channel", "Delivery", "Dispatcher", "PendingAlert", "Severity"]

Severity = Literal["info", "warning", "critical"]

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}
_SHOWN_CHARACTERS = 4000
_OWN_SOURCE = "alerts"


def _in_utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


class Alert(Frozen):
    """One thing somebody should know. Secrets are masked on the way in: no channel ever sees them."""

    severity: Severity
    source: Annotated[str, Field(min_length=1, max_length=100)]
    key: Annotated[str, Field(min_length=1, max_length=200, description="alerts of one source and key are the same")]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    body: Annotated[str, Field(max_length=8000)] = ""
    at: Annotated[AwareDatetime, AfterValidator(_in_utc)]
    context: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("title", "body", mode="after")
    @classmethod
    def _text_without_secrets(cls, text: str) -> str:
        return mask_text(text)

    @field_validator("title", mode="after")
    @classmethod
    def _one_line(cls, title: str) -> str:
        return " ".join(title.split())  # a title becomes a mail header: a line break in it would forge others

    @field_validator("context", mode="before")
    @classmethod
    def _context_without_secrets(cls, context: object) -> object:
        return mask(context)


class Channel(Protocol):
    """A way to reach somebody; raises whatever it likes if it could not."""

    @property
    def name(self) -> str:
        """What reports call this channel; unique in a dispatcher."""
        ...

    def send(self, alert: Alert) -> None:
        """Deliver, or raise; returns within a bounded time."""
        ...


class AlertPolicy(Frozen):
    """How often people are told."""

    repeat_after_minutes: PositiveFloat = Field(default=1440.0, description="the same alert is told again after this")
    rate_window_minutes: PositiveFloat = 10.0
    rate_limit: PositiveInt = Field(default=20, description="alerts per window; critical ones are never held back")
    escalate_after_minutes: PositiveFloat = Field(default=15.0, description="a critical alert may wait this long")


class PendingAlert(Frozen):
    """A critical alert that nobody has acknowledged."""

    alert: Alert
    since: AwareDatetime
    escalated: bool = False


class Delivery(Frozen):
    """What became of one alert; `failed` names channels and what they raised."""

    outcome: Literal["sent", "duplicate", "rate_limited", "failed"]
    reached: tuple[str, ...] = ()
    failed: dict[str, str] = Field(default_factory=dict)


@dataclass
class _Told:
    severity: Severity
    at: datetime
    repeats: int = 0


class Dispatcher:
    """Sends alerts to every channel, and critical ones on to the second channels."""

    def __init__(
        self,
        channels: Sequence[Channel],
        clock: Clock,
        *,
        second: Sequence[Channel] = (),
        policy: AlertPolicy | None = None,
        pending: Iterable[PendingAlert] = (),
    ) -> None:
        names = [channel.name for channel in (*channels, *second)]
        if not channels or len(names) != len(set(names)):
            raise BadInput(f"channels are {names}: give at least one, and each its own name")
        self._channels, self._second, self._clock = tuple(channels), tuple(second), clock
        self._policy = policy or AlertPolicy()
        self._lock = RLock()
        self._told: dict[tuple[str, str], _Told] = {}
        self._sent_at: deque[datetime] = deque()
        self._held_back: list[str] = []
        self._pending = {(waiting.alert.source, waiting.alert.key): waiting for waiting in pending}

    @property
    def pending(self) -> tuple[PendingAlert, ...]:
        """Critical alerts without an answer; store them, and give them to the next dispatcher after a restart."""
        with self._lock:
            return tuple(self._pending.values())

    def send(self, alert: Alert) -> Delivery:
        """Tell every channel, unless it was told already or too much was."""
        with self._lock:
            now = self._clock.now()
            held = self._held(alert, now)
            if held is not None:
                return held
            if alert.severity == "critical":
                self._pending[alert.source, alert.key] = PendingAlert(alert=alert, since=now)
            return self._deliver(self._with_repeats(alert, now), self._channels)

    def acknowledge(self, source: str, key: str) -> Alert:
        """Somebody has answered: a critical alert is not escalated any more. Returns the alert."""
        with self._lock:
            try:
                return self._pending.pop((source, key)).alert
            except KeyError:
                waiting = ", ".join("/".join(pair) for pair in self._pending) or "none"
                raise BadInput(f"no alert {source}/{key} waits for an answer; waiting: {waiting}") from None

    def tick(self) -> tuple[Delivery, ...]:
        """Escalate what waited too long, and sum up what the rate limit held back; returns what was sent."""
        with self._lock:
            now = self._clock.now()
            return (*self._escalated(now), *self._summed_up(now))

    def _held(self, alert: Alert, now: datetime) -> Delivery | None:
        told = self._told.get((alert.source, alert.key))
        repeat_after = timedelta(minutes=self._policy.repeat_after_minutes)
        if told and now - told.at < repeat_after and _RANK[alert.severity] <= _RANK[told.severity]:
            told.repeats += 1
            return Delivery(outcome="duplicate")
        if self._over_rate(now) and alert.severity != "critical":
            self._held_back.append(alert.title)
            return Delivery(outcome="rate_limited")
        return None

    def _with_repeats(self, alert: Alert, now: datetime) -> Alert:
        told = self._told.get((alert.source, alert.key))
        self._forget(now)
        self._told[alert.source, alert.key] = _Told(alert.severity, now)
        self._sent_at.append(now)
        if told is None or not told.repeats:
            return alert
        return alert.model_copy(update={"context": {**alert.context, "repeats_not_sent": told.repeats}})

    def _forget(self, now: datetime) -> None:
        """Drop what is too old to hold anything back, so that memory stays bounded."""
        oldest = now - timedelta(minutes=self._policy.repeat_after_minutes)
        self._told = {pair: told for pair, told in self._told.items() if told.at > oldest}

    def _over_rate(self, now: datetime) -> bool:
        window = timedelta(minutes=self._policy.rate_window_minutes)
        while self._sent_at and now - self._sent_at[0] >= window:
            self._sent_at.popleft()
        return len(self._sent_at) >= self._policy.rate_limit

    def _deliver(self, alert: Alert, channels: Sequence[Channel]) -> Delivery:
        reached, failed = _attempt(alert, channels)
        if alert.severity == "critical" and not reached and channels is self._channels:
            # Nobody heard of it: the second channels do not wait for an answer that cannot come.
            more, more_failed = _attempt(alert, self._second)
            reached, failed = more, failed | more_failed
            if more:
                pair = (alert.source, alert.key)
                self._pending[pair] = self._pending[pair].model_copy(update={"escalated": True})
        if failed and alert.source != _OWN_SOURCE:
            self._report(failed)
        if not reached:
            # Not told, so the next one is no repetition.
            self._told.pop((alert.source, alert.key), None)
        return Delivery(outcome="sent" if reached else "failed", reached=tuple(reached), failed=failed)

    def _report(self, failed: dict[str, str]) -> None:
        """Tell the other channels, all of them, which ones do not work."""
        working = [channel for channel in (*self._channels, *self._second) if channel.name not in failed]
        for name, problem in failed.items():
            now = self._clock.now()
            alert = Alert(
                severity="warning",
                source=_OWN_SOURCE,
                key=f"channel-{name}",
                title=f"The alert channel {name} does not deliver",
                body=f"{problem}. Alerts do not arrive there until it is mended.",
                at=now,
            )
            if self._held(alert, now) is None:
                self._deliver(self._with_repeats(alert, now), working)

    def _escalated(self, now: datetime) -> list[Delivery]:
        patience = timedelta(minutes=self._policy.escalate_after_minutes)
        deliveries = []
        for pair, waiting in list(self._pending.items()):
            if waiting.escalated or now - waiting.since < patience:
                continue
            minutes = (now - waiting.since).total_seconds() / 60
            louder = waiting.alert.model_copy(
                update={"title": f"Unanswered for {minutes:.0f} minutes: {waiting.alert.title}"[:200]}
            )
            # Without second channels the first are told again: silence is no answer.
            delivery = self._deliver(louder, self._second or self._channels)
            deliveries.append(delivery)
            if delivery.reached:  # else the next tick tries again
                self._pending[pair] = waiting.model_copy(update={"escalated": True})
        return deliveries

    def _summed_up(self, now: datetime) -> list[Delivery]:
        if not self._held_back or self._over_rate(now):
            return []
        titles, self._held_back = self._held_back, []
        shown = "\n".join(dict.fromkeys(titles))[:_SHOWN_CHARACTERS]
        alert = Alert(
            severity="warning",
            source=_OWN_SOURCE,
            key="held-back",
            title=f"{len(titles)} alerts were held back",
            body=f"More than {self._policy.rate_limit} in {self._policy.rate_window_minutes:g} minutes:\n{shown}",
            at=now,
        )
        return [self._deliver(self._with_repeats(alert, now), self._channels)]


def _attempt(alert: Alert, channels: Sequence[Channel]) -> tuple[list[str], dict[str, str]]:
    reached: list[str] = []
    failed: dict[str, str] = {}
    for channel in channels:
        try:
            channel.send(alert)
        except Exception as error:  # noqa: BLE001 - one channel's failure, of whatever kind, must not silence the others
            failed[channel.name] = mask_text(f"{type(error).__name__}: {error}")
        else:
            reached.append(channel.name)
    return reached, failed
