"""What a platform has must be what it was told: a budget that differs is a violation, and its campaign is paused."""

from datetime import date
from typing import NamedTuple

from gaelp.errors import GaelpError, Refused
from gaelp.money import Micros
from gaelp.platforms.calling import in_words
from gaelp.platforms.guard import Guard, record_violation, tell
from gaelp.platforms.order_book import NOT_READ_BACK, OrderRow, note_read_back, orders_of_campaign
from gaelp.platforms.pausing import pause
from gaelp.platforms.platform import CampaignState, Done
from gaelp.platforms.unknown_outcomes import was_sent

__all__ = ["Paused", "check_again", "check_written", "difference", "pause_and_tell"]

_DIFFERS, _NOT_READ, _PAUSE_FAILED = "read-back-differs", "not-read-back", "pause-failed"


class Paused(NamedTuple):
    """What became of a pause: whether the campaign stands still, and all of it in words."""

    stands_still: bool
    what: str


def check_written(guard: Guard, row: OrderRow) -> CampaignState:
    """Read a campaign back after a write; Refused if it is not as it was written, or cannot be read.

    What was found stays in the book, so that a retry of the order is told the same while it is true.
    """
    try:
        state = {one.campaign: one for one in guard.platform.read_campaigns()}.get(row.campaign)
    except Exception as error:
        why = f"{row.campaign} was changed and cannot be read back ({in_words(error)})"
        raise _refused(guard, row, _NOT_READ, why, "enable it with a new order") from error
    wrong = difference(state, (row.daily_micros,), date.fromisoformat(row.day))
    if state is None or wrong:
        raise _refused(guard, row, _DIFFERS, f"{row.campaign}: {wrong}", "set its budget with a new order")
    note_read_back(guard.ledger, row.key, "")
    return state


def check_again(guard: Guard, row: OrderRow) -> None:
    """For the retry of an order that is done: Refused unless what was wrong with it then is right now."""
    if not row.detail:
        return
    was_wrong = row.detail != NOT_READ_BACK
    if _is_replaced(guard, row):
        if was_wrong:
            raise Refused(f"{row.key} was carried out, but {row.detail}; newer orders of {row.campaign} came after it")
    elif check_written(guard, row).status == "paused" and was_wrong and row.kind == "enable":
        note_read_back(guard.ledger, row.key, row.detail)
        raise Refused(f"{row.key} was carried out, but {row.detail}; it is paused still: enable it with a new order")


def difference(state: CampaignState | None, allowed: tuple[Micros, ...], through: date) -> str | None:
    """What is wrong with a campaign's budget, in words; `allowed` are the daily budgets it may have."""
    wanted = " or ".join(str(micros) for micros in sorted(set(allowed))) or "none"
    if state is None:
        return f"the platform has no such campaign, wanted was a daily budget of {wanted} micros"
    if state.daily_micros not in allowed:
        return f"the platform has a daily budget of {state.daily_micros} micros, wanted was {wanted}"
    if state.through > through:
        return f"the platform lets it run through {state.through}, wanted was {through} at the latest"
    return None


def pause_and_tell(guard: Guard, campaign: str, *, rule: str, why: str, is_violation: bool = True) -> Paused:
    """Stop a campaign first, then put on record why, and tell it; a pause that fails is told each time it does."""
    outcome = pause(guard.platform, campaign)
    still = isinstance(outcome, Done)
    failed = f"; THE PAUSE DID NOT SUCCEED ({outcome}): pause it on the platform by hand, now"
    what = f"{why}, so it was paused" if still else f"{why}{failed}"
    problems = []
    if is_violation:
        # Once it stands still, what was wrong is on record in the same words however often it is seen.
        recorded = why if still else what
        problems.append(record_violation(guard, "critical", scope=campaign, rule=rule, what=recorded, once=True))
    told = rule if still else _PAUSE_FAILED
    problems.append(tell(guard, "critical", scope=campaign, rule=told, what=what, again=not still))
    return Paused(still, "; ".join([what, *filter(None, problems)]))


def _refused(guard: Guard, row: OrderRow, rule: str, why: str, way_out: str) -> Refused:
    """Pause the campaign, tell it, and leave it in the book; the answer is what to raise."""
    what = pause_and_tell(guard, row.campaign, rule=rule, why=why, is_violation=rule == _DIFFERS).what
    refusal = Refused(f"{what}: look at it on the platform, then {way_out}")
    try:
        note_read_back(guard.ledger, row.key, what)
    except GaelpError as problem:  # the mark that it was not read back stays, so a retry reads again
        refusal.add_note(f"the order book does not say so: {problem}")
    return refusal


def _is_replaced(guard: Guard, row: OrderRow) -> bool:
    """Whether a newer order of the campaign was sent: what the platform has now is what that one asked for."""
    for other in orders_of_campaign(guard.ledger, guard.account.id, row.campaign):
        if other.key == row.key:
            return False
        if was_sent(guard, other):
            return True
    return False
