"""The only door to money: every call that lets money move passes the same checks in the same order, or is refused.

    kill switch -> approval -> content -> reservation -> in flight -> last check -> the call -> settled -> read back

The cheapest and strictest checks come first. Nothing is sent before its worst case is reserved, and no reservation is
freed before the outcome is certain. A retry with the same key resumes the last attempt and never sends twice.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from gaelp.approvals import Authorisation, SignedAction
from gaelp.budget.ledger import (
    LedgerBroken,
    LedgerUnavailable,
    MandateRoom,
    Reservation,
    SpendingStopped,
    TransferState,
    find_transfer,
    mark_in_flight,
    reserve,
    void,
)
from gaelp.budget.platform_budget import PlatformBudget, change_budget
from gaelp.checks.raised import in_words
from gaelp.content import Creative, creative_hash
from gaelp.errors import BadInput, GaelpError, Refused, WaitingForPerson
from gaelp.money import Micros, Money
from gaelp.platforms.calling import attempt
from gaelp.platforms.cost_booking import reserved_micros
from gaelp.platforms.findings import ReconcileFinding, pause_and_alert
from gaelp.platforms.guard import Guard, send_alert
from gaelp.platforms.mandate_check import check_budget_holds, check_mandate
from gaelp.platforms.order import Order, action_of, checked_order
from gaelp.platforms.order_book import (
    OrderRow,
    find_order,
    orders_of_day,
    record_order,
    record_outcome,
    refuse_other_body,
)
from gaelp.platforms.platform import CallResult, Done, Rejected, Unknown
from gaelp.platforms.read_back import check_again, check_written
from gaelp.platforms.refusals import Stage, report_refusal
from gaelp.platforms.renewal import check_renewal
from gaelp.platforms.unknown_outcomes import conclude, held_transfer, resolve, transfer_of

__all__ = ["guarded", "guarded_all"]


@dataclass(slots=True)
class _Passage:
    """An order on its way through the checks."""

    guard: Guard
    order: Order
    stage: Stage = "key"
    authorisation: Authorisation | None = field(default=None)
    room: MandateRoom | None = None
    read_back: bool = True  # False: whoever sends several orders reads them back together
    written: OrderRow | None = None  # a done order that waits for that

    def enter(self, stage: Stage) -> None:
        """Start a stage; tests inject crashes between stages."""
        self.guard.at_step(f"before {stage}")
        self.stage = stage

    @property
    def action(self) -> SignedAction:
        return action_of(self.order, self.guard.account, self.guard.platform.world)


def guarded(guard: Guard, order: Order) -> CallResult:
    """Carry out an order, or refuse it and change nothing; an Unknown one keeps its reservation until reconciled."""
    passage = _Passage(guard, order)
    with _refusals_reported(passage, order):
        passage.order = checked_order(order)
        return _pass_through(passage)


def guarded_all(guard: Guard, orders: Sequence[Order]) -> list[CallResult | GaelpError]:
    """Carry out orders of different campaigns one after another, then read all of them back; a refusal is returned.

    Each passes the same checks as alone. After a crash in between, the retry of an order reads it back.
    """
    passages = [_Passage(guard, order, read_back=False) for order in orders]
    outcomes: list[CallResult | GaelpError] = []
    for passage, order in zip(passages, orders, strict=True):
        try:
            with _refusals_reported(passage, order):
                passage.order = checked_order(order)
                outcomes.append(_pass_through(passage))
        except GaelpError as refusal:
            outcomes.append(refusal)
    for place, passage in enumerate(passages):
        try:
            with _refusals_reported(passage, passage.order):
                if passage.written is not None:
                    check_written(guard, passage.written)
        except GaelpError as refusal:
            outcomes[place] = refusal
    return outcomes


@contextmanager
def _refusals_reported(passage: _Passage, order: Order) -> Iterator[None]:
    try:
        yield
    except Exception as refusal:
        if problem := report_refusal(passage.guard, order, passage.stage, refusal):
            refusal.add_note(problem)
        raise


def _pass_through(passage: _Passage) -> CallResult:
    guard, order = passage.guard, passage.order
    row = find_order(guard.ledger, order.key)
    if row is not None:
        refuse_other_body(row, order)
        if (earlier := resolve(guard, row)) is not None:
            return _answer_again(passage, earlier)
    passage.enter("switch")
    _refuse_if_stopped(guard)
    passage.enter("order")
    _check_order(guard, order)
    passage.enter("approval")
    passage.authorisation = _authorise(passage)
    passage.enter("content")
    if order.creative is not None:
        _check_content(guard, order.creative)
    passage.enter("reservation")
    row = _reserve(passage)
    guard.at_step("reserved")
    if not _mark(passage):
        return _answer_again(passage, resolve(guard, row) or Unknown("another attempt with this key is in progress"))
    passage.enter("send")
    outcome = _send(passage, date.fromisoformat(row.day))
    guard.at_step("sent")
    return _settle(passage, row, outcome)


# Before anything is reserved


def _refuse_if_stopped(guard: Guard) -> None:
    if guard.switch.is_stopped():
        raise SpendingStopped(
            "the kill switch is set, or cannot be read: nothing is sent until its release is approved"
        )


def _check_order(guard: Guard, order: Order) -> None:
    if order.until < guard.today():
        raise BadInput(f"{order.key} may run until {order.until}, today is {guard.today()}: order it for later days")
    if order.daily_micros % guard.terms.step_micros:
        raise BadInput(
            f"{order.key} has a daily budget of {order.daily_micros} micros; {guard.terms.platform} accepts multiples"
            f" of {guard.terms.step_micros}: round it down"
        )
    if guard.platform.name != guard.terms.platform:
        raise BadInput(
            f"the platform is {guard.platform.name}, but the terms are of {guard.terms.platform}: give its own"
        )


def _authorise(passage: _Passage) -> Authorisation | None:
    """Use up the approval of exactly this order; a renewal relies on the approval of the order it renews.

    An order under a mandate uses up no approval: the mandate replaces the signature, and nothing else.
    """
    guard, order, authority = passage.guard, passage.order, passage.guard.authority
    passage.room = check_mandate(guard, order)
    if order.kind == "bid" or (order.mandate is not None and order.kind != "budget"):
        check_budget_holds(guard, order)
    if order.renews:
        check_renewal(guard, order)
    if order.renews or order.mandate is not None:
        return None
    authorisation = authority.store.consume(passage.action, authority.policy, authority.trust(), consumer=order.key)
    authorisation.check(passage.action, guard.wall_now())
    return authorisation


def _check_content(guard: Guard, creative: Creative) -> None:
    """Accept exactly this creative, if the rules or a person allow it."""
    verdict = guard.reviews.settle(guard.judge.check(creative))
    if verdict.creative_hash != creative_hash(creative):
        raise Refused(f"the verdict is on creative {verdict.creative_hash[:12]}, not on {creative.id}: check it again")
    if verdict.outcome == "allow":
        return
    rules = ", ".join(sorted({finding.rule for finding in verdict.findings})) or "none named"
    if verdict.outcome == "review":
        guard.reviews.add(creative, verdict)
        raise WaitingForPerson(
            f"creative {creative.id} needs a person ({rules}): `gaelp content decide {verdict.case[:12]}`, then repeat"
        )
    raise Refused(f"creative {creative.id} is not allowed ({rules}): edit it, and have the new version approved")


# Room for the worst case


def _reserve(passage: _Passage) -> OrderRow:
    guard, order = passage.guard, passage.order
    day = guard.today()
    row = record_order(
        guard.ledger,
        order,
        account_id=guard.account.id,
        day=day.isoformat(),
        amount_micros=_worst_case(guard, order, day),
    )
    guard.at_step("recorded")
    amount = Money(row.amount_micros, guard.account.currency)
    caps = (*guard.caps_of(order.campaign), *(passage.room.caps if passage.room else ()))
    reserve(guard.ledger, Reservation(order.key, guard.account.id, amount, caps, passage.room))
    return row


def _worst_case(guard: Guard, order: Order, day: date) -> Micros:
    """What the order may cost today beyond what its campaign has certainly reserved; zero if that is enough.

    Only orders that are done count as reserved: the room of an unknown one may still be freed. And they count only as
    far as the ledger holds their room: the order book alone proves none.
    """
    earlier, held, others = [], 0, dict[str, Micros]()
    for row in orders_of_day(guard.ledger, guard.account.id, day.isoformat()):
        if row.campaign == order.campaign:
            if row.outcome == "done":
                earlier.append(row.daily_micros)
                held += _held_micros(guard, row)
        elif row.outcome == "done" or (row.outcome == "" and held_transfer(guard, row.key)):
            others[row.campaign] = max(others.get(row.campaign, 0), row.daily_micros)
    change = change_budget(
        PlatformBudget(terms=guard.terms, daily_micros=order.daily_micros),
        earlier_today=earlier,
        others=[PlatformBudget(terms=guard.terms, daily_micros=micros) for micros in others.values()],
        cap_micros=guard.day_cap_micros,
    )
    return max(change.extra_micros, change.day_reserve_micros - held, 0)


def _held_micros(guard: Guard, row: OrderRow) -> Micros:
    """What the ledger reserved for an order; LedgerBroken if the order book has a different amount."""
    transfer = transfer_of(guard, row.key)
    if transfer is None or transfer.amount_micros != row.amount_micros:
        in_ledger = "nothing" if transfer is None else transfer.amount_micros
        raise LedgerBroken(
            f"the order {row.key!r} has reserved {row.amount_micros} micros by the order book, {in_ledger} by the"
            " ledger: somebody has changed one of them; run `gaelp ledger verify`, and restore a copy that verifies"
        )
    return reserved_micros([transfer])


def _mark(passage: _Passage) -> bool:
    """Mark it as being sent; False if an earlier attempt did."""
    try:
        return mark_in_flight(passage.guard.ledger, passage.order.key).is_new
    except SpendingStopped as refusal:
        _give_back(passage, refusal)  # it may have been marked, but was not sent
        raise


# The call


def _send(passage: _Passage, day: date) -> CallResult:
    """Check once more, then call; nothing happens between the two."""
    guard, order = passage.guard, passage.order
    try:
        _last_check(passage, day)
    except Exception as refusal:
        _give_back(passage, refusal)
        raise
    return attempt(partial(_call, guard, order, day))


def _last_check(passage: _Passage, day: date) -> None:
    """Check again what may have changed while the ledger was busy."""
    guard = passage.guard
    transfer = find_transfer(guard.ledger, passage.order.key)
    if not transfer.day == day.isoformat() == guard.today().isoformat():
        raise Refused(
            f"{transfer.key} was reserved for {transfer.day}, computed for {day}, and today is {guard.today()}:"
            " order it again"
        )
    # Reconciliation waits for a trace from the end of the time to send.
    if transfer.state is not TransferState.IN_FLIGHT or guard.ledger.now_ms() >= transfer.expires_at_ms:
        raise Refused(f"{transfer.key} is {transfer.state} and its time to send is over: order it again")
    check_mandate(guard, passage.order)
    if passage.authorisation is not None:
        passage.authorisation.check(passage.action, guard.wall_now())
    _refuse_if_stopped(guard)


def _call(guard: Guard, order: Order, day: date) -> CallResult:
    match order.kind:
        case "bid":
            return guard.platform.set_bids(
                order.campaign, {bid.target: bid.micros for bid in order.bids}, key=order.key
            )
        case "budget":
            return guard.platform.set_budget(order.campaign, order.daily_micros, day, key=order.key)
        case "enable":
            return guard.platform.enable(order.campaign, key=order.key)
        case "publish":
            if order.creative is None:
                raise BadInput(f"{order.key} publishes nothing: give a creative")
            return guard.platform.publish(order.campaign, order.creative, key=order.key)


def _give_back(passage: _Passage, refusal: Exception) -> None:
    """Free the room of an order that was certainly not sent; if the ledger is away, reconciliation does it later."""
    try:
        void(passage.guard.ledger, passage.order.key)
        record_outcome(passage.guard.ledger, passage.order.key, "rejected", f"not sent: {refusal}")
    except LedgerUnavailable as problem:
        refusal.add_note(f"its reservation stays until it is reconciled: {in_words(problem)}")


def _settle(passage: _Passage, row: OrderRow, outcome: CallResult) -> CallResult:
    """Record the answer, then read the campaign back: a stop or the platform may have changed the result."""
    guard, order = passage.guard, passage.order
    if not isinstance(outcome, Rejected) and guard.switch.is_stopped():
        why = f"{order.campaign}: {order.key} was being sent when the kill switch was set"
        landed = pause_and_alert(guard, ReconcileFinding(order.campaign, "landed-after-stop", why, violation=None))
        if isinstance(outcome, Unknown):  # nothing can be read back yet
            outcome = Unknown(f"{outcome.detail}; {landed}")
    conclude(guard, order.key, outcome)
    passage.enter("read back")
    if isinstance(outcome, Unknown):
        call = f"{order.kind} of {order.campaign} as {order.key}"
        what = f"{call}: {outcome.detail}. Its reservation stays until `reconcile` settles it."
        send_alert(guard, "warning", scope=order.key, rule="outcome-unknown", what=what)
    elif isinstance(outcome, Done) and passage.read_back:
        check_written(guard, row)
    elif isinstance(outcome, Done):
        passage.written = row
    return outcome


def _answer_again(passage: _Passage, earlier: CallResult) -> CallResult:
    """The outcome of an order that was sent before; a done one is read back again if it was wrong then."""
    row = find_order(passage.guard.ledger, passage.order.key)
    if isinstance(earlier, Done) and row is not None:
        passage.enter("read back")
        check_again(passage.guard, row)
    return earlier
