"""The safety watch: one pass over everything that must not be left unattended; what it finds is sent as alerts.

It checks gates and approvals that nobody answers, ledger and platform that drift apart, money that breaks its rules,
and alerts that nobody acknowledges. Each part is checked even if another fails; a part that fails is a critical alert.
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
    """The result of one pass; `failures` are the parts that failed and the channels that took no alert."""

    gates: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    reconciliation: Reconciliation | None = None  # none: no platform, or its part failed
    money_rules: MoneyRulesReport | None = None  # as above
    failures: tuple[str, ...] = ()


def watch(
    settings: Settings, *, clock: Clock, open_guard: GuardOpener, more_channels: Sequence[Channel] = ()
) -> WatchReport:
    """Check everything once and send the alerts. The guard is opened only if there is a platform."""
    this = _Pass(settings, clock, more_channels)
    with this.part("gates"):
        this.check_gates()
    with this.part("approvals"):
        this.check_approvals()
    with this.part("reconciliation"):
        this.check_platform(open_guard)
    with this.part("escalation"):
        this.escalate()
    return WatchReport(
        gates=tuple(this.gates),
        approvals=tuple(this.approvals),
        reconciliation=this.reconciliation,
        money_rules=this.money_rules,
        failures=tuple(dict.fromkeys(this.failures)),
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
        """Carry out one part of the pass and report its failures at once."""
        with super().part(name):
            yield
        self.report_all()

    def check_gates(self) -> None:
        """Send an alert for each gate that is overdue, and another when it has expired."""
        now = self._clock.now()
        questions = gate_approvals(self._settings).decisions().open_questions()
        self._open_gates = {question.evidence_hash for question in questions}
        for text, question in left_alone(questions, now):
            self.gates.append(text)
            # A gate that is asked again is another one: the time it expires is in the key.
            until = f"{question.expires_at:%Y%m%dT%H%M%S}"
            self._send(
                "warning",
                f"gate/{question.run_id}/{question.gate}/{question_status(question, now)}/{until}",
                f"Gate {question.gate} of run {question.run_id} is {question_status(question, now)}",
                text,
                once=True,
            )

    def check_approvals(self) -> None:
        """Send an alert for each request that waits too long or has expired."""
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
                    self._alert_about("warning", request, _waits(request, policy, trust, self._clock.now()))
                case "expired":
                    self._alert_about("info", request, _ran_out(request, policy))

    def check_platform(self, open_guard: GuardOpener) -> None:
        """Reconcile the ledger with the platform, then apply the money rules; each reports its own failures."""
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
        """Escalate critical alerts that nobody has acknowledged."""
        for delivery in self._dispatcher.tick():
            self._note(delivery)

    def _decided_at_gate(self, action: SignedAction) -> bool:
        """Whether a gate with some signatures was decided another way, as far as that is known."""
        if action.kind != "gate" or self._open_gates is None:
            return False
        return action.evidence_hash not in self._open_gates

    def _alert_about(self, severity: Severity, request: ApprovalRequest, text: str) -> None:
        if severity == "warning":
            self.approvals.append(text)
        kind = "waits too long" if severity == "warning" else "has expired"
        key = f"approval/{action_hash(request.action)}/{severity}"
        self._send(severity, key, f"A request for a {request.action.kind} {kind}", text, once=severity == "info")

    def _send(self, severity: Severity, key: str, title: str, body: str, *, once: bool = False) -> None:
        alert = Alert(
            severity=severity, source=_SOURCE, key=key[:200], title=title[:200], body=body[:8000], at=self._clock.now()
        )
        self._note(self._dispatcher.send(alert, once=once))

    def _report(self, part: str, what: str) -> None:
        self._send("critical", f"part/{part}", f"The safety watch could not look at: {part}", what)

    def _note(self, delivery: Delivery) -> None:
        self.failures += [f"the channel {name} took no alert: {problem}" for name, problem in delivery.failed.items()]


def left_alone(questions: list[GateQuestion], now: datetime) -> list[tuple[str, GateQuestion]]:
    """A text for each question that is overdue or has expired."""
    texts = []
    for question in questions:
        match question_status(question, now):
            case "overdue":
                texts.append((_overdue(question, now), question))
            case "expired":
                texts.append((_expired(question), question))
    return texts


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
        " it has to be requested again"
    )


def _what(action: SignedAction) -> str:
    about = action.subject or f"gate {action.gate}"
    return f"the {action.kind} {about!r} of run {action.run_id} (action {action_hash(action)[:_HASH_DIGITS]})"


def _whom(policy: ApprovalPolicy, trust: Trust, now: datetime) -> str:
    """Who is notified under the policy: its roles, and the people who have them."""
    if not policy.escalate_to:
        return "The policy names nobody to notify"
    wanted = set(policy.escalate_to)
    names = sorted({person.name for person in trust.approvers if person.trusted_at(now) and wanted & set(person.roles)})
    roles = " or ".join(policy.escalate_to)
    return f"Notify: {roles} ({', '.join(names) or 'nobody who is trusted has this role'})"


def _command(action: SignedAction) -> str:
    """The command with which to decide."""
    match action.kind:
        case "gate":
            return f"`gaelp gate show {action.run_id}`"
        case "revive":
            return "`gaelp revive --key FILE --reason WHY`"
        case _:
            return f"`gaelp approvals show {action_hash(action)[:_HASH_DIGITS]}`, then `gaelp approvals approve`"
