"""What a policy would have bid on logged campaigns: driven along the log, hour by hour, by what was known then.

Each hour the policy sees what the logging policy's bids had brought so far, as it had been reported by then, and bids.
Its bid is not carried out: the next hour is again the logged one. A policy that was trained on short flights is driven
in consecutive flights of that length, each begun with a budget of its own.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.market.baselines.bids import Bidder
from gaelp.market.from_reports.bids import click_bids
from gaelp.market.from_reports.driving import Driving, DrivingSpec
from gaelp.market.from_reports.flights import belief_from, flight_hours
from gaelp.market.from_reports.report_model import ReportModel
from gaelp.market.from_reports.reported_hours import LateChanges, ReportedHours
from gaelp.market.view import Brief
from gaelp.types import SegmentBelief

__all__ = ["LogDrivingSpec", "LoggedActions", "LoggedHours", "policy_on_log"]

_DAY_HOURS = 24


class LogDrivingSpec(Frozen):
    """How a policy is driven along a log."""

    driving: DrivingSpec = DrivingSpec()
    carry_belief: bool = Field(
        default=False, description="pass what the flight before showed to the policy as a belief"
    )
    share_delay_hours: int = Field(
        default=12, ge=0, le=168, description="hours after the end of a day until its impression shares are known"
    )


@dataclass(frozen=True, slots=True)
class LoggedHours:
    """T hours of N campaigns with S segments, as they were first reported, and what was known of them later."""

    bid_micros: Ints  # (T, N, S) a click, in force in the hour
    impressions: Ints  # (T, N, S)
    clicks: Ints  # (T, N, S)
    cost_micros: Ints  # (T, N, S)
    conversions: Floats  # (T, N, S) that were part of the first report; later ones are changes
    opportunities: Floats | None = None  # (T, N, S) possible impressions, NaN where unknown
    day_share: Floats | None = None  # (days, N, S) impression share, NaN where unknown; days of 24 hours from hour 0 on
    changes: LateChanges | None = None  # to hours since hour 0 of the log
    changes_known: Ints | None = None  # (n,) hours since hour 0 of the log when each change was known

    def __post_init__(self) -> None:
        shape = self.bid_micros.shape
        for name in ("impressions", "clicks", "cost_micros", "conversions", "opportunities"):
            array = getattr(self, name)
            if array is not None and array.shape != shape:
                raise DataError(f"{name} of the log has shape {array.shape}, the bids have {shape}: fill hours with 0")
        if len(shape) != 3 or not (self.bid_micros > 0).all():
            raise DataError(
                f"logged bids of shape {shape}, lowest {self.bid_micros.min(initial=0)}; allowed: hours x campaigns x"
                " segments, all above 0. Leave out segments without a bid"
            )
        if (self.changes is None) != (self.changes_known is None):
            raise DataError("changes of a log without the hours when they were known, or the reverse: give both")


@dataclass(frozen=True, slots=True)
class LoggedActions:
    """What the policy would have bid instead."""

    action: Floats  # (T, N, S) log of its bid over the reference bid
    clipped: Bools  # (T, N, S) where the policy asked for more or less than the range allows

    @property
    def clipped_share(self) -> float:
        """Share of the bids that the range changed."""
        return float(self.clipped.mean())


def policy_on_log(
    policy: Bidder,
    brief: Brief,
    hours: LoggedHours,
    reference_bid_micros: Floats | Ints,
    *,
    model: ReportModel,
    click_rate: Floats,
    paid_factor: Floats | float = 1.0,
    belief: SegmentBelief | None = None,
    spec: LogDrivingSpec | None = None,
) -> LoggedActions:
    """Log bid factors (T, N, S) within the range of the bid rules.

    `brief` is that of the first flight, its hours the length of all. The reference bid, (N, S) or (T, N, S), is the
    logging policy's usual one: its bid without the random factor. `click_rate` (N, S) is the estimate to begin with.
    `paid_factor` (N, S) is by how much a bid for an impression, in the market's prices as paid, exceeds what the same
    bid for clicks offers. `belief` is what was known of the segments before the log; every flight begins with it.
    """
    given = spec or LogDrivingSpec()
    drive = _LogDrive(Driving(brief, model, (click_rate, paid_factor), given.driving), hours, given)
    total, rules = len(hours.bid_micros), given.driving.bids
    reference = np.broadcast_to(np.asarray(reference_bid_micros, np.float64), hours.bid_micros.shape)
    asked = np.empty(hours.bid_micros.shape)
    clipped = np.zeros(hours.bid_micros.shape, np.bool_)
    for flight in flight_hours(total, int(brief.hours.max())):
        carried = drive.begin(flight)
        policy.begin(drive.driving.brief, carried or belief)
        for hour in flight:
            action = policy.act(drive.driving.observer.observe())
            bids = click_bids(action, drive.driving.bid_scale(), rules, reference[hour])
            asked[hour], clipped[hour] = bids.bid_micros, bids.clipped
            drive.pass_hour(hour)
    most = np.log(rules.reference_factor)
    return LoggedActions(np.clip(np.log(asked / reference), -most, most), clipped)


class _LogDrive:
    """Campaigns driven along a log as it is read, hour by hour."""

    def __init__(self, driving: Driving, hours: LoggedHours, spec: LogDrivingSpec) -> None:
        self.driving, self._hours, self._spec = driving, hours, spec
        self._lag, self._done = driving.brief.report_lag_hours, 0
        self._changes, self._known = _in_order(hours, self._lag)

    def begin(self, flight: range) -> SegmentBelief | None:
        """Begin a flight; returns the belief for it, if one is carried over."""
        before = self.driving.observer
        self.driving.begin(np.arange(before.brief.campaigns), flight.start, len(flight))
        if not flight.start or not self._spec.carry_belief:
            return None
        return belief_from(before.brief, before.observe())

    def pass_hour(self, hour: int) -> None:
        """The logged bids are in force, the hour passes, and what is known by its end is reported."""
        self.driving.bid(self._hours.bid_micros[hour])
        if hour >= self._lag:
            self._report(hour - self._lag)
        self._revise(hour + 1)
        self._report_share(hour + 1)

    def _report(self, hour: int) -> None:
        log = self._hours
        self.driving.report(
            ReportedHours(
                hour=np.full(log.clicks.shape[1], hour),
                impressions=log.impressions[hour],
                clicks=log.clicks[hour],
                conversions=log.conversions[hour],
                cost_micros=log.cost_micros[hour],
                opportunities=None if log.opportunities is None else log.opportunities[hour],
            )
        )

    def _revise(self, now: int) -> None:
        known = int(np.searchsorted(self._known, now, side="right"))
        self.driving.revise(self._changes.some(np.arange(self._done, known)))
        self._done = known

    def _report_share(self, now: int) -> None:
        shares = self._hours.day_share
        day, rest = divmod(now - self._spec.share_delay_hours, _DAY_HOURS)
        if shares is None or rest or not 0 < day <= len(shares):
            return
        first, last = (day - 1) * _DAY_HOURS, day * _DAY_HOURS
        shown = self._hours.impressions[first:last].sum(axis=0)
        self.driving.report_share(first, last, shown, shares[day - 1])


def _in_order(hours: LoggedHours, lag: int) -> tuple[LateChanges, Ints]:
    """Changes in the order in which they were known, none before the first report of its hour, and when that was."""
    if hours.changes is None or hours.changes_known is None:
        return LateChanges.none(), np.zeros(0, np.int64)
    known = np.maximum(hours.changes_known, hours.changes.hour + 1 + lag)
    order = np.argsort(known, kind="stable")
    return hours.changes.some(order), known[order]
