"""Campaigns for measurements on the exchange: an incumbent's manual bids, simple variants of them, and an oracle."""

from dataclasses import dataclass, replace

import numpy as np

from gaelp.arrays import Floats
from gaelp.money import Micros
from gaelp.sandbox.auctions.product import ProductTraits, stable_number
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.serving import ServedCampaign, ServedGroup
from gaelp.sandbox.topics import TOPICS

__all__ = ["UNLIMITED_MICROS", "Trial", "constant", "incumbent", "new_trial", "oracle", "randomised", "scaled"]

UNLIMITED_MICROS = 10**12  # a daily budget that no campaign of a bench reaches
_BELIEF_LOG_SD = 0.35  # how wrong an advertiser is about the worth of its ad groups
_LOWEST_BID, _HIGHEST_BID = 300_000, 6_000_000
_UNITS_PER_SEARCH = 0.05  # what the incumbent would spend without a budget: 0.75 shown x 0.05 clicked x 1.3 a click
_LEAST_SCARCITY, _MOST_SCARCITY = 1.0, 2.5  # that spending over the budget
_MOBILE, _DESKTOP = 0, 1


@dataclass(frozen=True, slots=True)
class Trial:
    """One campaign on one product: what an advertiser believes, and the truth that only the oracle uses."""

    campaign: ServedCampaign  # the incumbent
    traits: ProductTraits
    budget_micros: Micros  # a day


def new_trial(exchange: Exchange, number: int) -> Trial:
    """A campaign on a product of its own, with one ad group for each topic."""
    product = f"bench.example/{number}"
    traits = exchange.traits(product)
    rng = np.random.default_rng(stable_number(product))
    belief = np.exp(0.5 * np.log(traits.conversion_rate) + _BELIEF_LOG_SD * rng.standard_normal(TOPICS))
    level = exchange.spec.sales.reference_bid_factor * traits.price_micros.mean()
    bids = np.clip(level * belief / belief.mean(), _LOWEST_BID, _HIGHEST_BID)
    searches = traits.searches.sum() * 60 / 7  # a day
    budget = _UNITS_PER_SEARCH * searches / rng.uniform(_LEAST_SCARCITY, _MOST_SCARCITY)
    campaign = ServedCampaign(
        id=number,
        account=exchange.spec.customer_ids[0],
        product=product,
        enabled=True,
        groups=tuple(ServedGroup(number * TOPICS + t, (t,), int(bids[t])) for t in range(TOPICS)),
        overdelivery=exchange.spec.overdelivery.google.limits(),
        daily_micros=int(budget * 100) * 10_000,
    )
    return Trial(campaign, traits, int(budget * 100) * 10_000)


def incumbent(trial: Trial) -> ServedCampaign:
    """Manual bids by ad group, as the advertiser believes their worth."""
    return trial.campaign


def scaled(campaign: ServedCampaign, factor: float) -> ServedCampaign:
    """The same campaign with all bids multiplied."""
    return replace(
        campaign, groups=tuple(replace(group, bid_micros=int(group.bid_micros * factor)) for group in campaign.groups)
    )


def constant(trial: Trial) -> ServedCampaign:
    """One bid for all ad groups."""
    bid = sum(group.bid_micros for group in trial.campaign.groups) // TOPICS
    return replace(trial.campaign, groups=tuple(replace(group, bid_micros=bid) for group in trial.campaign.groups))


def randomised(trial: Trial, seed: int) -> ServedCampaign:
    """A random factor between 1/3 and 3 on the constant bid, for each ad group and hour of the week."""
    rng = np.random.default_rng([seed, trial.campaign.id])
    groups = tuple(
        replace(group, hour_factors=tuple(np.exp(rng.uniform(-np.log(3), np.log(3), 168))))
        for group in constant(trial).groups
    )
    return replace(trial.campaign, groups=groups)


def oracle(trial: Trial) -> ServedCampaign:
    """Bids the true worth of a click, by ad group, device and hour of the week."""
    traits = trial.traits
    worth = traits.sale_micros * traits.conversion_rate  # (T,)
    hours = np.tile(traits.hour_factor, 7)[:, None] * _mean_persona_factor(traits)  # (168, T)
    groups = tuple(
        replace(
            group,
            bid_micros=int(worth[t]),
            device_factors=(float(traits.device_factor[_MOBILE]), float(traits.device_factor[_DESKTOP])),
            hour_factors=tuple(float(factor) for factor in hours[:, t]),
        )
        for t, group in enumerate(trial.campaign.groups)
    )
    return replace(trial.campaign, groups=groups)


def _mean_persona_factor(traits: ProductTraits) -> Floats:
    """(168, T): mean conversion factor of those who search for a topic in an hour."""
    who = np.diff(traits.personas, axis=1, prepend=0)  # (168, P)
    what = np.diff(traits.topics, axis=1, prepend=0)  # (P, T)
    return np.asarray((who * traits.persona_factor) @ what / (who @ what))
