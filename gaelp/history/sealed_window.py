"""The only way into a sealed window: a ticket of the gate, which is a look, and there are three looks a window.

A look counts when its ticket is issued, before anything is read: a crash gives no further look. The same attempt with
the same model gets the same ticket again, and with it the same data. Every ticket and every reading is in the audit
log. Each look is judged at a third of alpha, so that all three together err at most as often as one at alpha would
(Bonferroni; Dunn 1961, "Multiple comparisons among means").
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields

import numpy as np

from gaelp.approvals import approvals_place
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import Clock
from gaelp.config.machine_user import machine_user
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, Refused
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.look_book import LOOKS_MAX, GateTicket, LookBook, TicketRequest
from gaelp.history.split_windows import Splits, SplitWindow, row_fingerprint
from gaelp.history.splits import window_rows
from gaelp.storage.backends import build_store
from gaelp.storage.sealed_store import open_sealed
from gaelp.storage.seals import SealBook, seals_place
from gaelp.storage.store import EpisodeStore

__all__ = ["OpenedWindow", "alpha_of_look", "data_hash", "issue_ticket", "looks_left", "open_window", "opened_store"]


@dataclass(frozen=True, slots=True)
class OpenedWindow:
    """A sealed window as one look reads it."""

    logged: LoggedDecisions
    window: SplitWindow  # `known_at` is the moment of this look
    ticket: GateTicket

    def alpha(self, alpha: float) -> float:
        """The level at which this look is judged."""
        return alpha_of_look(alpha)


def alpha_of_look(alpha: float) -> float:
    """The level of each look, so that all looks at a window together err at most with `alpha`."""
    if not 0 < alpha < 1:
        raise BadInput(f"alpha={alpha:g}; allowed: between 0 and 1. Give the level of the whole gate, such as 0.05")
    return alpha / LOOKS_MAX


def looks_left(settings: Settings, splits: Splits) -> int:
    """How many looks at the sealed window are left."""
    check_approvals_kept(settings)
    return LOOKS_MAX - len(LookBook(approvals_place(settings)).looks(splits.sealed.fingerprint))


def issue_ticket(settings: Settings, splits: Splits, request: TicketRequest, clock: Clock) -> GateTicket:
    """Take a look at the sealed window for one attempt, and record it; nothing of the window is returned.

    Refused where the looks are used up, the window was given up for a later one, or its rows are not those sealed.
    """
    check_approvals_kept(settings)
    _check_in_force(settings, splits)
    rows = _read(settings, splits, None)
    newest = rows.facts.newest_report or splits.sealed.until
    way_out = (
        "Wait for new data, then fix the next windows: one as long needs whole days of history up to"
        f" {splits.next_sealed_last_day()}, {(splits.next_sealed_last_day() - splits.sealed.last_day).days} days after"
        " the end of this one."
    )
    return LookBook(approvals_place(settings)).take(
        splits.sealed.fingerprint, request, as_of=newest, at=clock.now(), by=machine_user(), way_out=way_out
    )


def open_window(settings: Settings, splits: Splits, ticket: GateTicket, clock: Clock) -> OpenedWindow:
    """Read the sealed window with a ticket, and record that it was read; the same ticket reads the same data."""
    check_approvals_kept(settings)
    book = LookBook(approvals_place(settings))
    if ticket.fingerprint != splits.sealed.fingerprint:
        raise Refused(
            f"the ticket is for window {ticket.fingerprint[:12]}, not for {splits.sealed.fingerprint[:12]}: ask the"
            " gate for one of this window"
        )
    book.check(ticket)
    _check_in_force(settings, splits)
    logged = _read(settings, splits, ticket)
    book.note_reading(ticket, data_hash(logged), clock.now())
    return OpenedWindow(logged, splits.sealed.model_copy(update={"known_at": ticket.as_of}), ticket)


@contextmanager
def opened_store(settings: Settings, ticket: GateTicket) -> Iterator[EpisodeStore]:
    """The store with the rows of sealed windows, for checks of the data behind a look that was taken."""
    check_approvals_kept(settings)
    LookBook(approvals_place(settings)).check(ticket)
    with closing(build_store(settings)) as store:
        yield open_sealed(store)


def data_hash(logged: LoggedDecisions) -> str:
    """SHA-256 (hex) over what was read: names, decisions and figures; what was noticed on the way is left out."""
    digest = hashlib.sha256()
    for field in fields(logged):
        if field.name == "facts":
            continue
        value = getattr(logged, field.name)
        content = np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
        digest.update(f"{field.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _check_in_force(settings: Settings, splits: Splits) -> None:
    seal = SealBook(seals_place(settings)).of(splits.history)
    if seal is None:
        raise Refused(
            f"history {splits.history!r} has no sealed window here: fix its windows first, so that nothing has read it"
        )
    if seal.fingerprint != splits.sealed.fingerprint:
        raise Refused(
            f"window {splits.sealed.fingerprint[:12]} of history {splits.history!r} was given up when window"
            f" {seal.fingerprint[:12]} was sealed, and may have been calibrated on since: use the newest windows"
        )
    if Splits.model_validate_json(seal.splits) != splits:
        raise Refused(
            f"the windows of history {splits.history!r} are not as they were fixed: take those of fixed_splits"
        )


def _read(settings: Settings, splits: Splits, ticket: GateTicket | None) -> LoggedDecisions:
    """The window's rows as of a ticket, or all that is known without one; Refused if they are not those sealed."""
    with closing(build_store(settings)) as store:
        opened, window = open_sealed(store), splits.sealed
        rows = window_rows(opened, splits, window, as_of=None, keep_unreported=True)
        if row_fingerprint(rows) != window.fingerprint:
            raise Refused(
                f"the rows of the sealed window {window.fingerprint[:12]} changed since it was sealed: {window.rows:,}"
                f" then, {len(rows):,} now. No look was used by this. Take back what was imported into it or removed"
                " from it, or wait for new data and fix the next windows"
            )
        if ticket is None:
            return rows
        return window_rows(opened, splits, window, as_of=ticket.as_of)
