"""What a product is like, drawn from the world's seed and its name: its buyers, rivals, click and conversion rates."""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from gaelp.arrays import Floats, Ints
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.topics import TOPICS

__all__ = ["ProductTraits", "draw_product", "stable_number"]

_WEEK_HOURS, _DAY_HOURS, _DAYPART_HOURS = 168, 24, 4
_CELLS = 1024  # of a quantile table: a random word's lowest ten bits choose one
_QUANTILES = ndtri((np.arange(_CELLS) + 0.5) / _CELLS)


class ProductTraits(NamedTuple):
    """Everything that does not change while a product is sold; T topics, P personas, R rivals, K slots."""

    key: np.uint64  # of all random numbers of the product
    searches: Floats  # (168,) mean per tick, by hour of the week from Monday 0:00
    personas: Floats  # (168, P) cumulative shares of who searches
    topics: Floats  # (P, T) cumulative shares of what they search for
    mobile: Floats  # (P,) share on mobile
    click_rate: Floats  # (T,) in the first slot
    quality: Floats  # (T,) of the product's adverts; bid x quality is the ad rank
    conversion_rate: Floats  # (T,)
    device_factor: Floats  # (2,) of the conversion rate
    hour_factor: Floats  # (24,) likewise
    persona_factor: Floats  # (P,) likewise
    sale_micros: Floats  # (T,) mean value of a sale
    sale_noise: Floats  # (1024,) quantiles of one sale's value relative to that
    price_micros: Floats  # (T,) typical bid of a rival of quality 1
    rival_rank: Floats  # (R, T) typical bid x quality
    rival_quality: Floats  # (R, T)
    rival_presence: Floats  # (R, T) share of auctions entered
    rival_hours: Floats  # (R, 24) factor of the presence
    rival_budget: Ints  # (R,) micros a day
    rival_noise: Floats  # (1024,) quantiles of one auction's bid relative to the typical one
    slots: Floats  # (K,) click rate by place, relative to the first


def stable_number(text: str) -> int:
    """A positive number below 2^63 that always belongs to this text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def draw_product(spec: SandboxSpec, product: str) -> ProductTraits:
    """Draw a product; rivals' budgets and the value of a sale are still those that `product_traits` replaces."""
    number = stable_number(f"{spec.seed}/{product}")
    rng = np.random.default_rng(number)
    activity = _activity(spec)  # (168, P)
    personas = len(spec.personas)
    topics = _spread(rng, spec.searches.persona_topic_log_sd, personas, TOPICS) * _spread(
        rng, spec.searches.topic_log_sd, TOPICS
    )
    volume = spec.searches.per_hour * float(_spread(rng, spec.searches.product_log_sd, 1)[0])
    response = spec.response
    click_rate = np.clip(response.click_rate * _spread(rng, response.click_log_sd, TOPICS), 0.002, 0.5)
    worth = response.conversion_log_sd * rng.standard_normal(TOPICS)  # log of relative conversion rates
    price = _prices(spec, rng, worth)
    return ProductTraits(
        key=np.uint64(number),
        searches=volume / 60 * activity.sum(1) / activity.sum(1).mean(),
        personas=np.cumsum(activity / activity.sum(1, keepdims=True), 1),
        topics=np.cumsum(topics / topics.sum(1, keepdims=True), 1),
        mobile=np.array([persona.mobile_share for persona in spec.personas]),
        click_rate=click_rate,
        quality=np.sqrt(click_rate / response.click_rate),
        conversion_rate=np.clip(response.conversion_rate * np.exp(worth), 0.001, 0.5),
        device_factor=np.array(response.device_conversion_factors) * _spread(rng, response.device_log_sd, 2),
        hour_factor=np.repeat(
            np.array(response.daypart_conversion_factors) * _spread(rng, response.daypart_log_sd, 6), _DAYPART_HOURS
        ),
        persona_factor=np.array([persona.conversion_factor for persona in spec.personas]),
        sale_micros=1e6 * _spread(rng, spec.sales.topic_value_log_sd, TOPICS),
        sale_noise=_noise(spec.sales.sale_value_log_sd) / _noise(spec.sales.sale_value_log_sd).mean(),
        price_micros=price,
        **_rivals(spec, rng, price),
        rival_noise=_noise(spec.rivals.auction_log_sd),
        slots=np.array(spec.auction.slot_click_factors),
    )


def _spread(rng: np.random.Generator, log_sd: float, *shape: int) -> Floats:
    return np.exp(log_sd * rng.standard_normal(shape))


def _noise(log_sd: float) -> Floats:
    """Log-normal factors around a median of 1."""
    return np.asarray(np.exp(log_sd * _QUANTILES))


def _activity(spec: SandboxSpec) -> Floats:
    """(168, P): how much each persona searches in each hour of the week."""
    hours = np.arange(_DAY_HOURS)
    peaks = np.array([persona.peak_hour for persona in spec.personas])
    away = (hours[:, None] - peaks + _DAY_HOURS // 2) % _DAY_HOURS - _DAY_HOURS // 2
    day = spec.habits.floor + np.exp(-0.5 * (away / spec.habits.width_hours) ** 2)
    return np.concatenate([day * factor for factor in spec.searches.weekday_factors])


def _prices(spec: SandboxSpec, rng: np.random.Generator, worth: Floats) -> Floats:
    auction = spec.auction
    level = auction.price_level_micros * float(_spread(rng, auction.price_product_log_sd, 1)[0])
    return np.asarray(
        level * np.exp(auction.price_follows_value * worth) * _spread(rng, auction.price_topic_log_sd, TOPICS)
    )


def _rivals(spec: SandboxSpec, rng: np.random.Generator, price: Floats) -> dict[str, Any]:
    rivals, shape = spec.rivals, (spec.rivals.count, TOPICS)
    quality = _spread(rng, rivals.quality_log_sd, *shape)
    bids = price * _spread(rng, rivals.bid_log_sd, rivals.count, 1) * _spread(rng, rivals.topic_log_sd, *shape)
    hours = np.arange(_DAY_HOURS)
    daytime = rng.random((rivals.count, 1)) < rivals.daytime_share
    outside = (hours < rivals.opens_hour) | (hours >= rivals.closes_hour)
    return {
        "rival_rank": bids * quality,
        "rival_quality": quality,
        "rival_presence": rng.uniform(rivals.presence_low, rivals.presence_high, shape),
        "rival_hours": np.where(daytime & outside, rivals.night_presence, 1.0),
        "rival_budget": np.full(rivals.count, 10**15, np.int64),
    }
