"""The three windows of a history: exact bounds, what is in them, and which rows belong to one."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Literal

import numpy as np
from pydantic import Field

from gaelp.arrays import Bools, Ints
from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.config.split_settings import SplitSettings
from gaelp.errors import DataError
from gaelp.history.logged_campaigns import LoggedDecisions, keep_rows
from gaelp.storage.held_out import is_held_out

__all__ = ["SplitWindow", "Splits", "WindowName", "compute_splits", "row_fingerprint"]

WindowName = Literal["calibration", "validation", "sealed"]
_WHOLE_DAY_HOURS = 23  # on the day when clocks go forward
_HOUR_US = 3_600_000_000


class SplitWindow(Frozen):
    """One window: whole days of the account's clock, and the rows that were in it when it was fixed."""

    name: WindowName
    first_day: date
    last_day: date
    since: Instant  # when its first hour begins
    until: Instant  # when its last hour ends
    known_at: Instant = Field(description="its figures are taken as they were known then")
    rows: int
    campaigns: int
    campaign_days: int
    fingerprint: str = Field(description="of campaign, segment, hour and bid of its rows, whatever source stored them")
    held_out_share: float
    held_out_key: str

    @property
    def days(self) -> int:
        """How many days it has."""
        return (self.last_day - self.first_day).days + 1

    def contains(self, campaign_names: Sequence[str], campaign: Ints, account_day: Ints) -> Bools:
        """Whether rows belong to it, shape (R,): by day, and without held-out campaigns unless it is the sealed one."""
        bounds = self.first_day.toordinal(), self.last_day.toordinal()
        is_out = _held_out(campaign_names, self.held_out_key, self.held_out_share)
        return _inside(self.name, bounds, is_out[campaign], account_day)


class Splits(Frozen):
    """The windows of one history, fixed once: later data do not move them."""

    history: str = Field(description="the name of the history")
    sources: tuple[str, ...] = Field(description="the runs or imports that it is of; empty: all of the store")
    settings: SplitSettings
    account_clock: str
    calibration: SplitWindow
    validation: SplitWindow
    sealed: SplitWindow

    @property
    def windows(self) -> tuple[SplitWindow, SplitWindow, SplitWindow]:
        """In the order of time."""
        return self.calibration, self.validation, self.sealed

    @property
    def zone(self) -> str | None:
        """The zone of the account's clock; None where its hour reports tell the days."""
        return None if self.account_clock == "reports" else self.account_clock

    def window(self, name: WindowName) -> SplitWindow:
        """The window of this name."""
        return {window.name: window for window in self.windows}[name]

    def next_sealed_last_day(self) -> date:
        """The last day of data that the next sealed window needs, if it is as long as this one."""
        return date.fromordinal(self.sealed.last_day.toordinal() + self.settings.gap_days + self.sealed.days)


def compute_splits(
    logged: LoggedDecisions,
    settings: SplitSettings,
    *,
    history: str,
    sources: tuple[str, ...] = (),
    sealed_after: date | None = None,
) -> Splits:
    """Split the whole days of a log by the shares; after `sealed_after` is what no earlier sealed window had."""
    first, last = _whole_days(logged)
    calibration, validation, sealed = _bounds(first, last, settings, sealed_after)
    sealed_window = _window(logged, settings, "sealed", sealed)
    validation_window = _window(logged, settings, "validation", validation, known_at=sealed_window.until)
    calibration_window = _window(logged, settings, "calibration", calibration, known_at=validation_window.since)
    for earlier, later in ((calibration_window, validation_window), (validation_window, sealed_window)):
        if earlier.until > later.since:
            raise DataError(
                f"{earlier.name} ends at {earlier.until.isoformat()}, after {later.name} begins: the accounts' clocks"
                " differ; allowed: no hour in two windows. Set gap_days to 1 or more, or split by account."
            )
    return Splits(
        history=history,
        sources=sources,
        settings=settings,
        account_clock=logged.facts.account_clock,
        calibration=calibration_window,
        validation=validation_window,
        sealed=sealed_window,
    )


def row_fingerprint(logged: LoggedDecisions) -> str:
    """SHA-256 (hex) over campaign, segment, hour and bid of all rows; order and source do not count."""
    campaigns, campaign = np.unique(logged.campaign, return_inverse=True)
    segments, segment = np.unique(logged.segment, return_inverse=True)
    hour = logged.hour_start.astype(np.int64)
    order = np.lexsort((logged.bid_micros, segment, hour, campaign))
    names = [[logged.campaign_names[place] for place in campaigns], [logged.segment_names[place] for place in segments]]
    digest = hashlib.sha256(json.dumps(names, ensure_ascii=True).encode())
    for column in (campaign.reshape(-1), hour, segment.reshape(-1), logged.bid_micros):
        digest.update(np.ascontiguousarray(column[order], "<i8").tobytes())
    return digest.hexdigest()


def _whole_days(logged: LoggedDecisions) -> tuple[int, int]:
    """First and last account day with all their hours, as ordinals; a part of a day at either end is left out."""
    hours = np.unique(np.stack([logged.account_day, logged.hour_start.astype(np.int64)]), axis=1)
    days, count = np.unique(hours[0], return_counts=True)
    whole = days[count >= _WHOLE_DAY_HOURS]
    if len(whole) == 0:
        raise DataError(
            f"the history has no whole day ({len(days)} in part); allowed: at least one. Import or synthesize more."
        )
    return int(whole[0]), int(whole[-1])


def _bounds(first: int, last: int, settings: SplitSettings, sealed_after: date | None) -> tuple[tuple[int, int], ...]:
    """First and last day of each window, as ordinals."""
    days = last - first + 1
    calibration = round(days * settings.calibration_share)
    validation = round(days * settings.validation_share)
    sealed_first = first + calibration + validation
    if sealed_after is not None:  # the days before keep the proportion of their shares
        sealed_first = max(sealed_first, sealed_after.toordinal() + 1 + settings.gap_days)
        earlier = sealed_first - first
        share = settings.calibration_share / (settings.calibration_share + settings.validation_share)
        calibration, validation = round(earlier * share), earlier - round(earlier * share)
    validation_first = first + calibration
    bounds = (
        (first, validation_first - 1 - settings.gap_days),
        (validation_first, sealed_first - 1 - settings.gap_days),
        (sealed_first, last),
    )
    least = (settings.calibration_days_min, settings.validation_days_min, settings.sealed_days_min)
    names: tuple[WindowName, ...] = ("calibration", "validation", "sealed")
    for (start, end), minimum, name in zip(bounds, least, names, strict=True):
        if end - start + 1 < minimum:
            raise DataError(
                f"{days} whole days of history leave {max(end - start + 1, 0)} for the {name} window, after a gap of"
                f" {settings.gap_days}; allowed: at least {minimum}. Wait for more history, or change the shares."
            )
    return bounds


def _window(
    logged: LoggedDecisions,
    settings: SplitSettings,
    name: WindowName,
    bounds: tuple[int, int],
    known_at: datetime | None = None,
) -> SplitWindow:
    is_out = _held_out(logged.campaign_names, settings.held_out_key, settings.held_out_share)
    part = keep_rows(logged, _inside(name, bounds, is_out[logged.campaign], logged.account_day))
    first_day, last_day = map(date.fromordinal, bounds)
    if len(part) == 0:
        raise DataError(
            f"the {name} window ({first_day} to {last_day}) has no decision; allowed: at least one. Lower"
            " held_out_share, or import more campaigns."
        )
    hours = part.hour_start.astype(np.int64)
    until = _instant(int(hours.max()) + _HOUR_US)
    return SplitWindow(
        name=name,
        first_day=first_day,
        last_day=last_day,
        since=_instant(int(hours.min())),
        until=until,
        known_at=known_at or until,
        rows=len(part),
        campaigns=len(np.unique(part.campaign)),
        campaign_days=int(part.campaign_day.max()) + 1,
        fingerprint=row_fingerprint(part),
        held_out_share=settings.held_out_share,
        held_out_key=settings.held_out_key,
    )


def _held_out(campaign_names: Sequence[str], key: str, share: float) -> Bools:
    """By campaign; one more place, so that an empty list of names can be indexed by no row."""
    return np.array([*(is_held_out(name, key=key, share=share) for name in campaign_names), False], bool)


def _inside(name: WindowName, bounds: tuple[int, int], is_held_out_row: Bools, account_day: Ints) -> Bools:
    by_day = (account_day >= bounds[0]) & (account_day <= bounds[1])
    return by_day if name == "sealed" else by_day & ~is_held_out_row


def _instant(micros: int) -> datetime:
    return datetime.fromtimestamp(micros // 1_000_000, UTC)
