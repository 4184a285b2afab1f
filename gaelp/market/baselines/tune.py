"""Tune every bidder on training episodes with the same number of trials: random search, then local refinement."""

import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.market.baselines.catalog import CATALOG, Kind
from gaelp.market.baselines.episodes import play, training_seeds
from gaelp.market.baselines.search_space import SearchSpace
from gaelp.market.baselines.tuned import TunedBidder, TunedRules, market_fingerprint
from gaelp.market.market import Market
from gaelp.market.spec import MarketSpec

__all__ = ["Search", "TuneProgress", "tune", "tune_bidder"]

TuneProgress = Callable[[str, int, int], None]  # bidder, trials done, trials in all

_PARENTS = 4  # local steps start from one of the best few
_WIDE, _NARROW = 0.15, 0.05  # first and last size of a local step, as a share of each range


class Search(Frozen):
    """How much is tried; the same for every bidder."""

    trials: PositiveInt = Field(default=60, description="the defaults, then a third at random, the rest near the best")
    campaigns: PositiveInt = Field(default=256, description="training episodes of one trial, the same for all trials")
    finalists: PositiveInt = Field(default=5, description="best trials that are tried again on other episodes")
    final_batches: PositiveInt = Field(default=3, description="batches of other training episodes for each finalist")
    seed: NonNegativeInt = 7


class _Trial(NamedTuple):
    score: float
    parameters: Frozen


def tune(
    market: Market, search: Search | None = None, kinds: Iterable[Kind] = CATALOG, progress: TuneProgress | None = None
) -> TunedRules:
    """The best parameters found for each kind of bidder in this market; the same again for the same seed."""
    search = search or Search()
    return TunedRules(
        market=market.spec.name,
        objective=market.objective,
        fingerprint=market_fingerprint(market),
        seed=search.seed,
        trials=search.trials,
        campaigns=search.campaigns,
        bidders={kind.key: tune_bidder(market, kind, search, progress) for kind in kinds},
    )


def tune_bidder(market: Market, kind: Kind, search: Search, progress: TuneProgress | None = None) -> TunedBidder:
    """The best parameters found for one kind of bidder, with their mean reward on the finalists' episodes."""
    space = SearchSpace.of(kind.parameters, without=_without_effect(market.spec))
    rng = np.random.default_rng([search.seed, zlib.crc32(kind.key.encode())])
    trials: list[_Trial] = []
    for number in range(search.trials):
        parameters = _propose(space, rng, trials, search)
        trials.append(_Trial(_score(market, kind, parameters, search, batch=0), parameters))
        if progress:
            progress(kind.key, number + 1, search.trials)
    finalists = [_final(market, kind, trial.parameters, search) for trial in _best(trials, search.finalists)]
    winner = max(finalists, key=lambda trial: trial.score)
    return TunedBidder(score=round(winner.score, 4), parameters=winner.parameters.model_dump())


def _propose(space: SearchSpace, rng: np.random.Generator, trials: list[_Trial], search: Search) -> Frozen:
    number = len(trials)
    drawn = (search.trials + 2) // 3
    if number == 0:
        return space.default()
    if number < drawn:
        return space.draw(rng)
    done = (number - drawn) / max(search.trials - drawn - 1, 1)
    parents = _best(trials, _PARENTS)
    parent = parents[int(rng.integers(len(parents)))]
    return space.near(rng, parent.parameters, _WIDE + done * (_NARROW - _WIDE))


def _best(trials: list[_Trial], count: int) -> list[_Trial]:
    return sorted(trials, key=lambda trial: -trial.score)[:count]


def _final(market: Market, kind: Kind, parameters: Frozen, search: Search) -> _Trial:
    batches = range(1, search.final_batches + 1)
    return _Trial(float(np.mean([_score(market, kind, parameters, search, batch) for batch in batches])), parameters)


def _score(market: Market, kind: Kind, parameters: Frozen, search: Search, batch: int) -> float:
    seeds = training_seeds(search.seed, search.campaigns, batch)
    return float(play(market, kind.build(parameters), seeds).reward.mean())


def _without_effect(spec: MarketSpec) -> frozenset[str]:
    """Keys of parameters that change nothing in this market, so that no trial is spent on them."""
    values = {"values", "signals"} if spec.response.values_known else set()
    return frozenset(values | ({"shade_offset"} if spec.price.payment == "second" else set()))
