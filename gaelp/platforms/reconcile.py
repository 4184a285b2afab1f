"""Bring books and platform together: unknown outcomes, budgets as they really are, costs, one more day."""

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
from gaelp.platforms.findings import Paused, ReconcileFinding, pause_and_record, tell_paused
from gaelp.platforms.guard import Guard, on_record, tell, tell_violation
from gaelp.platforms.guarded import guarded
from gaelp.platforms.mandate_check import close_overspent, mandates_behind, require_mandate
from gaelp.platforms.order_book import open_orders, orders_of_day, record_outcome
from gaelp.platforms.pausing import running
from gaelp.platforms.platform import CallResult, CampaignState, Done, Rejected, Unknown
from gaelp.platforms.read_back import REPEATED, difference
from gaelp.platforms.renewal import budget_in_force, renewal_of
from gaelp.platforms.unknown_outcomes import resolve, transfer_of, was_sent

__all__ = ["Reconciliation", "reconcile"]

_BEYOND = "cost-beyond-reservation"


class Reconciliation(Frozen):
    """What one pass found and did; `failures` are the parts that could not be done, each told to somebody.

    `notes` say what was left for a later pass, as it should be.
    """

    resolved: dict[str, str] = Field(default_factory=dict, description="what open orders turned out to be, by key")
    paused: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    posted_micros: Micros = 0
    adjusted_micros: Micros = 0
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Pass(CheckPass):
    """One pass over an account."""

    caught = BaseException  # a connector may raise anything, a cancelled task too

    def __init__(self, guard: Guard) -> None:
        super().__init__(
            self._report, failure_text="{part} could not be done ({problem}): fix that, then reconcile again"
        )
        self.guard = guard
        self.resolved: dict[str, str] = {}
        self.paused: list[str] = []
        self.must_stand_still: set[str] = set()
        self.renewed: list[str] = []
        self.notes: list[str] = []
        self.posted_micros = self.adjusted_micros = 0

    def pause(self, findings: Sequence[ReconcileFinding]) -> None:
        """Stop all of these campaigns, then put on record why; one that could not be stopped is a failure."""
        self.must_stand_still |= {finding.campaign for finding in findings}
        for paused in pause_and_record(self.guard, findings):
            if paused.stands_still:
                self.paused.append(paused.finding.campaign)
            self.report_later(partial(self._report_pause, paused))

    def _report(self, _part: str, what: str) -> str | None:
        return tell(self.guard, "critical", scope=self.guard.account.id, rule="not-reconciled", what=what)

    def _report_pause(self, paused: Paused) -> str | None:
        what = tell_paused(self.guard, paused)
        return None if paused.stands_still else what


def reconcile(guard: Guard) -> Reconciliation:
    """One pass: free what was never sent, settle what is unknown, compare budgets, book costs, renew.

    Run it every few minutes and right after midnight of the account. It may run beside itself and be killed anywhere.
    """
    one = _Pass(guard)
    parts: dict[str, Callable[[_Pass], None]] = {
        "freeing what was not sent": lambda one: _free(one.guard),
        "settling unknown outcomes": _settle_unknown,
        "comparing budgets": _compare,
        "booking costs": _book,
        "reporting": _Pass.report_all,
        "renewing": _renew,
    }
    try:
        for name, do in parts.items():
            with one.part(name):
                do(one)
    finally:
        one.report_all()
    return Reconciliation(
        resolved=one.resolved,
        paused=tuple(dict.fromkeys(one.paused)),
        renewed=tuple(one.renewed),
        posted_micros=one.posted_micros,
        adjusted_micros=one.adjusted_micros,
        failures=tuple(one.failures),
        notes=tuple(one.notes),
    )


def _free(guard: Guard) -> None:
    expire(guard.ledger)
    for row in open_orders(guard.ledger, guard.account.id):
        if row.day < guard.today().isoformat() and transfer_of(guard, row.key) is None:
            record_outcome(guard.ledger, row.key, "rejected", "it never got its room")


def _settle_unknown(one: _Pass) -> None:
    for row in open_orders(one.guard.ledger, one.guard.account.id):
        with one.part(f"settling {row.key}"):
            outcome = resolve(one.guard, row)
            if outcome is not None:
                one.resolved[row.key] = _word(outcome)


def _word(outcome: CallResult) -> str:
    match outcome:
        case Done():
            return "done"
        case Rejected(reason):
            return f"rejected: {reason}"
        case Unknown(detail):
            return f"unknown: {detail}"


def _compare(one: _Pass) -> None:
    """Every campaign that runs has a budget it was given, no longer than today, and room for its worst day."""
    stopped = one.guard.switch.is_stopped()
    found = running(one.guard.platform)
    findings = []
    for state in found.states:
        if stopped:  # a call that was under way when the stop came may have arrived after the pause
            why = f"{state.campaign} is {_status(state)} while the kill switch is set"
            findings.append(ReconcileFinding(state.campaign, "runs-while-stopped", why, violation=None))
        elif wrong := REPEATED if state.campaign in found.repeated else _compared(one.guard, state):
            findings.append(ReconcileFinding(state.campaign, "read-back-differs", f"{state.campaign}: {wrong}"))
    one.pause(findings)
    for what in found.nameless:
        one.fail(f"{what}: mend the connector, and see on the platform whether it runs")


def _status(state: CampaignState) -> str:
    try:
        return shown(state.status)
    except BaseException as error:  # a word that cannot be had must not keep a campaign from being paused
        if ends_the_program(error):
            raise
        return "of unknown status"


def _compared(guard: Guard, state: CampaignState) -> str | None:
    """What is wrong with one campaign, in words; what cannot be compared is not known to be as it was ordered."""
    try:
        return _wrong(guard, state)
    except BaseException as error:  # whatever it is, the others are compared, and this one is paused
        if ends_the_program(error):
            raise
        return f"it cannot be compared with what was ordered ({in_words(error)})"


def _wrong(guard: Guard, state: CampaignState) -> str | None:
    today = guard.today()
    mine = [
        row
        for row in orders_of_day(guard.ledger, guard.account.id, today.isoformat())
        if row.campaign == state.campaign
    ]
    if ended := _mandate_ended(guard, state.campaign):
        return ended
    approved = budget_in_force(guard, state.campaign)
    allowed = [approved.daily_micros] if approved else []
    # Other orders name the budget they count on; they never gave one.
    allowed += [row.daily_micros for row in mine if row.kind == "budget" and was_sent(guard, row)]
    if what := difference(state, tuple(allowed), today):
        return what
    held = reserved_micros(found for row in mine if (found := transfer_of(guard, row.key)) is not None)
    worst = day_worst_micros(state.daily_micros, guard.terms)
    if state.through == today and held < worst:
        return f"it may cost {worst} micros today and {held} are reserved"
    return None


def _mandate_ended(guard: Guard, campaign: str) -> str | None:
    """Why a campaign must not run on the budget and bids that it has, in words."""
    try:
        for mandate_id in mandates_behind(guard, campaign):
            require_mandate(guard, mandate_id)
    except Refused as refusal:
        return f"its budget or bids live on a mandate that has ended ({refusal})"
    return None


def _book(one: _Pass) -> None:
    guard = one.guard
    today = guard.today()
    days = [today - timedelta(days=back) for back in range(guard.cost_days, -1, -1)]
    report = guard.platform.read_costs(days[0], days[-1])
    if report.as_of > guard.ledger.clock.now():
        raise GaelpError(f"the costs are as of {report.as_of.isoformat()}, which is yet to come: check the clocks")
    costs = read_report(report, days)
    for problem in costs.problems:
        one.fail(f"the report of costs makes no sense: {problem}; its room is kept: look at it on the platform")
    bookings: list[Booking] = []
    try:
        bookings.extend(book_costs(guard, costs, report.as_of, days))
    finally:  # what was booked before the ledger went away is told, and what ran too far is paused
        _conclude(one, bookings, report.as_of)


def _conclude(one: _Pass, bookings: Sequence[Booking], as_of: datetime) -> None:
    one.posted_micros += sum(booking.posted_micros for booking in bookings)
    one.adjusted_micros += sum(booking.adjusted_micros for booking in bookings)
    problems = [ReconcileFinding(booking.campaign, _BEYOND, booking.problem) for booking in bookings if booking.problem]
    # Once told, a past day must not keep a campaign from running after somebody has looked at it.
    one.pause([found for found in problems if not on_record(one.guard, found.campaign, _BEYOND, found.why)])
    for booking in bookings:
        if booking.problem:
            with one.part(f"closing the mandates of {booking.campaign}"):
                _close_mandates(one, booking)
        if booking.failure:
            one.fail(f"{booking.failure}: mend that, then reconcile again")
    one.notes += _not_final(bookings, as_of)


def _close_mandates(one: _Pass, booking: Booking) -> None:
    """What the caps of a mandate did not count it must not outlive."""
    for mandate_id in close_overspent(one.guard, booking.campaign, booking.day):
        what = f"the mandate {mandate_id[:12]} is closed: {booking.problem}"
        report = partial(
            tell_violation, one.guard, "critical", scope=booking.campaign, rule="mandate-overspent", what=what
        )
        one.report_later(report)


def _not_final(bookings: Sequence[Booking], as_of: datetime) -> list[str]:
    """Why nothing was posted for days whose reservation is kept."""
    waiting = [(booking.final_at, booking.day, booking.campaign) for booking in bookings if booking.final_at]
    if not waiting:
        return []
    final_at, day, campaign = min(waiting)
    costs = f"{len(waiting)} campaign-days are not posted yet, their costs as of {as_of.isoformat()} may change"
    return [f"{costs}: the first, {campaign} on {day}, needs a report as of {final_at.isoformat()} or later"]


def _renew(one: _Pass) -> None:
    """Let what is enabled, and was approved for today too, run today; what gets no room has ended already.

    What this pass had to pause is not renewed, least of all where the pause did not succeed.
    """
    guard = one.guard
    if guard.switch.is_stopped():
        return
    today = guard.today()
    for state in running(guard.platform).states:
        with one.part(f"renewing {state.campaign}"):
            if state.campaign in one.must_stand_still:
                continue
            if state.through >= today or (order := renewal_of(guard, state.campaign, today)) is None:
                continue
            if state.status != "enabled":
                raise GaelpError(f"its status is {state.status!r}, allowed: enabled or paused; it is not renewed")
            if isinstance(guarded(guard, order), Done):
                one.renewed.append(state.campaign)
