"""Reconcile ledger and platform: settle unknown outcomes, compare budgets, book costs, renew for today."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from pydantic import Field

from gaelp.budget.ledger import expire
from gaelp.budget.platform_budget import day_worst_micros
from gaelp.checks import CheckPass
from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError, Refused
from gaelp.money import Micros
from gaelp.platforms.cost_booking import Booking, book_costs, reserved_micros
from gaelp.platforms.cost_reading import read_report
from gaelp.platforms.findings import Paused, ReconcileFinding, alert_paused, pause_and_record
from gaelp.platforms.guard import Guard, on_record, report_violation, send_alert
from gaelp.platforms.guarded import guarded_all
from gaelp.platforms.mandate_check import close_overspent, mandates_behind, require_mandate
from gaelp.platforms.order import Order
from gaelp.platforms.order_book import open_orders, orders_of_day, record_outcome
from gaelp.platforms.pausing import running
from gaelp.platforms.platform import CallResult, CampaignState, Done, Rejected, Unknown
from gaelp.platforms.read_back import REPEATED, difference
from gaelp.platforms.renewal import budget_in_force, renewal_of
from gaelp.platforms.unknown_outcomes import resolve, transfer_of, transfers_of, was_sent

__all__ = ["Reconciliation", "reconcile"]

_BEYOND = "cost-beyond-reservation"
_EDITS_OF = timedelta(days=1)


class Reconciliation(Frozen):
    """The result of a pass; `failures` are the parts that could not be done, each with an alert.

    `notes` say what is left for a later pass, as intended.
    """

    resolved: dict[str, str] = Field(default_factory=dict, description="the outcomes of open orders, by key")
    paused: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    posted_micros: Micros = 0
    adjusted_micros: Micros = 0
    edits: tuple[str, ...] = Field(default=(), description="what others changed on the platform in the last day")
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Pass(CheckPass):
    """A pass over an account."""

    caught = BaseException  # a connector may raise anything, even a cancellation

    def __init__(self, guard: Guard) -> None:
        super().__init__(
            self._report, failure_text="{part} could not be done ({problem}): fix that, then reconcile again"
        )
        self.guard = guard
        self.resolved: dict[str, str] = {}
        self.paused: list[str] = []
        self.must_pause: set[str] = set()
        self.renewed: list[str] = []
        self.edits: list[str] = []
        self.notes: list[str] = []
        self.posted_micros = self.adjusted_micros = 0

    def pause(self, findings: Sequence[ReconcileFinding]) -> None:
        """Pause these campaigns, then record why; one that could not be paused is a failure."""
        self.must_pause |= {finding.campaign for finding in findings}
        for paused in pause_and_record(self.guard, findings):
            if paused.is_paused:
                self.paused.append(paused.finding.campaign)
            self.report_later(partial(self._report_pause, paused))

    def _report(self, _part: str, what: str) -> str | None:
        return send_alert(self.guard, "critical", scope=self.guard.account.id, rule="not-reconciled", what=what)

    def _report_pause(self, paused: Paused) -> str | None:
        what = alert_paused(self.guard, paused)
        return None if paused.is_paused else what


def reconcile(guard: Guard) -> Reconciliation:
    """Free what was never sent, settle unknown outcomes, compare budgets, book costs, renew.

    Run it every few minutes and right after the account's midnight. Passes may run concurrently and be killed anywhere.
    """
    current = _Pass(guard)
    parts: dict[str, Callable[[_Pass], None]] = {
        "freeing what was not sent": lambda current: _free(current.guard),
        "settling unknown outcomes": _settle_unknown,
        "comparing budgets": _compare,
        "listing edits by others": _list_edits,
        "booking costs": _book,
        "reporting": _Pass.report_all,
        "renewing": _renew,
    }
    try:
        for name, do in parts.items():
            with current.part(name):
                do(current)
    finally:
        current.report_all()
    return Reconciliation(
        resolved=current.resolved,
        paused=tuple(dict.fromkeys(current.paused)),
        renewed=tuple(current.renewed),
        posted_micros=current.posted_micros,
        adjusted_micros=current.adjusted_micros,
        edits=tuple(current.edits),
        failures=tuple(current.failures),
        notes=tuple(current.notes),
    )


def _free(guard: Guard) -> None:
    expire(guard.ledger)
    for row in open_orders(guard.ledger, guard.account.id):
        if row.day < guard.today().isoformat() and transfer_of(guard, row.key) is None:
            record_outcome(guard.ledger, row.key, "rejected", "it never got its room")


def _settle_unknown(current: _Pass) -> None:
    for row in open_orders(current.guard.ledger, current.guard.account.id):
        with current.part(f"settling {row.key}"):
            outcome = resolve(current.guard, row)
            if outcome is not None:
                current.resolved[row.key] = _word(outcome)


def _word(outcome: CallResult) -> str:
    match outcome:
        case Done():
            return "done"
        case Rejected(reason):
            return f"rejected: {reason}"
        case Unknown(detail):
            return f"unknown: {detail}"


def _compare(current: _Pass) -> None:
    """Check that every running campaign has an ordered budget, until today at most, and room for its worst day."""
    stopped = current.guard.switch.is_stopped()
    listed = running(current.guard.platform)
    findings = []
    for state in listed.states:
        if stopped:  # a call in progress at the stop may arrive after the pause
            why = f"{state.campaign} is {_status(state)} while the kill switch is set"
            findings.append(ReconcileFinding(state.campaign, "runs-while-stopped", why, violation=None))
        elif wrong := REPEATED if state.campaign in listed.repeated else _compared(current.guard, state):
            findings.append(ReconcileFinding(state.campaign, "read-back-differs", f"{state.campaign}: {wrong}"))
    current.pause(findings)
    for what in listed.nameless:
        current.fail(f"{what}: fix the connector, and check on the platform whether it runs")


def _status(state: CampaignState) -> str:
    try:
        return shown(state.status)
    except BaseException as error:  # an unreadable status must not prevent the pause
        if ends_the_program(error):
            raise
        return "of unknown status"


def _compared(guard: Guard, state: CampaignState) -> str | None:
    """What is wrong with a campaign, None if nothing; one that cannot be compared is wrong."""
    try:
        return _wrong(guard, state)
    except BaseException as error:  # on any error this one is paused, and the others are compared
        if ends_the_program(error):
            raise
        return f"it cannot be compared with what was ordered ({in_words(error)})"


def _wrong(guard: Guard, state: CampaignState) -> str | None:
    today = guard.today()
    mine = orders_of_day(guard.ledger, guard.account.id, today.isoformat(), state.campaign)
    if ended := _mandate_ended(guard, state.campaign):
        return ended
    approved = budget_in_force(guard, state.campaign)
    allowed = [approved.daily_micros] if approved else []
    # Only budget orders set a budget; other orders name the one they expect.
    allowed += [row.daily_micros for row in mine if row.kind == "budget" and was_sent(guard, row)]
    if what := difference(state, tuple(allowed), today):
        return what
    held = reserved_micros(transfers_of(guard, mine))
    worst = day_worst_micros(state.daily_micros, guard.terms)
    if state.through == today and held < worst:
        return f"it may cost {worst} micros today and {held} are reserved"
    return None


def _mandate_ended(guard: Guard, campaign: str) -> str | None:
    """Why a campaign must not run on its budget and bids; None if it may."""
    try:
        for mandate_id in mandates_behind(guard, campaign):
            require_mandate(guard, mandate_id)
    except Refused as refusal:
        return f"its budget or bids are under a mandate that has ended ({refusal})"
    return None


def _list_edits(current: _Pass) -> None:
    """Report what others have changed; what they may not change, such as a budget, the comparison has paused."""
    guard = current.guard
    for edit in guard.platform.read_edits(guard.ledger.clock.now() - _EDITS_OF):
        what = f"{edit.campaign}: {edit.who} changed {edit.what} at {edit.at.isoformat()}"
        current.edits.append(what)
        scope = f"{edit.campaign}/{edit.at:%Y%m%dT%H%M%S}"
        report = partial(send_alert, guard, "warning", scope=scope, rule="edited-by-others", what=what)
        current.report_later(report)


def _book(current: _Pass) -> None:
    guard = current.guard
    today = guard.today()
    days = [today - timedelta(days=back) for back in range(guard.cost_days, -1, -1)]
    report = guard.platform.read_costs(days[0], days[-1])
    if report.as_of > guard.ledger.clock.now():
        raise GaelpError(f"the costs are as of {report.as_of.isoformat()}, which is in the future: check the clocks")
    costs = read_report(report, days)
    for problem in costs.problems:
        current.fail(f"the cost report is invalid: {problem}; the room is kept: check it on the platform")
    bookings: list[Booking] = []
    try:
        bookings.extend(book_costs(guard, costs, report.as_of, days))
    finally:  # report what was booked before the ledger became unavailable, and pause what overspent
        _conclude(current, bookings, report.as_of)


def _conclude(current: _Pass, bookings: Sequence[Booking], as_of: datetime) -> None:
    current.posted_micros += sum(booking.posted_micros for booking in bookings)
    current.adjusted_micros += sum(booking.adjusted_micros for booking in bookings)
    problems = [ReconcileFinding(booking.campaign, _BEYOND, booking.problem) for booking in bookings if booking.problem]
    # Only new problems: a past day that somebody has reviewed must not pause the campaign again.
    current.pause(
        [finding for finding in problems if not on_record(current.guard, finding.campaign, _BEYOND, finding.why)]
    )
    for booking in bookings:
        if booking.problem:
            with current.part(f"closing the mandates of {booking.campaign}"):
                _close_mandates(current, booking)
        if booking.failure:
            current.fail(f"{booking.failure}: fix that, then reconcile again")
    current.notes += _not_final(bookings, as_of)


def _close_mandates(current: _Pass, booking: Booking) -> None:
    """End the mandates of an overspent campaign, and report each."""
    for mandate_id in close_overspent(current.guard, booking.campaign, booking.day):
        what = f"the mandate {mandate_id[:12]} is closed: {booking.problem}"
        report = partial(
            report_violation, current.guard, "critical", scope=booking.campaign, rule="mandate-overspent", what=what
        )
        current.report_later(report)


def _not_final(bookings: Sequence[Booking], as_of: datetime) -> list[str]:
    """Say which days are not posted yet, and why."""
    waiting = [(booking.final_at, booking.day, booking.campaign) for booking in bookings if booking.final_at]
    if not waiting:
        return []
    final_at, day, campaign = min(waiting)
    costs = f"{len(waiting)} campaign-days are not posted yet, because their costs as of {as_of.isoformat()} may change"
    return [f"{costs}: the first, {campaign} on {day}, needs a report as of {final_at.isoformat()} or later"]


def _renew(current: _Pass) -> None:
    """Renew enabled campaigns that were approved for today; one without room stays ended.

    Campaigns that this pass had to pause are not renewed, even if the pause failed. All are read back together.
    """
    guard = current.guard
    if guard.switch.is_stopped():
        return
    today = guard.today()
    orders: list[Order] = []
    for state in running(guard.platform).states:
        with current.part(f"renewing {state.campaign}"):
            if state.campaign in current.must_pause:
                continue
            if state.through >= today or (order := renewal_of(guard, state.campaign, today)) is None:
                continue
            if state.status != "enabled":
                raise GaelpError(f"its status is {state.status!r}, allowed: enabled or paused; it is not renewed")
            orders.append(order)
    for order, outcome in zip(orders, guarded_all(guard, orders), strict=True):
        with current.part(f"renewing {order.campaign}"):
            if isinstance(outcome, GaelpError):
                raise outcome
            if isinstance(outcome, Done):
                current.renewed.append(order.campaign)
