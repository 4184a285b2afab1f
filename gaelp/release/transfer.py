"""Does an agent bid as well for other products? Its gain on held-out products beside its gain where it was trained.

What gate 4 judges is the agent as it is (zero-shot): on a new product there are no data yet to train on. What training
further brings, and what training from scratch with the same budget brings, is reported beside it.

The control is a constant bid, chosen for each product among levels around the one tuned at the source, as an advertiser
who has run the product for a while would have found it. It spends what the budget allows without knowing what a click
is worth, like the control of a release.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats, Uints
from gaelp.clock import Clock
from gaelp.config.base import Frozen
from gaelp.config.scale_settings import TransferSettings
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.catalog import CONSTANT
from gaelp.market.baselines.compare import Estimate
from gaelp.market.baselines.constant import ConstantParameters
from gaelp.market.baselines.episodes import Played, held_out_seeds, join_played, play, training_seeds
from gaelp.market.baselines.tuned import TunedRules
from gaelp.market.build import build_market
from gaelp.market.market import Market
from gaelp.market.reward import optimum_share
from gaelp.market.spec import MarketSpec
from gaelp.release.product_markets import ProductSpread, draw_product
from gaelp.release.transfer_share import CampaignGains, ShareEstimate, gain_share
from gaelp.training.assemble import ground_of
from gaelp.training.fine_tuning import TrainedState, TrainingPlace, fine_tune
from gaelp.training.recipe import Recipe

__all__ = [
    "BidderTransfer",
    "ProductGain",
    "SourceAgent",
    "TransferProgress",
    "TransferResult",
    "measure_transfer",
]

TransferProgress = Callable[[int, int], None]  # products played, and how many there are, the source among them

_SOURCE_CAMPAIGNS = 8  # times those of a product: every share is divided by this one gain
_CONTROL_STEPS = (-0.8, -0.4, -0.2, 0.0, 0.2, 0.4)  # in the log of the constant bid tuned at the source
_CONTROL_CAMPAIGNS = 128  # training campaigns on which the control's level is chosen
_CLOSE_SCORES = 0.005  # rules that did so much worse than the best at the source are not played
_BATCH_EPISODES = 256  # played at once: bounds memory
_FIRST_BATCH = 100  # of held-out episodes: gate 1 and validation use 0 and 1 of their own seeds
_FINE_TUNED, _SCRATCH = "fine-tuned", "from scratch"


@dataclass(frozen=True, slots=True)
class SourceAgent:
    """An agent, the market that it was trained in, the rules tuned there, and what it learned (None: a rule)."""

    policy: Bidder
    market: Market
    tuned: TunedRules
    recipe: Recipe
    learned: TrainedState | None


class ProductGain(Frozen):
    """The gain of the agent on one product: the share of the way from the control to the best possible."""

    product: str
    differs: str = Field(description="price, rates and delay of the product")
    control: float = Field(description="the control's share of the optimum")
    agent: float = Field(description="the agent's share of the optimum")
    best_rule: float = Field(description="that of the rule tuned at the source that did best over all products")
    gain: float


class BidderTransfer(Frozen):
    """What one bidder gains over the control, at the source and over all products."""

    bidder: str
    source_gain: Estimate
    product_gain: Estimate
    share: Estimate = Field(description="of the bidder's own gain at the source; -100 .. 100: nothing is known")


class TransferResult(Frozen):
    """Whether the agent bids as well for other products; `metrics` is what gate 4 reads."""

    agent: str
    market: str
    seed: int
    settings: TransferSettings
    spread: ProductSpread
    share: Estimate = Field(description="gain of the agent as it is on the products, over its gain at the source")
    problem: str = Field(description="why nothing is known of the share; empty if it is known")
    bidders: tuple[BidderTransfer, ...] = Field(description="the agent first, then tuned rules of the source")
    trained: dict[str, Estimate] = Field(
        description="gain on the products of the agent fine-tuned and of one from scratch; empty if none was asked for"
    )
    products: tuple[ProductGain, ...]
    campaigns: int = Field(description="held-out campaigns over all products")

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of gate 4; a share of which nothing is known has no observations, so it is inconclusive."""
        return {
            "transfer_gain_share": self.share.value,
            "transfer_gain_share_lower_95": self.share.lower_95,
            "transfer_gain_share_upper_95": self.share.upper_95,
            "transfer_observations": 0.0 if self.problem else float(self.campaigns),
        }

    @property
    def worst(self) -> ProductGain:
        """The product on which the agent gains least."""
        return min(self.products, key=lambda product: product.gain)


class _OnMarket(NamedTuple):
    """What every bidder brought in the same held-out campaigns of a market."""

    spec: MarketSpec
    played: Mapping[str, Played]
    possible_share: Floats  # (N,) optimum over what rewards are divided by

    def gains(self, bidder: str) -> CampaignGains:
        control = self.played[_CONTROL].reward
        return CampaignGains(self.played[bidder].reward - control, self.possible_share - control)


_CONTROL, _AGENT = "control", "agent"


def measure_transfer(
    source: SourceAgent,
    settings: TransferSettings,
    *,
    seed: int,
    clock: Clock,
    spread: ProductSpread | None = None,
    progress: TransferProgress = lambda _done, _total: None,
) -> TransferResult:
    """Play the agent, the control and the best rules at the source and on products it never saw."""
    spread = spread or ProductSpread()
    rules = _close_rules(source.tuned)
    total = settings.products + 1
    own = _played(source, source.market, rules, _seeds(seed, 0, settings.campaigns * _SOURCE_CAMPAIGNS), seed)
    progress(1, total)
    products: list[_OnMarket] = []
    for number in range(settings.products):
        spec = draw_product(source.market.spec, number, seed, spread)
        market = build_market(spec, source.market.personas, source.market.objective)
        seeds = _seeds(seed, number + 1, settings.campaigns)
        trained = dict(_trained(source, market, settings.fine_tune_rounds, seed=seed + number, clock=clock))
        products.append(_played(source, market, rules, seeds, seed, trained))
        progress(number + 2, total)
    return _result(source, settings, spread, seed, own, products)


def _close_rules(tuned: TunedRules) -> tuple[str, ...]:
    """Return the rules that know no more than the agent and did best at the source, or nearly so."""
    scores = {kind.key: tuned.bidders[kind.key].score for kind in tuned.kinds if not kind.informed}
    return tuple(key for key, value in scores.items() if value >= max(scores.values()) - _CLOSE_SCORES)


def _seeds(seed: int, product: int, campaigns: int) -> Uints:
    return held_out_seeds(seed, campaigns, _FIRST_BATCH + product)


def _played(
    source: SourceAgent,
    market: Market,
    rules: tuple[str, ...],
    seeds: Uints,
    seed: int,
    trained: Mapping[str, Bidder] | None = None,
) -> _OnMarket:
    """Play every bidder in the same campaigns."""
    bidders = {_CONTROL: _control(market, source.tuned, seed), _AGENT: source.policy}
    bidders |= {key: source.tuned.build(key) for key in rules} | dict(trained or {})
    played = {name: _play(market, bidder, seeds) for name, bidder in bidders.items()}
    first = played[_CONTROL]
    shares = optimum_share(market.objective, first.optimum_micros, first.budget_micros)
    return _OnMarket(market.spec, played, np.ones(len(seeds)) if shares is None else shares)


def _play(market: Market, bidder: Bidder, seeds: Uints) -> Played:
    parts = [seeds[first : first + _BATCH_EPISODES] for first in range(0, len(seeds), _BATCH_EPISODES)]
    return join_played([play(market, bidder, part) for part in parts], market.objective)


def _control(market: Market, tuned: TunedRules, seed: int) -> Bidder:
    """Return the constant bid of the level that does best in training campaigns of this market."""
    at_source = ConstantParameters.model_validate(tuned.bidders[CONSTANT.key].parameters)
    seeds = training_seeds(seed, _CONTROL_CAMPAIGNS)
    levels = [CONSTANT.build(_at_level(at_source, step).model_dump()) for step in _CONTROL_STEPS]
    return max(levels, key=lambda bidder: float(play(market, bidder, seeds).reward.mean()))


def _at_level(given: ConstantParameters, step: float) -> ConstantParameters:
    low, high = -1.5, 3.0  # of the key
    bid_log = min(max(given.launch.bid_log + step, low), high)
    return given.model_copy(update={"launch": given.launch.model_copy(update={"bid_log": bid_log})})


def _trained(
    source: SourceAgent, market: Market, rounds: int, *, seed: int, clock: Clock
) -> Iterator[tuple[str, Bidder]]:
    """Yield the agent trained further on a product, and one trained there from scratch, with the same rounds."""
    if not rounds:
        return
    recipe = source.recipe.with_rounds(rounds)
    ground = ground_of(market, source.tuned, recipe.rule)
    starts = {_FINE_TUNED: source.learned, _SCRATCH: None}
    if source.learned is None:  # a rule has nothing to train further
        del starts[_FINE_TUNED]
    for name, start in starts.items():
        with tempfile.TemporaryDirectory() as folder:
            place = TrainingPlace(Path(folder), clock, seed=seed, validation_seed=seed)
            yield name, fine_tune(recipe, ground, start, place).policy


def _result(
    source: SourceAgent,
    settings: TransferSettings,
    spread: ProductSpread,
    seed: int,
    own: _OnMarket,
    products: list[_OnMarket],
) -> TransferResult:
    names = [name for name in own.played if name != _CONTROL]
    shares = {name: _share(name, own, products, seed) for name in names}
    rules = [name for name in names if name != _AGENT]
    best_rule = max(rules, key=lambda name: shares[name].product_gain.value)
    agent = shares[_AGENT]
    trained = [name for name in (_FINE_TUNED, _SCRATCH) if name in products[0].played]
    return TransferResult(
        agent=source.policy.name,
        market=source.market.spec.name,
        seed=seed,
        settings=settings,
        spread=spread,
        share=agent.share,
        problem=agent.problem,
        bidders=tuple(_bidder(source.policy.name if name == _AGENT else name, shares[name]) for name in names),
        trained={
            name: gain_share(own.gains(_AGENT), [each.gains(name) for each in products], seed=seed).product_gain
            for name in trained
        },
        products=tuple(_product(each, best_rule) for each in products),
        campaigns=settings.products * settings.campaigns,
    )


def _share(name: str, own: _OnMarket, products: list[_OnMarket], seed: int) -> ShareEstimate:
    return gain_share(own.gains(name), [each.gains(name) for each in products], seed=seed)


def _bidder(name: str, estimate: ShareEstimate) -> BidderTransfer:
    return BidderTransfer(
        bidder=name, source_gain=estimate.source_gain, product_gain=estimate.product_gain, share=estimate.share
    )


def _product(each: _OnMarket, best_rule: str) -> ProductGain:
    spec = each.spec
    return ProductGain(
        product=spec.name,
        differs=(
            f"price {spec.price.level_micros:,} micros, clicks {spec.response.click_rate:.2%},"
            f" conversions {spec.response.conversion_rate:.2%}, worth {spec.response.return_ratio:.2f} of its price,"
            f" {spec.delay.family} delay of {spec.delay.mean_hours:.0f} h"
        ),
        control=float(each.played[_CONTROL].reward.mean()),
        agent=float(each.played[_AGENT].reward.mean()),
        best_rule=float(each.played[best_rule].reward.mean()),
        gain=each.gains(_AGENT).share,
    )
