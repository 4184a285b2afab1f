"""How much of the final value of clicks is known at an age: conversions still pending, and refunds still to come."""

from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pydantic import Field

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.config.field_types import Share
from gaelp.market.calibration.delay import DelayFit, fit_reported_delay, matured_share
from gaelp.market.calibration.fitted import Fitted
from gaelp.market.spec import DelaySpec

__all__ = ["KnownShare", "LateValue", "Refunds", "fit_refunds", "late_value"]

_DAY_HOURS = 24
_Z = 1.959964
_UNSEEN = 3.0  # refunds that may exist, with a chance of 5%, where none was seen
_UNKNOWN_FACTOR = 2.0  # how much longer a delay may be that was assumed instead of measured
_REFUND_DELAY = DelaySpec(mean_hours=240.0, window_hours=720)  # where too few refunds were seen to measure it


class KnownShare(NamedTuple):
    """Value known so far over the final value, (D,) each; above 1 where refunds are still to come."""

    value: Floats
    low: Floats
    high: Floats


class Refunds(Frozen):
    """Sales that buyers return: their share of the value, and how long after the sale the advertiser learns of it."""

    share: Share
    share_low: Share
    share_high: Share
    delay: DelaySpec


class LateValue(Frozen):
    """What a calibration says about value that is not known yet; 95% intervals. Without refunds, none are expected."""

    delay: DelaySpec
    shortest: DelaySpec = Field(description="the delay at the end of its interval that leaves least to come")
    longest: DelaySpec
    refunds: Refunds | None = None

    def known(self, days: tuple[date, ...], as_of: datetime, time_zone: str) -> KnownShare:
        """Of the clicks of each day of the account, as known at `as_of`."""
        ages = np.stack([_ages(day, as_of, ZoneInfo(time_zone)) for day in days])
        refunded = _refunded_shares(self.refunds)
        ends = zip((self.delay, self.longest, self.shortest), refunded, strict=True)
        return KnownShare(*(_known(delay, self.refunds, share, ages).mean(axis=1) for delay, share in ends))


def late_value(fit: DelayFit, refunds: Refunds | None = None) -> LateValue:
    """From the delay of a calibration; a delay that was not measured may be 0 or twice as long."""
    shortest, longest = fit.used, fit.used
    if isinstance(fit.mean_hours, Fitted) and isinstance(fit.immediate_share, Fitted):
        shortest = _changed(fit.used, fit.mean_hours.interval_low, fit.immediate_share.interval_high)
        longest = _changed(fit.used, fit.mean_hours.interval_high, fit.immediate_share.interval_low)
    elif isinstance(fit.mean_hours, Fitted):
        shortest = _changed(fit.used, fit.mean_hours.interval_low, fit.used.immediate_share)
        longest = _changed(fit.used, fit.mean_hours.interval_high, fit.used.immediate_share)
    else:
        shortest = _changed(fit.used, 0.0, fit.used.immediate_share)
        longest = _changed(fit.used, _UNKNOWN_FACTOR * fit.used.mean_hours, fit.used.immediate_share)
    return LateValue(delay=fit.used, shortest=shortest, longest=longest, refunds=refunds)


def fit_refunds(conversions: pa.Table, as_of: datetime) -> Refunds | None:
    """From a stored sales feed, in which a refund is a later revision of a lower value; None without any sale.

    Sales count for as long as they are old: many of the newest will be returned later.
    """
    frame = conversions.select(["conversion", "revision", "reported_at", "value_micros"]).to_pandas()
    frame = frame[frame["reported_at"] <= as_of].sort_values(["conversion", "revision"])
    if frame.empty:
        return None
    first = frame.groupby("conversion").first()
    last = frame.groupby("conversion").last()
    age = ((as_of - first["reported_at"]).dt.total_seconds() / 3600).to_numpy(float)
    wait = ((last["reported_at"] - first["reported_at"]).dt.total_seconds() / 3600).to_numpy(float)
    value, lost = first["value_micros"].to_numpy(float), (first["value_micros"] - last["value_micros"]).to_numpy(float)
    returned = lost > 0
    fit = fit_reported_delay(
        wait[returned], age[returned], np.ones(int((~returned).sum())), age[~returned], _REFUND_DELAY
    )
    watched = max(float(value @ matured_share(fit.used, age)), 1.0)
    count = int(returned.sum())
    share = min(float(lost[returned].sum()) / watched, 1.0)
    if not count:
        return Refunds(share=0.0, share_low=0.0, share_high=min(_UNSEEN / len(value), 1.0), delay=fit.used)
    reach = float(np.exp(_Z / np.sqrt(count)))
    return Refunds(share=share, share_low=share / reach, share_high=min(share * reach, 1.0), delay=fit.used)


def _changed(delay: DelaySpec, mean_hours: float, immediate_share: float) -> DelaySpec:
    return delay.model_copy(
        update={"mean_hours": min(mean_hours, 2160.0), "immediate_share": min(max(immediate_share, 0.0), 1.0)}
    )


def _ages(day: date, as_of: datetime, zone: ZoneInfo) -> Floats:
    """Of clicks in the middle of each hour of a day, (24,) hours; 0 for what has not happened yet."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    hours = (as_of - midnight) / timedelta(hours=1)
    return np.asarray(np.maximum(hours - np.arange(_DAY_HOURS) - 0.5, 0.0), np.float64)


def _refunded_shares(refunds: Refunds | None) -> tuple[float, float, float]:
    """Share of the value that is returned in the end: as estimated, where the known share is lowest, where highest."""
    return (0.0, 0.0, 0.0) if refunds is None else (refunds.share, refunds.share_low, refunds.share_high)


def _known(delay: DelaySpec, refunds: Refunds | None, share: float, age_hours: Floats) -> Floats:
    """Expected value known at an age over the final one; a refund is counted from the click on."""
    reported = matured_share(delay, age_hours) / matured_share(delay, np.array(float(delay.window_hours)))
    if refunds is None or share <= 0:
        return np.asarray(reported)
    returned = share * matured_share(refunds.delay, age_hours) / matured_share(refunds.delay, np.array(720.0))
    return np.asarray(reported * (1 - returned) / max(1 - share, 1e-9))
