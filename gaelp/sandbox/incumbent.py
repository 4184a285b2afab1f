"""The incumbent of a synthesized history: a manual bid for each ad group, times a random factor of known density."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.money import Micros
from gaelp.sandbox.serving import ServedCampaign, ServedGroup
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.topics import TOPICS, keywords_for

__all__ = [
    "POLICY",
    "IncumbentCampaign",
    "SynthesisSpec",
    "action_density",
    "draw_actions",
    "history_tag",
    "incumbent_campaigns",
    "incumbent_products",
]

POLICY = "manual-bids"
_VIEW_LOG_SD = 0.2  # how far an advertiser's bids are from what the price level suggests
_BUDGET_LOW, _BUDGET_HIGH = 20_000_000, 250_000_000  # a day: the lowest hold a campaign back, the highest never do
_UNIT_MICROS = 10_000  # bids and budgets are whole cents
_LOWEST_BID_MICROS = 10_000
_CAMPAIGN_STREAM, _ACTION_STREAM = 1, 2
_WEEK_HOURS = 168
_HALF_MICRO = 0.5  # factors of bids are cut to whole micros: this keeps rounding from taking one away


class SynthesisSpec(Frozen):
    """How much history there is, and how much its bids vary."""

    weeks: PositiveInt = Field(default=6, le=104)
    campaigns: PositiveInt = Field(default=12, le=200)
    seed: int = Field(default=1, ge=0, le=2**62, description="of bids and budgets; the world has its own")
    bid_log_sd: float = Field(
        default=0.4, gt=0, le=1.5, description="of the random factor: less leaves no support, more costs value"
    )
    point_weeks: tuple[PositiveInt, ...] = Field(
        default=(), description="weeks after which the bid simulator is asked; empty: after the last"
    )


@dataclass(frozen=True, slots=True)
class IncumbentCampaign:
    """A campaign with its usual bids; segments are its ad groups, one for each topic of the product."""

    name: str
    served: ServedCampaign
    segments: tuple[str, ...]

    def bids_micros(self, actions: Floats) -> Ints:
        """The usual bids times exp(action), in whole cents; actions of shape (..., groups)."""
        usual = np.array([group.bid_micros for group in self.served.groups], float)
        cents = np.rint(usual * np.exp(actions) / _UNIT_MICROS)
        return np.maximum(cents.astype(np.int64) * _UNIT_MICROS, _LOWEST_BID_MICROS)

    def with_actions(self, actions: Floats) -> ServedCampaign:
        """The campaign with each bid multiplied by exp(action), actions of shape (groups,)."""
        bids = self.bids_micros(actions).tolist()
        groups = [replace(group, bid_micros=bid) for group, bid in zip(self.served.groups, bids, strict=True)]
        return replace(self.served, groups=tuple(groups))

    def with_schedule(self, bids_micros: Ints, hours_of_week: Ints) -> ServedCampaign:
        """The campaign with a bid for each of some hours of the week from Monday 0:00 on; bids of shape (H, groups)."""
        groups = []
        for group, bids in zip(self.served.groups, bids_micros.T, strict=True):
            highest = int(bids.max())
            factors = np.ones(_WEEK_HOURS)
            factors[hours_of_week] = (bids + _HALF_MICRO) / highest
            groups.append(replace(group, bid_micros=highest, hour_factors=tuple(factors.tolist())))
        return replace(self.served, groups=tuple(groups))


def history_tag(spec: SynthesisSpec, world: SandboxSpec) -> str:
    """Eight digits that tell histories apart; the same specs have the same."""
    return fingerprint(spec)[:4] + fingerprint(world)[:4]


def incumbent_campaigns(
    spec: SynthesisSpec, world: SandboxSpec, price_levels: Callable[[str], Sequence[Micros]]
) -> tuple[IncumbentCampaign, ...]:
    """Campaigns that bid what advertisers bid over the platform's price estimate of a topic, give or take a fifth."""
    return tuple(_campaign(spec, number, world, price_levels) for number in range(spec.campaigns))


def incumbent_products(spec: SynthesisSpec, world: SandboxSpec) -> dict[str, str]:
    """What each campaign of the history sells, by the campaign's name."""
    return {_name(spec, number, world): _product(number) for number in range(spec.campaigns)}


def draw_actions(spec: SynthesisSpec, campaign: int, hour: int, groups: int) -> Floats:
    """Logs of the factors of one campaign's bids in one hour, shape (groups,); they depend on nothing else."""
    rng = np.random.default_rng([spec.seed, _ACTION_STREAM, campaign, hour])
    return spec.bid_log_sd * rng.standard_normal(groups)


def action_density(spec: SynthesisSpec, action: float) -> float:
    """Density of an action under the incumbent: normal around 0."""
    return math.exp(-0.5 * (action / spec.bid_log_sd) ** 2) / (spec.bid_log_sd * math.sqrt(2 * math.pi))


def _campaign(
    spec: SynthesisSpec, number: int, world: SandboxSpec, price_levels: Callable[[str], Sequence[Micros]]
) -> IncumbentCampaign:
    rng = np.random.default_rng([spec.seed, _CAMPAIGN_STREAM, number])
    product = _product(number)
    view = np.exp(_VIEW_LOG_SD * rng.standard_normal(TOPICS))
    budget = math.exp(rng.uniform(math.log(_BUDGET_LOW), math.log(_BUDGET_HIGH)))
    levels = np.array(price_levels(product), float)
    bids = [_whole_cents(bid) for bid in world.sales.reference_bid_factor * levels * view]
    groups = tuple(
        ServedGroup(id=1000 * (number + 1) + topic, topics=(topic,), bid_micros=bid) for topic, bid in enumerate(bids)
    )
    served = ServedCampaign(
        id=number + 1,
        account=world.customer_ids[0],
        product=product,
        enabled=True,
        groups=groups,
        overdelivery=world.overdelivery.google.limits(),
        daily_micros=_whole_cents(budget),
    )
    segments = tuple(keywords_for(topic, 1)[0] for topic in range(TOPICS))
    return IncumbentCampaign(_name(spec, number, world), served, segments)


def _name(spec: SynthesisSpec, number: int, world: SandboxSpec) -> str:
    return f"shop-{number + 1:02d}-{history_tag(spec, world)}"


def _product(number: int) -> str:
    return f"shop-{number + 1:02d}.example/offers"


def _whole_cents(micros: float) -> Micros:
    return max(round(micros / _UNIT_MICROS) * _UNIT_MICROS, _LOWEST_BID_MICROS)
