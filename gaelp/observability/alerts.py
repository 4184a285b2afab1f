"""Alert people: each alert once, not too many, and a critical one again until somebody answers.

A dispatcher sends an alert to its channels. A repetition is counted and not sent; beyond a rate, alerts that are not
critical are summed up in a single one; a critical alert that nobody acknowledges goes to the second channels. A channel
that fails does not stop the others: they report it, and it receives what it missed when it works again. `tick` sends
what is due later; the safety watch calls it. Sent alerts are recorded in a memory that other processes may share.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol

from pydantic import Field

from gaelp.clock import Clock
from gaelp.config.alert_settings import AlertPolicy
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.observability.alert import Alert, PendingAlert, Severity
from gaelp.observability.alert_memory import AlertMemory, AlertState, OwnMemory, SentAlert
from gaelp.observability.redact import mask_text

__all__ = ["Alert", "Channel", "Delivery", "Dispatcher", "PendingAlert", "Severity"]

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "critical": 2}
_SHOWN_CHARACTERS = 4000
_TITLES_MAX = 100  # of what was held back
_SENT_MAX = 10_000
_MISSED_MAX = 20  # by one channel
_OWN_SOURCE = "alerts"
_FIRST_WAIT_MINUTES = 10.0  # as often as the safety watch looks


class Channel(Protocol):
    """A way to reach somebody; raises whatever it likes if it could not.

    One that has `is_record` and it is true keeps alerts for whoever looks, as the log does, and reaches nobody itself.
    """

    @property
    def name(self) -> str:
        """What reports call this channel; unique in a dispatcher."""
        ...

    def send(self, alert: Alert) -> None:
        """Deliver, or raise; returns within a bounded time."""
        ...


class Delivery(Frozen):
    """What became of one alert; `failed` names channels and what they raised."""

    outcome: Literal["sent", "duplicate", "rate_limited", "failed"]
    reached: tuple[str, ...] = ()
    failed: dict[str, str] = Field(default_factory=dict)


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
        memory: AlertMemory | None = None,
    ) -> None:
        names = [channel.name for channel in (*channels, *second)]
        if not channels or len(names) != len(set(names)):
            raise BadInput(f"channels are {names}: give at least one, and each its own name")
        self._channels, self._second, self._clock = tuple(channels), tuple(second), clock
        self._policy = policy or AlertPolicy()
        self._memory = memory or OwnMemory()
        if waiting := {unanswered.alert.name: unanswered for unanswered in pending}:
            with self._memory.held() as state:
                state.pending |= waiting

    @property
    def pending(self) -> tuple[PendingAlert, ...]:
        """Critical alerts without an answer; raises if the memory cannot be read."""
        return tuple(self._memory.look().pending.values())

    def send(self, alert: Alert, *, once: bool = False, lasting: bool = False) -> Delivery:
        """Send to every channel, unless it was sent already or the rate is exceeded.

        `once`: not even after the time to repeat. `lasting`: for a trouble that is seen again and again until somebody
        fixes it; it is repeated after 10 minutes, then 20, 40 and so on, up to the time to repeat, with the number of
        times it was seen in between.
        """
        with self._memory.held() as state:
            now = self._clock.now()
            held = self._held(state, alert, now, lasting=lasting)
            if held is not None:
                return held
            if alert.severity == "critical":
                state.pending[alert.name] = _waiting(state.pending.get(alert.name), alert, now)
                self._memory.keep(state)  # now: who is killed while it goes out leaves it to whoever ticks next
            return self._send(state, alert, now, self._channels, once=once, lasting=lasting)

    def acknowledge(self, source: str, key: str) -> Alert:
        """Somebody has answered: a critical alert is not escalated any more; if it comes again, that is news.

        Returns the alert.
        """
        name = source, key
        with self._memory.held(strict=True) as state:
            if name not in state.pending:
                waiting = ", ".join(map("/".join, state.pending)) or "none"
                raise BadInput(f"no alert {source}/{key} waits for an answer; waiting: {waiting}")
            if name in state.sent and not state.sent[name].once:
                del state.sent[name]
            return state.pending.pop(name).alert

    def tick(self) -> tuple[Delivery, ...]:
        """Escalate what waited too long, sum up what was held back, deliver what was missed; returns what was sent."""
        with self._memory.held() as state:
            now = self._clock.now()
            return (*self._escalated(state, now), *self._summed_up(state, now), *self._caught_up(state, now))

    def try_out(self, alert: Alert) -> Delivery:
        """Send through every channel, the second ones too, whatever was sent before: a test of the channels."""
        reached, failed = _attempt(alert, (*self._channels, *self._second))
        return Delivery(outcome="failed" if failed else "sent", reached=tuple(reached), failed=failed)

    def _held(self, state: AlertState, alert: Alert, now: datetime, *, lasting: bool = False) -> Delivery | None:
        sent = state.sent.get(alert.name)
        if sent and lasting and not _within(now, sent.at, sent.wait_minutes):
            sent = None
        if sent and self._still_counts(sent, now) and _RANK[alert.severity] <= _RANK[sent.severity]:
            state.sent[alert.name] = sent.model_copy(update={"repeats": sent.repeats + 1})
            if alert.name in state.pending:
                state.pending[alert.name] = state.pending[alert.name].seen_again()
            return Delivery(outcome="duplicate")
        if self._over_rate(state, now) and alert.severity != "critical":
            state.held_back += 1
            if alert.title not in state.held_back_titles:
                state.held_back_titles = [*state.held_back_titles, alert.title][:_TITLES_MAX]
            return Delivery(outcome="rate_limited")
        return None

    def _still_counts(self, sent: SentAlert, now: datetime) -> bool:
        return sent.once or _within(now, sent.at, self._policy.repeat_after_minutes)

    def _send(
        self,
        state: AlertState,
        alert: Alert,
        now: datetime,
        channels: Sequence[Channel],
        *,
        once: bool = False,
        lasting: bool = False,
    ) -> Delivery:
        """Deliver, and remember it once somebody was reached: what reached nobody is no repetition the next time."""
        before = state.sent.get(alert.name)
        if before is not None and before.repeats:
            alert = alert.model_copy(update={"context": {**alert.context, "repeats_not_sent": before.repeats}})
        delivery = self._deliver(state, alert, channels)
        state.sent_at.append(now)
        _note_missed(state, alert, delivery, channels)
        if delivery.outcome == "sent":
            self._forget(state, now)
            wait = self._next_wait_minutes(before) if lasting else 0
            state.sent[alert.name] = SentAlert(severity=alert.severity, at=now, once=once, wait_minutes=wait)
        return delivery

    def _next_wait_minutes(self, before: SentAlert | None) -> float:
        """How long a lasting trouble waits until it is sent again: twice as long each time."""
        doubled = 2 * before.wait_minutes if before is not None and before.wait_minutes else _FIRST_WAIT_MINUTES
        return min(doubled, self._policy.repeat_after_minutes)

    def _forget(self, state: AlertState, now: datetime) -> None:
        """Drop what is too old to hold anything back, and the oldest of too many, so that memory stays bounded."""
        counting = sorted(
            ((name, sent) for name, sent in state.sent.items() if self._still_counts(sent, now)),
            key=lambda item: item[1].at,
        )
        state.sent = dict(counting[-_SENT_MAX:])

    def _over_rate(self, state: AlertState, now: datetime) -> bool:
        state.sent_at = [at for at in state.sent_at if _within(now, at, self._policy.rate_window_minutes)]
        return len(state.sent_at) >= self._policy.rate_limit

    def _deliver(self, state: AlertState, alert: Alert, channels: Sequence[Channel]) -> Delivery:
        reached, failed = _attempt(alert, channels)
        heard = _heard(reached, channels)
        if alert.severity == "critical" and not heard and channels is self._channels:
            # Nobody heard of it: the second channels do not wait for an answer that cannot come.
            more, more_failed = _attempt(alert, self._second)
            heard = _heard(more, self._second)
            reached, failed = reached + more, failed | more_failed
            if heard:
                state.pending[alert.name] = state.pending[alert.name].model_copy(update={"escalated": True})
        if failed and alert.source != _OWN_SOURCE:
            self._report(state, failed)
        return Delivery(outcome="sent" if heard else "failed", reached=tuple(reached), failed=failed)

    def _report(self, state: AlertState, failed: dict[str, str]) -> None:
        """Report to every other channel which ones do not work."""
        working = [channel for channel in (*self._channels, *self._second) if channel.name not in failed]
        for name, problem in failed.items():
            now = self._clock.now()
            alert = Alert(
                severity="warning",
                source=_OWN_SOURCE,
                key=f"channel-{name}",
                title=f"The alert channel {name} does not deliver",
                body=f"{problem}. Alerts do not arrive there until it is fixed.",
                at=now,
            )
            if self._held(state, alert, now) is None:
                self._send(state, alert, now, working)

    def _escalated(self, state: AlertState, now: datetime) -> list[Delivery]:
        deliveries = []
        for name, waiting in list(state.pending.items()):
            if waiting.escalated or _within(now, waiting.since, self._policy.escalate_after_minutes):
                continue
            minutes = (now - waiting.since).total_seconds() / 60
            louder = waiting.alert.model_copy(
                update={"title": f"Unanswered for {minutes:.0f} minutes: {waiting.alert.title}"[:200]}
            )
            # Without second channels the first receive it again: silence is no answer.
            delivery = self._deliver(state, louder, self._second or self._channels)
            deliveries.append(delivery)
            if delivery.outcome == "sent":  # else the next tick tries again
                state.pending[name] = waiting.model_copy(update={"escalated": True})
        return deliveries

    def _summed_up(self, state: AlertState, now: datetime) -> list[Delivery]:
        if not state.held_back or self._over_rate(state, now):
            return []
        shown = "\n".join(state.held_back_titles)[:_SHOWN_CHARACTERS]
        alert = Alert(
            severity="warning",
            source=_OWN_SOURCE,
            key="held-back",
            title=f"{state.held_back} alerts were held back",
            body=f"More than {self._policy.rate_limit} in {self._policy.rate_window_minutes:g} minutes:\n{shown}",
            at=now,
        )
        delivery = self._send(state, alert, now, self._channels)
        if delivery.outcome == "sent":  # else the next tick tries again
            state.held_back, state.held_back_titles = 0, []
        return [delivery]

    def _caught_up(self, state: AlertState, now: datetime) -> list[Delivery]:
        """Give each channel what it did not take, the oldest first, until it fails again."""
        deliveries = []
        for channel in (*self._channels, *self._second):
            waiting = state.missed.pop(channel.name, [])
            waiting = [alert for alert in waiting if _within(now, alert.at, self._policy.repeat_after_minutes)]
            while waiting and not _attempt(waiting[0], [channel])[1]:
                del waiting[0]
                deliveries.append(Delivery(outcome="sent", reached=(channel.name,)))
            if waiting:
                state.missed[channel.name] = waiting
        return deliveries


def _waiting(before: PendingAlert | None, alert: Alert, now: datetime) -> PendingAlert:
    """A critical alert as it waits; one that waits already has waited since then, and goes further again if it did."""
    if before is None:
        return PendingAlert(alert=alert, since=now)
    return PendingAlert(alert=alert, since=now if before.escalated else before.since, repeats=before.repeats + 1)


def _heard(reached: Sequence[str], channels: Sequence[Channel]) -> bool:
    """Whether somebody was reached: a record, such as the log, is nobody where there are channels to people."""
    people = [channel.name for channel in channels if not getattr(channel, "is_record", False)]
    return any(name in reached for name in people or [channel.name for channel in channels])


def _note_missed(state: AlertState, alert: Alert, delivery: Delivery, channels: Sequence[Channel]) -> None:
    """Remember for each channel what it did not take; the newest of one name is enough."""
    for channel in channels:
        others = [missed for missed in state.missed.pop(channel.name, []) if missed.name != alert.name]
        if channel.name in delivery.failed:
            others = [*others, alert][-_MISSED_MAX:]
        if others:
            state.missed[channel.name] = others


def _within(now: datetime, at: datetime, minutes: float) -> bool:
    """Whether an instant is as near as that; one that a clock set wrong put far ahead must not hold anything back."""
    return abs(now - at) < timedelta(minutes=minutes)


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
