"""What a front asks the exchange to serve: campaigns, ad groups, bids and budgets, whatever API they came through."""

from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from gaelp.money import Micros

__all__ = [
    "DEVICES",
    "BiddingStrategy",
    "ManualBids",
    "MaximizeConversions",
    "OverdeliveryLimits",
    "ServedCampaign",
    "ServedGroup",
    "TargetCpa",
    "TargetRoas",
]

DEVICES = ("mobile", "desktop")  # the order of every array by device


@dataclass(frozen=True, slots=True)
class ManualBids:
    """The bids of the ad groups are used as they are."""


@dataclass(frozen=True, slots=True)
class TargetCpa:
    """Automated bidding: as many conversions as possible at this average cost of one."""

    micros: Micros


@dataclass(frozen=True, slots=True)
class TargetRoas:
    """Automated bidding: as much conversion value as possible at this average value per cost."""

    ratio: float


@dataclass(frozen=True, slots=True)
class MaximizeConversions:
    """Automated bidding: as many conversions as the budget can buy."""


BiddingStrategy: TypeAlias = ManualBids | TargetCpa | TargetRoas | MaximizeConversions


@dataclass(frozen=True, slots=True)
class OverdeliveryLimits:
    """How far the platform may spend beyond a daily budget, in percent of it, on one day and in one period."""

    day_percent: int
    period: Literal["month", "week"]  # a calendar month, or a week from Sunday to Saturday
    period_percent: int


@dataclass(frozen=True, slots=True)
class ServedGroup:
    """An ad group that can serve: it has keywords, and an advert that passed review."""

    id: int
    topics: tuple[int, ...]  # which topics of the product its keywords reach, from 0
    bid_micros: Micros  # per click
    device_factors: tuple[float, ...] = (1.0, 1.0)  # multiply the bid, in the order of DEVICES
    hour_factors: tuple[float, ...] = ()  # multiply the bid in each hour of the week from Monday 0:00; () means 1
    appeal: float = 1.0  # of its adverts; multiplies the click rate


@dataclass(frozen=True, slots=True)
class ServedCampaign:
    """A campaign as the exchange serves it; a campaign that is not enabled is kept, because clicks still arrive.

    `product` names what is sold, normally by the adverts' landing page: the same product has the same buyers and
    rivals whatever campaign sells it. `users_from` and `users_to` restrict a campaign to a share of the users (the arms
    of an experiment): all users with `users_from <= hash < users_to`, both between 0 and 1.
    """

    id: int
    account: str
    product: str
    enabled: bool
    groups: tuple[ServedGroup, ...]
    overdelivery: OverdeliveryLimits
    daily_micros: Micros | None  # one of the two budgets is set
    total_micros: Micros | None = None  # for the whole flight
    first_day: date | None = None  # by the account's clock
    last_day: date | None = None
    strategy: BiddingStrategy = ManualBids()
    users_from: float = 0.0
    users_to: float = 1.0
