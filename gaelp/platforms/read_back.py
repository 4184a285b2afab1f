"""Read campaigns back after a write: a budget that differs is a violation, and the campaign is paused."""

from collections.abc import Sequence
from datetime import date

from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.errors import GaelpError, Refused
from gaelp.money import Micros
from gaelp.platforms.findings import ReconcileFinding, pause_and_alert
from gaelp.platforms.guard import Guard
from gaelp.platforms.order import Bid
from gaelp.platforms.order_book import NOT_READ_BACK, OrderRow, note_read_back, orders_of_campaign
from gaelp.platforms.pausing import is_paused
from gaelp.platforms.platform import CampaignState
from gaelp.platforms.unknown_outcomes import was_sent

__all__ = ["REPEATED", "bid_difference", "check_again", "check_written", "difference"]

REPEATED = "the platform lists it more than once, expected was one campaign of the name"

_RELEASED = "enable it with a new order once the stop is released"


def check_written(guard: Guard, row: OrderRow) -> CampaignState:
    """Read a campaign back after a write; Refused if it differs, cannot be read, or is stopped.

    The result is stored in the order book, so that a retry of the order gets the same answer while it is true.
    """
    state, wrong, unread = None, None, ""
    try:
        campaigns = guard.platform.read_campaigns()
        listed = [each for each in campaigns if getattr(each, "campaign", None) == row.campaign]
        state = listed[0] if listed else None
        # A campaign listed twice may spend twice, and a pause or budget may reach only one of the two.
        wrong = REPEATED if len(listed) > 1 else difference(state, (row.daily_micros,), date.fromisoformat(row.day))
        wrong = wrong or (bid_difference(state, row.order.bids) if state else None)
    except BaseException as error:  # raised below as text: the exception may contain a secret
        if ends_the_program(error):
            raise
        unread = in_words(error)
    if unread:
        why = f"{row.campaign} was changed by {row.key} and could not be read back ({unread})"
        finding = ReconcileFinding(row.campaign, "not-read-back", why, violation="warning", alert_scope=row.key)
        raise _refused(guard, row, finding, "enable it with a new order")
    if state is None or wrong:
        finding = ReconcileFinding(row.campaign, "read-back-differs", f"{row.campaign}: {wrong}")
        raise _refused(guard, row, finding, "set its budget with a new order")
    if guard.switch.is_stopped():
        _check_stopped(guard, row, state)
    note_read_back(guard.ledger, row.key, "")
    return state


def check_again(guard: Guard, row: OrderRow) -> None:
    """For the retry of a done order: Refused unless what was wrong with it is right now."""
    if not row.detail:
        return
    if _is_replaced(guard, row):
        if row.detail != NOT_READ_BACK:
            raise Refused(f"{row.key} was carried out, but {row.detail}; newer orders of {row.campaign} came after it")
    elif is_paused(check_written(guard, row)) and row.kind == "enable":
        note_read_back(guard.ledger, row.key, row.detail)
        raise Refused(f"{row.key} was carried out, but {row.detail}; it is still paused: enable it with a new order")


def difference(state: CampaignState | None, allowed: tuple[Micros, ...], through: date) -> str | None:
    """What is wrong with a campaign's budget; `allowed` are the daily budgets it may have."""
    wanted = " or ".join(str(micros) for micros in sorted(set(allowed))) or "none"
    if state is None:
        return f"the platform has no such campaign, expected was a daily budget of {wanted} micros"
    if type(state.daily_micros) is not int:  # 1.0 and True equal 1, but are not amounts
        return f"the platform has a daily budget of {shown(state.daily_micros)}, expected was {wanted} micros"
    if state.daily_micros not in allowed:
        return f"the platform has a daily budget of {state.daily_micros} micros, expected was {wanted}"
    if state.through > through:
        return f"the platform lets it run through {state.through}, expected was {through} at the latest"
    return None


def bid_difference(state: CampaignState, bids: Sequence[Bid]) -> str | None:
    """What is wrong with the bids of a campaign."""
    actual = dict(state.bids)
    for bid in bids:
        micros = actual.get(bid.target)
        if type(micros) is not int or micros != bid.micros:
            return f"the platform bids {shown(micros)} for {bid.target}, expected was {bid.micros} micros"
    return None


def _check_stopped(guard: Guard, row: OrderRow, state: CampaignState) -> None:
    """Refused if it runs despite the kill switch, or if the order was to enable it."""
    if not is_paused(state):
        status = shown(getattr(state, "status", None))
        why = f"{row.campaign}: {row.key} was carried out and it is {status} while the kill switch is set"
        finding = ReconcileFinding(row.campaign, "runs-while-stopped", why, violation=None)
        raise _refused(guard, row, finding, _RELEASED)
    if row.kind == "enable":
        why = f"the kill switch was set, or could not be read, before {row.key} was read back"
        refusal = Refused(f"{row.campaign} is paused because of the stop: {why}; {_RELEASED}")
        raise _noted(guard, row, why, refusal)


def _refused(guard: Guard, row: OrderRow, finding: ReconcileFinding, way_out: str) -> Refused:
    """Pause the campaign, alert people, and record the cause in the order book; return what to raise."""
    what = pause_and_alert(guard, finding)
    return _noted(guard, row, finding.why, Refused(f"{what}: check it on the platform, then {way_out}"))


def _noted(guard: Guard, row: OrderRow, why: str, refusal: Refused) -> Refused:
    """Record the cause in the order book. Leave the remedy out: it goes stale."""
    try:
        note_read_back(guard.ledger, row.key, why)
    except GaelpError as problem:  # the order stays marked as not read back, so a retry reads again
        refusal.add_note(f"the order book could not record it: {in_words(problem)}")
    return refusal


def _is_replaced(guard: Guard, row: OrderRow) -> bool:
    """Whether a newer order of the campaign was sent, which determines what the platform has now."""
    for other in orders_of_campaign(guard.ledger, guard.account.id, row.campaign):
        if other.key == row.key:
            return False
        if was_sent(guard, other):
            return True
    return False
