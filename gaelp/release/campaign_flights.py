"""Which campaigns succeed: stretches that are long enough to be judged, each by its return and by its control.

A *flight* is a stretch of one campaign in which the treatment spent a fixed amount, so that sales luck does not move
its ends. It succeeds if

- the treatment returned more than it spent on the whole campaign, over all its days;
- the flight itself is not shown to have lost money;
- the flight is not shown to earn less for a dollar than the control on the days beside.

A campaign whose treatment never spent the amount has no flight; what is left over joins its last one.

The rate is about the campaigns of the release and not about others: for given campaigns, however they differ, Wilson's
bound is cautious. Whether others would do as well is what the transfer to other products measures.
"""

from typing import NamedTuple

import numpy as np
from pydantic import PositiveInt
from scipy.stats import binomtest

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.release.assignment import BLOCK_DAYS
from gaelp.release.pairs import Pairs, ReleaseDays

__all__ = ["FLIGHT_CONVERSIONS", "FlightRules", "Flights", "SuccessRate", "cut_flights", "success_rate"]

FLIGHT_CONVERSIONS = 25  # expected in a flight, about a fortnight of a small campaign
_Z = 1.959964
_SHOWN_FROM = 10  # days or pairs; with fewer nothing is shown


class FlightRules(Frozen):
    """How long a flight is; fixed before the release begins."""

    spend_micros: PositiveInt


class Flights(NamedTuple):
    """F flights, by campaign and then by time."""

    campaign: Ints  # (F,) column of the arrays
    returned: Bools  # (F,) whether the whole campaign returned more than it cost under the treatment
    lost: Bools  # (F,) shown to have lost money
    worse: Bools  # (F,) shown to earn less for a dollar than the control

    @property
    def succeeded(self) -> Bools:
        """Which of them reached their goal, (F,)."""
        return np.asarray(self.returned & ~self.lost & ~self.worse)


class SuccessRate(Frozen):
    """The share of flights that succeeded, with its 95% bounds; none where there is no flight."""

    value: float | None
    lower_95: float | None
    upper_95: float | None
    flights: int
    campaigns: int  # that have a flight
    failed: tuple[int, ...] = ()  # columns of the campaigns with a flight that failed


def cut_flights(days: ReleaseDays, pairs: Pairs, rules: FlightRules) -> Flights:
    """Return the flights of a release; `pairs` are those of the same days."""
    number = _flight_of_days(days, rules)
    most, campaigns = int(number.max(initial=-1)) + 1, number.shape[1]
    key = np.arange(campaigns) * most + number  # of campaign and flight
    own = days.treated & (number >= 0)
    used = np.unique(key[own])
    gain = days.final_value() - days.spend_micros
    begun = pairs.block * BLOCK_DAYS, pairs.campaign
    paired = number[begun] >= 0
    return Flights(
        campaign=used // max(most, 1),
        returned=(np.where(days.treated, gain, 0.0).sum(axis=0) > 0)[used // max(most, 1)],
        lost=_negative(gain[own], key[own], campaigns * most)[used],
        worse=_negative((pairs.treatment - pairs.control)[paired], key[begun][paired], campaigns * most)[used],
    )


def success_rate(flights: Flights) -> SuccessRate:
    """Return the share of flights that succeeded, with Wilson's bounds."""
    count, won = len(flights.campaign), flights.succeeded
    if not count:
        return SuccessRate(value=None, lower_95=None, upper_95=None, flights=0, campaigns=0)
    share = float(won.mean())
    bounds = binomtest(int(won.sum()), count).proportion_ci(0.95, "wilson")
    return SuccessRate(
        value=share,
        lower_95=float(bounds.low),
        upper_95=float(bounds.high),
        flights=count,
        campaigns=len(np.unique(flights.campaign)),
        failed=tuple(np.unique(flights.campaign[~won]).tolist()),
    )


def _flight_of_days(days: ReleaseDays, rules: FlightRules) -> Ints:
    """Return the number of the flight that each day is in, (D, N); -1 where the campaign has none.

    A flight ends with the day on which the treatment has spent the amount.
    """
    spent = np.cumsum(np.where(days.treated, days.spend_micros, 0), axis=0)
    before = np.vstack([np.zeros((1, spent.shape[1]), np.int64), spent])[:-1]
    full = spent[-1] // rules.spend_micros if len(spent) else np.zeros(spent.shape[1], np.int64)
    return np.asarray(np.where(full > 0, np.minimum(before // rules.spend_micros, full - 1), -1), np.int64)


def _negative(gain: Floats, place: Ints, places: int) -> Bools:
    """Return at which places the gains are shown to be negative, (places,).

    Their sum is compared with the root of their squares, which heavy tails make larger as well.
    """
    ones = np.ones(len(gain))
    count, total, squares = (np.bincount(place, weights=each, minlength=places) for each in (ones, gain, gain**2))
    return np.asarray((count >= _SHOWN_FROM) & (total < -_Z * np.sqrt(squares)))
