"""Fix the windows of a history once, seal the last one, and read the other two inside their bounds."""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.config.split_settings import SplitSettings
from gaelp.errors import BadInput, DataError, Refused
from gaelp.history.logged_campaigns import LoggedDecisions, keep_rows, read_logged
from gaelp.history.split_windows import Splits, SplitWindow, WindowName, compute_splits
from gaelp.storage.backends import build_store, episodes_folder
from gaelp.storage.sealed_files import mark_sealed
from gaelp.storage.sealed_store import open_sealed
from gaelp.storage.seals import Seal, SealBook, history_name, seals_place
from gaelp.storage.store import EpisodeStore, RowFilter

__all__ = ["SEALED", "HistoryRows", "fix_splits", "fixed_splits", "next_splits", "read_window", "window_rows"]

SEALED = "history.window_sealed"  # the kind of a row in the audit log
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """Which stored rows are one history.

    Name it where its sources grow, such as weekly imports, and the windows follow each other; otherwise it is named by
    its sources. Homes that share a PostgreSQL share its windows too, so there each history needs sources or a name.
    """

    sources: tuple[str, ...] = ()  # empty: all of phase history
    name: str | None = None
    zone: str | None = None  # IANA name of the account's clock, where there are no hour reports to tell

    @property
    def history(self) -> str:
        """What its windows are stored under."""
        return self.name or history_name(self.sources)


def fixed_splits(settings: Settings, rows: HistoryRows) -> Splits | None:
    """The windows of a history as they were fixed; None if they were not."""
    seal = SealBook(seals_place(settings)).of(rows.history)
    return None if seal is None else Splits.model_validate_json(seal.splits)


def fix_splits(settings: Settings, splits: SplitSettings, clock: Clock, rows: HistoryRows) -> Splits:
    """The windows of a history, fixed now unless they were; the last one is sealed from now on.

    Windows that were fixed are returned as they were, whatever `splits` says now and whatever was stored since.
    """
    seal = SealBook(seals_place(settings)).of(rows.history)
    if seal is not None and set(seal.sources) != set(rows.sources):
        raise Refused(
            f"the windows of history {rows.history!r} were fixed for sources {_listed(seal.sources)}, and now"
            f" {_listed(rows.sources)} are named; allowed: the same. Name another history, or fix the next windows"
        )
    seal = seal or _seal(settings, splits, clock, rows, None)
    _record(settings, seal, clock)
    return Splits.model_validate_json(seal.splits)


def next_splits(settings: Settings, splits: SplitSettings, clock: Clock, rows: HistoryRows) -> Splits:
    """Fix the windows again, with a sealed window of data that came after the last one, which is given up.

    What was sealed can be calibrated on from then on, so it can never be opened again. DataError says how many days
    are missing.
    """
    earlier = SealBook(seals_place(settings)).of(rows.history)
    if earlier is None:
        raise BadInput(f"history {rows.history!r} has no windows yet, so there are no next ones: fix the first")
    before = Splits.model_validate_json(earlier.splits)
    try:
        seal = _seal(settings, splits, clock, rows, earlier)
    except DataError as problem:
        raise DataError(
            f"{problem} The window until {before.sealed.last_day} stays sealed; a next one as long needs history up to"
            f" {before.next_sealed_last_day()}."
        ) from problem
    _record(settings, seal, clock)
    return Splits.model_validate_json(seal.splits)


def read_window(
    store: EpisodeStore, splits: Splits, name: WindowName, *, as_of: datetime | None = None
) -> LoggedDecisions:
    """The rows of the calibration or validation window, as known at `as_of` (by default when its figures are taken).

    Refused for the sealed window, and for an `as_of` after the moment at which the window's figures are taken.
    """
    window = splits.window(name)
    if name == "sealed":
        raise Refused(
            f"the sealed window {window.fingerprint[:12]} ({window.first_day} to {window.last_day}) is opened by"
            " gaelp.history.sealed_window.open_window alone, under a ticket of the gate; read calibration or validation"
        )
    if as_of is not None and as_of > window.known_at:
        raise Refused(
            f"as_of={as_of.isoformat()} is after {window.known_at.isoformat()}, when the {name} figures are taken: what"
            " was reported later would leak into them. Leave as_of out, or name an earlier moment"
        )
    return window_rows(store, splits, window, as_of=as_of or window.known_at)


def window_rows(
    store: EpisodeStore,
    splits: Splits,
    window: SplitWindow,
    *,
    as_of: datetime | None,
    keep_unreported: bool = False,
) -> LoggedDecisions:
    """The rows of one window, as far as the store gives them; other days and held-out campaigns are left out."""
    rows = RowFilter(since=window.since, until=window.until, sources=splits.sources)
    logged = read_logged(store, rows, as_of=as_of, zone=splits.zone, keep_unreported=keep_unreported)
    return keep_rows(logged, window.contains(logged.campaign_names, logged.campaign, logged.account_day))


def _seal(settings: Settings, splits: SplitSettings, clock: Clock, rows: HistoryRows, earlier: Seal | None) -> Seal:
    """Read everything, without giving it away, and store the windows; another process may be first."""
    with closing(build_store(settings)) as store:
        wanted = RowFilter(sources=rows.sources)
        logged = read_logged(open_sealed(store), wanted, zone=rows.zone, keep_unreported=True)
    if len(logged) == 0:
        raise DataError(
            f"history {rows.history!r} has no decision (sources: {_listed(rows.sources)}); allowed: at least one. Make"
            " some (`gaelp data synthesize`), import a log with bids, or name another source (`gaelp data describe`)."
        )
    after = None if earlier is None else Splits.model_validate_json(earlier.splits).sealed.last_day
    windows = compute_splits(logged, splits, history=rows.history, sources=rows.sources, sealed_after=after)
    seal = Seal(
        history=rows.history,
        number=1 if earlier is None else earlier.number + 1,
        fingerprint=windows.sealed.fingerprint,
        sources=rows.sources,
        campaigns=logged.campaign_names,
        withheld_from=windows.validation.until,
        withheld_day=windows.validation.last_day + _DAY,
        since=windows.sealed.since,
        until=windows.sealed.until,
        held_out_share=splits.held_out_share,
        held_out_key=splits.held_out_key,
        sealed_at=clock.now(),
        splits=windows.model_dump_json(),
    )
    return SealBook(seals_place(settings)).add(seal)


def _record(settings: Settings, seal: Seal, clock: Clock) -> None:
    """Note in the audit log and beside raw files that the window is sealed; a crash is made up for by the next call."""
    if settings.storage.backend == "duckdb":
        mark_sealed(episodes_folder(settings.home))
    check_approvals_kept(settings)
    body = {
        "action_hash": seal.fingerprint,
        "history": seal.history,
        "number": seal.number,
        "since": seal.since.isoformat(),
        "until": seal.until.isoformat(),
    }
    log = AuditLog(open_database(approvals_place(settings)))
    log.append_once(SEALED, body, clock.now(), action_hash=seal.fingerprint)


def _listed(sources: tuple[str, ...]) -> str:
    return ", ".join(sorted(sources)) or "all"
