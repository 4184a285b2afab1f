"""The safety watch: one pass over all that must not be left alone; what it finds is told to people.

Gates and approvals that nobody answers, books and platform that drift apart, money that breaks its rules, alerts that
nobody acknowledges. Each is looked at even if another cannot be; what cannot be looked at is the worst of it, and told
as critical.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import get_args

from gaelp.approvals import (
    ApprovalPolicy,
    ApprovalRequest,
    ApprovalStore,
    SignedAction,
    Trust,
    action_hash,
    approvals_place,
    policy_for,
    trusted_approvers,
)
from gaelp.approvals.action import LiveOrSandbox
from gaelp.checks import CheckPass
from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.settings import Settings
from gaelp.gates.decisions import GateQuestion, question_status
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Alert, Channel, Delivery, Severity
from gaelp.phases.gate_approval import gate_approvals
from gaelp.platforms import Guard, MoneyRulesReport, Reconciliation, apply_money_rules, reconcile

__all__ = ["GuardOpener", "WatchReport", "left_alone", "watch"]

_SOURCE = "safety-watch"
_HASH_DIGITS = 12

GuardOpener = Callable[[], AbstractContextManager[Guard]]


class WatchReport(Frozen):
    """What one pass found; `failures` are the parts that could not be done and the channels that took no alert."""

    gates: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    reconciliation: Reconciliation | None = None  # none: no platform, or its part failed
    money_rules: MoneyRulesReport | None = None  # as above
    failures: tuple[str, ...] = ()


def watch(
    settings: Settings, *, clock: Clock, open_guard: GuardOpener, more_channels: Sequence[Channel] = ()
) -> WatchReport:
    """Look at everything once and tell people what they must know. The guard is opened only if there is a platform."""
    one = _Pass(settings, clock, more_channels)
    with one.part("gates"):
        one.look_at_gates()
    with one.part("approvals"):
        one.look_at_approvals()
    with one.part("reconciliation"):
        one.look_at_platform(open_guard)
    with one.part("escalation"):
        one.escalate()
    return WatchReport(
        gates=tuple(one.gates),
        approvals=tuple(one.approvals),
        reconciliation=one.reconciliation,
        money_rules=one.money_rules,
        failures=tuple(dict.fromkeys(one.failures)),
    )


class _Pass(CheckPass):
    """One pass over everything that is watched."""

    def __init__(self, settings: Settings, clock: Clock, more_channels: Sequence[Channel]) -> None:
        super().__init__(
            self._report, failure_text="the part {part!r} of the safety watch failed ({problem}): fix that"
        )
        self._settings, self._clock = settings, clock
        self._dispatcher = open_dispatcher(settings, clock, more=more_channels)
        self.gates: list[str] = []
        self.approvals: list[str] = []
        self.reconciliation: Reconciliation | None = None
        self.money_rules: MoneyRulesReport | None = None
        self._open_gates: set[str] | None = None

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Do one part of the pass and report at once what failed in it."""
        with super().part(name):
            yield
        self.report_all()

    def look_at_gates(self) -> None:
        """Tell of each gate that is overdue, and again of one that has expired."""
        now = self._clock.now()
        questions = gate_approvals(self._settings).decisions().open_questions()
        self._open_gates = {question.evidence_hash for question in questions}
        for text, question in left_alone(questions, now):
            self.gates.append(text)
            # A gate that is asked again is another one: the time it expires is in the key.
            until = f"{question.expires_at:%Y%m%dT%H%M%S}"
            self._tell(
                "warning",
                f"gate/{question.run_id}/{question.gate}/{question_status(question, now)}/{until}",
                f"Gate {question.gate} of run {question.run_id} is {question_status(question, now)}",
                text,
                once=True,
            )

    def look_at_approvals(self) -> None:
        """Tell of each request that waits too long, and of one that has expired."""
        place = approvals_place(self._settings)
        if isinstance(place, Path) and not place.exists():
            return  # nobody was asked for anything yet
        store, trust = ApprovalStore(place, self._clock), trusted_approvers(self._settings)
        policies = {world: policy_for(self._settings, world) for world in get_args(LiveOrSandbox)}
        for request in store.requests():
            if self._decided_at_gate(request.action) or store.is_used(request.action):
                continue
            policy = policies[request.action.world]
            match store.state(request.action, policy, trust):
                case "escalate":
                    self._tell_request("warning", request, _waits(request, policy, trust, self._clock.now()))
                case "expired":
                    self._tell_request("info", request, _ran_out(request, policy))

    def look_at_platform(self, open_guard: GuardOpener) -> None:
        """Bring books and platform together, then judge what is spent; what fails in either has been told already."""
        if self._settings.platform.name is None:
            return
        with open_guard() as guard:
            with self.part("reconciliation"):
                self.reconciliation = reconcile(guard)
                self.failures += self.reconciliation.failures
            with self.part("money rules"):
                self.money_rules = apply_money_rules(guard, self._settings.budget)
                self.failures += self.money_rules.failures

    def escalate(self) -> None:
        """Take critical alerts further that nobody has acknowledged."""
        for delivery in self._dispatcher.tick():
            self._note(delivery)

    def _decided_at_gate(self, action: SignedAction) -> bool:
        """Whether a gate that some have signed at was decided some other way, as far as that is known."""
        if action.kind != "gate" or self._open_gates is None:
            return False
        return action.evidence_hash not in self._open_gates

    def _tell_request(self, severity: Severity, request: ApprovalRequest, text: str) -> None:
        if severity == "warning":
            self.approvals.append(text)
        kind = "waits too long" if severity == "warning" else "has expired"
        key = f"approval/{action_hash(request.action)}/{severity}"
        self._tell(severity, key, f"A request for a {request.action.kind} {kind}", text, once=severity == "info")

    def _tell(self, severity: Severity, key: str, title: str, body: str, *, once: bool = False) -> None:
        alert = Alert(
            severity=severity, source=_SOURCE, key=key[:200], title=title[:200], body=body[:8000], at=self._clock.now()
        )
        self._note(self._dispatcher.send(alert, once=once))

    def _report(self, part: str, what: str) -> None:
        self._tell("critical", f"part/{part}", f"The safety watch could not look at: {part}", what)

    def _note(self, delivery: Delivery) -> None:
        self.failures += [f"the channel {name} took no alert: {problem}" for name, problem in delivery.failed.items()]


def left_alone(questions: list[GateQuestion], now: datetime) -> list[tuple[str, GateQuestion]]:
    """What to say of each question that is overdue or has expired."""
    told = []
    for question in questions:
        match question_status(question, now):
            case "overdue":
                told.append((_overdue(question, now), question))
            case "expired":
                told.append((_expired(question), question))
    return told


def _overdue(question: GateQuestion, now: datetime) -> str:
    hours = (now - question.opened_at).total_seconds() / 3600
    return (
        f"gate {question.gate} of run {question.run_id} has waited {hours:.1f} hours; it expires at"
        f" {question.expires_at:%Y-%m-%d %H:%M} UTC: `gaelp gate show {question.run_id}`"
    )


def _expired(question: GateQuestion) -> str:
    return (
        f"gate {question.gate} of run {question.run_id} expired at {question.expires_at:%Y-%m-%d %H:%M} UTC unanswered:"
        f" `gaelp resume {question.run_id}` asks again"
    )


def _waits(request: ApprovalRequest, policy: ApprovalPolicy, trust: Trust, now: datetime) -> str:
    hours = (now - request.requested_at).total_seconds() / 3600
    return (
        f"{_what(request.action)} has waited {hours:.1f} hours for {policy.quorum} to approve; it expires at"
        f" {request.expires_at(policy):%Y-%m-%d %H:%M} UTC. {_whom(policy, trust, now)}: {_command(request.action)}"
    )


def _ran_out(request: ApprovalRequest, policy: ApprovalPolicy) -> str:
    return (
        f"{_what(request.action)} expired at {request.expires_at(policy):%Y-%m-%d %H:%M} UTC without enough approvals:"
        " it has to be asked for anew"
    )


def _what(action: SignedAction) -> str:
    about = action.subject or f"gate {action.gate}"
    return f"the {action.kind} {about!r} of run {action.run_id} (action {action_hash(action)[:_HASH_DIGITS]})"


def _whom(policy: ApprovalPolicy, trust: Trust, now: datetime) -> str:
    """Who is to be told by the policy: its roles, and who has them."""
    if not policy.escalate_to:
        return "The policy names nobody to be told"
    wanted = set(policy.escalate_to)
    names = sorted({one.name for one in trust.approvers if one.trusted_at(now) and wanted & set(one.roles)})
    roles = " or ".join(policy.escalate_to)
    return f"To be told: {roles} ({', '.join(names) or 'nobody who is trusted has this role'})"


def _command(action: SignedAction) -> str:
    """What whoever decides has to type."""
    match action.kind:
        case "gate":
            return f"`gaelp gate show {action.run_id}`"
        case "revive":
            return "`gaelp revive --key FILE --reason WHY`"
        case _:
            return f"`gaelp approvals show {action_hash(action)[:_HASH_DIGITS]}`, then `gaelp approvals approve`"
