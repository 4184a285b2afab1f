"""Fix what follows from a product's auctions: rivals' daily budgets and the value of a sale."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from gaelp.sandbox.auctions.account_calendar import AccountCalendar
from gaelp.sandbox.auctions.exchange_arrays import ProductState, new_state
from gaelp.sandbox.auctions.exchange_rules import ExchangeRules, exchange_rules
from gaelp.sandbox.auctions.product import ProductTraits, draw_product
from gaelp.sandbox.campaign_rows import place_campaign
from gaelp.sandbox.product_run import run_ticks
from gaelp.sandbox.serving import OverdeliveryLimits, ServedCampaign, ServedGroup
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.topics import TOPICS

__all__ = ["compile_auctions", "product_traits"]

_MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
_DAYS = 7
_KEPT_PRODUCTS = 256
_NOBODYS_PRODUCT = "nobody.invalid/"


def compile_auctions(spec: SandboxSpec) -> None:
    """Run the auctions of a product that nobody sells: compiling takes half a minute, for which no API call may wait.

    Compiled code is kept on disk, so this takes a moment from the second time on. No world is changed.
    """
    product_traits(spec, _NOBODYS_PRODUCT)


@lru_cache(_KEPT_PRODUCTS)
def product_traits(spec: SandboxSpec, product: str) -> ProductTraits:
    """What a product is like in this world, with rivals' budgets and sale values; nobody changes these arrays.

    A reference advertiser bids on all topics without a budget for two weeks. The first shows what rivals would spend;
    the second, with their budgets, what a conversion costs. The world's own random numbers are not used.
    """
    rules, traits = exchange_rules(spec), draw_product(spec, product)
    rng = np.random.default_rng(int(traits.key) + 1)
    shares = rng.uniform(spec.rivals.budget_low, spec.rivals.budget_high, len(traits.rival_budget))
    gain = max(1 + spec.sales.return_mean + spec.sales.return_sd * rng.standard_normal(), 0.1)
    apart = traits._replace(key=np.uint64(rng.integers(2**63)))
    spent, _ = _run_week(spec, rules, apart)
    budgets = np.maximum(shares * spent, 1).astype(np.int64)
    _, state = _run_week(spec, rules, apart._replace(rival_budget=budgets))
    row = state.campaigns[0]
    factor = gain * float(row["spent_total"]) / max(float(row["expected_value"]), 1.0)
    return traits._replace(rival_budget=budgets, sale_micros=traits.sale_micros * factor)


def _run_week(spec: SandboxSpec, rules: ExchangeRules, traits: ProductTraits) -> tuple[np.ndarray, ProductState]:
    """Mean daily spending of the rivals, and the state at the end."""
    calendar = AccountCalendar(_MONDAY, ZoneInfo("UTC"))
    state = place_campaign(new_state(traits, spec.users.per_product), _reference(spec, traits))
    spent = np.zeros(len(traits.rival_budget))
    for n in range(_DAYS):
        day = calendar.day(_MONDAY.date() + timedelta(days=n))
        state, _, _ = run_ticks(traits, rules, state, day, (int(day.ticks[0]), int(day.ticks[-1])))
        spent += state.rival_spent / _DAYS
    return spent, state


def _reference(spec: SandboxSpec, traits: ProductTraits) -> ServedCampaign:
    bids = spec.sales.reference_bid_factor * traits.price_micros
    return ServedCampaign(
        id=1,
        account="reference",
        product="",
        enabled=True,
        groups=tuple(ServedGroup(id=t + 1, topics=(t,), bid_micros=int(bids[t])) for t in range(TOPICS)),
        overdelivery=OverdeliveryLimits(200, "month", 3040),
        daily_micros=None,
    )
