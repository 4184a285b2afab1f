"""Which days have most of their conversions by now, and which share of them is still to come.

Conversions are reported days after the click, so the newest days always look worse than they are. Only conversions that
were reported can be seen, and of a click two days old only delays up to two days: delays are truncated on the right.
Their distribution is estimated by the product-limit estimator for truncated data (Lynden-Bell 1971, "A method of
allowing for known observational selection in small samples applied to 3CR quasars"; Lagakos, Barraj and De Gruttola
1988, "Nonparametric analysis of truncated survival data, with application to AIDS"), which assumes no form of it.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.errors import BadInput
from gaelp.history.logged_campaigns import LoggedDecisions

__all__ = ["CONVERSIONS_MIN", "DelayCurve", "Maturity", "comparable_days", "delay_curve"]

CONVERSIONS_MIN = 20  # at risk behind each step of the curve, and in all
_HOUR_US = 3_600_000_000
_DAY_HOURS = 24.0


@dataclass(frozen=True, slots=True)
class DelayCurve:
    """Share of conversions reported by an age, of those that are reported within `horizon_hours` of the click."""

    hours: Floats  # (k,) distinct delays, ascending
    share: Floats  # (k,) reported by that delay; the last is 1
    horizon_hours: float  # the log cannot say what comes later than this
    observations: int

    def at(self, age_hours: Floats) -> Floats:
        """The share reported by each age."""
        place = np.searchsorted(self.hours, age_hours, side="right")
        return np.append(0.0, self.share)[place]


@dataclass(frozen=True, slots=True)
class Maturity:
    """The D days of a log: those at least `mature_days` old are comparable with each other and with later ones."""

    mature_days: int
    as_of: datetime
    day: Ints  # (D,) ordinals of account days, ascending
    age_days: Floats  # (D,) from the end of the day's last hour
    is_mature: Bools  # (D,)
    clicks: Ints  # (D,)
    reported_share: Floats  # (D,) of the conversions of the day's clicks, by now; NaN where it cannot be estimated
    missing_share: float  # of the conversions of all clicks; NaN where it cannot be estimated
    missing_share_of_mature: float
    statement: str


def delay_curve(delay_hours: Floats, age_hours: Floats) -> DelayCurve | None:
    """Estimate from conversions (n,) with the age of their click now (n,); None if they are too few."""
    possible = np.sort(age_hours)
    if len(possible) < CONVERSIONS_MIN:
        return None
    horizon = float(possible[-CONVERSIONS_MIN])  # so many clicks with a conversion are at least this old
    hours, tied = np.unique(delay_hours[(delay_hours <= horizon) & (delay_hours <= age_hours)], return_counts=True)
    if len(hours) == 0:
        return None
    delays = np.sort(delay_hours)
    at_risk = np.searchsorted(delays, hours, side="right") - np.searchsorted(possible, hours, side="left")
    remains = 1.0 - tied / np.maximum(at_risk, tied)  # the chance of a shorter delay, given one up to this
    share = np.append(np.cumprod(remains[::-1])[::-1][1:], 1.0)
    return DelayCurve(hours, share, horizon, int(tied.sum()))


def comparable_days(logged: LoggedDecisions, *, mature_days: int = 7, as_of: datetime | None = None) -> Maturity:
    """Split the days of a log by age at `as_of`, by default when its figures were known, and say what is missing."""
    known_at = as_of or logged.as_of or logged.facts.newest_report
    if known_at is None:
        raise BadInput("the log has no report and no `as_of`: say when its figures were known, e.g. as_of=clock.now()")
    now_hours = known_at.timestamp() / 3600
    start_hours = logged.hour_start.astype(np.int64) / _HOUR_US
    curve = delay_curve(logged.delay_hours, now_hours - logged.delay_click_hours)
    day, place = np.unique(logged.account_day, return_inverse=True)
    place = place.reshape(-1)
    end_hours = np.full(len(day), -np.inf)
    np.maximum.at(end_hours, place, start_hours + 1)
    age_days = (now_hours - end_hours) / _DAY_HOURS
    clicks = np.bincount(place, logged.clicks, len(day)).astype(np.float64)
    reported = np.full(len(logged), np.nan) if curve is None else curve.at(now_hours - start_hours - 0.5)
    expected = np.bincount(place, logged.clicks * reported, len(day)).astype(np.float64)
    is_mature = age_days >= mature_days
    missing, of_mature = _missing(expected, clicks), _missing(expected[is_mature], clicks[is_mature])
    return Maturity(
        mature_days=mature_days,
        as_of=known_at,
        day=day.astype(np.int64),
        age_days=age_days,
        is_mature=is_mature,
        clicks=clicks.astype(np.int64),
        reported_share=np.divide(expected, clicks, out=np.full(len(day), np.nan), where=clicks > 0),
        missing_share=missing,
        missing_share_of_mature=of_mature,
        statement=_statement(int(is_mature.sum()), len(day), mature_days, missing, of_mature, curve),
    )


def _missing(expected: Floats, clicks: Floats) -> float:
    return float(1 - expected.sum() / clicks.sum()) if clicks.sum() else float("nan")


def _statement(
    mature: int, days: int, mature_days: int, missing: float, of_mature: float, curve: DelayCurve | None
) -> str:
    head = f"{mature} of {days} days are at least {mature_days} days old"
    if curve is None:
        return f"{head}; fewer than {CONVERSIONS_MIN} conversions have a known delay, so what is missing is unknown"
    tail = "" if np.isnan(of_mature) else f", {of_mature:.0%} of those of the older days"
    return (
        f"{head}; about {missing:.0%} of the conversions of all days are still to be reported{tail}, estimated from"
        f" {curve.observations} delays up to {curve.horizon_hours / _DAY_HOURS:.0f} days; the log cannot say what"
        " comes later than that"
    )
