"""The published results of the dynamic-programming bidders, and the results of this code on the same auctions.

Source of method and figures: H. Cai, K. Ren, W. Zhang, K. Malialis, J. Wang, Y. Yu, D. Guo, "Real-Time Bidding by
Reinforcement Learning in Display Advertising", WSDM 2017, and the result table that its authors released with their
data. Money is in units of the log, fen for a thousand impressions.

Budgets are int(mean training price x budget_share x auctions an episode), click rate and price of a click are those of
the training auctions, and Lin's base bid is the one its authors tuned.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gaelp.errors import DataError
from gaelp.market.auction_log import read_space_separated
from gaelp.market.baselines.dynamic_programming import Rlb, SsMdp, UnitPrices
from gaelp.market.baselines.linear import Lin, Mcpc
from gaelp.market.price_history import PriceHistory
from gaelp.market.replay import AuctionReplay
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import Policy

__all__ = [
    "PUBLISHED",
    "PublishedFigures",
    "PublishedRow",
    "PublishedSetting",
    "PublishedTrial",
    "play_auctions",
    "play_bidder",
    "published_table",
    "published_trial",
]

_ORIGIN = (
    "2997_test.theta.txt and 2997_info.json are test.theta.txt and info.json from data/ipinyou-data/2997 of the "
    "project rlb-dp by han-cai on GitHub, which came with the paper (Cai et al., WSDM 2017, on iPinYou's data for "
    'research); lin_bid_b0.json is one line to write, {"2997": {"0.03125": {"b0": 10}}}, with the base bid that the '
    "project keeps in bid-model/lin-bid_1000_0.03125_clk_14205.pickle"
)

_MICROS_PER_UNIT = 10  # a fen for a thousand impressions, in micros of a yuan for one


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """What a bidder reached on a log."""

    impressions: int
    clicks: int
    cost: int


@dataclass(frozen=True, slots=True)
class PublishedSetting:
    """A campaign, the terms of the trial, and what was published for each bidder."""

    campaign: str
    episode_auctions: int
    budget_share: float  # of the cost to win every auction at the mean training price
    figures: Mapping[str, PublishedFigures]


PUBLISHED = PublishedSetting(
    campaign="2997",
    episode_auctions=1000,
    budget_share=1 / 32,
    figures=MappingProxyType(
        {
            "ss-mdp": PublishedFigures(impressions=40395, clicks=80, cost=306637),
            "mcpc": PublishedFigures(impressions=14752, clicks=48, cost=307751),
            "lin": PublishedFigures(impressions=32208, clicks=71, cost=203610),
            "rlb": PublishedFigures(impressions=39680, clicks=78, cost=304375),
        }
    ),
)


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One bidder's figures beside the published ones."""

    bidder: str
    impressions: int
    clicks: int
    cost: int
    published_impressions: int
    published_clicks: int
    published_cost: int

    @property
    def equal(self) -> bool:
        """Whether all three figures are the published ones."""
        ours = (self.impressions, self.clicks, self.cost)
        return ours == (self.published_impressions, self.published_clicks, self.published_cost)


def published_table(data_folder: Path, setting: PublishedSetting = PUBLISHED) -> tuple[PublishedRow, ...]:
    """Replay every published bidder on the campaign's log.

    The folder holds the released files, the campaign's number in front: <campaign>_test.theta.txt, <campaign>_info.json
    and lin_bid_b0.json.
    """
    trial = published_trial(data_folder, setting.budget_share, setting)
    return tuple(_row(bidder, play_bidder(trial.replay, bidder), setting) for bidder in trial.bidders)


@dataclass(frozen=True, slots=True)
class PublishedTrial:
    """The campaign's auctions at one budget, and the published bidders, tuned for that budget as theirs were."""

    history: PriceHistory
    replay: AuctionReplay
    bidders: tuple[Policy[Brief, Observation, Action], ...]


def published_trial(data_folder: Path, budget_share: float, setting: PublishedSetting = PUBLISHED) -> PublishedTrial:
    """The released auctions at another budget; lin_bid_b0.json has the base bid of Lin for each."""
    _require_files(data_folder, setting)
    log = read_space_separated(data_folder / f"{setting.campaign}_test.theta.txt", micros_per_unit=_MICROS_PER_UNIT)
    history = _history(data_folder / f"{setting.campaign}_info.json")
    budget_units = int(history.mean_price_units * budget_share * setting.episode_auctions)
    replay = AuctionReplay(
        log,
        history,
        episode_auctions=setting.episode_auctions,
        budget_micros=budget_units * _MICROS_PER_UNIT,
        click_value_micros=round(history.click_cost_micros),
    )
    base_bid = _base_bid_units(data_folder / "lin_bid_b0.json", setting.campaign, budget_share)
    return PublishedTrial(history, replay, _bidders(history, base_bid))


def _require_files(folder: Path, setting: PublishedSetting) -> None:
    wanted = (f"{setting.campaign}_test.theta.txt", f"{setting.campaign}_info.json", "lin_bid_b0.json")
    missing = [name for name in wanted if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder}: {', '.join(missing)} not there; all of {', '.join(wanted)} are needed. {_ORIGIN}.")


def _history(path: Path) -> PriceHistory:
    info = _json(path)
    counts, clicks = (_entry(path, info, key) for key in ("price_counter_train", "clk_train"))
    return PriceHistory(np.array(counts, dtype=np.int64), int(clicks), _MICROS_PER_UNIT)


def _base_bid_units(path: Path, campaign: str, budget_share: float) -> float:
    return float(_entry(path, _json(path), campaign, str(budget_share), "b0"))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}): give the folder of the released files") from error


def _entry(path: Path, document: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(document, Mapping) or key not in document:
            raise DataError(f"{path}: no entry {' > '.join(keys)}, {key!r} is missing: give the released file")
        document = document[key]
    return document


def _bidders(history: PriceHistory, base_bid_units: float) -> tuple[Policy[Brief, Observation, Action], ...]:
    prices = UnitPrices.of_history(history)
    return (
        SsMdp(prices=prices),
        Mcpc(click_cost_micros=history.click_cost_micros),
        Lin(base_bid_micros=base_bid_units * _MICROS_PER_UNIT),
        Rlb(prices=prices),
    )


def play_auctions(replay: AuctionReplay, bidder: Policy[Brief, Observation, Action]) -> Observation:
    """Play every auction once; returns what the bidder sees after the last, one row an episode."""
    obs = replay.reset()
    bidder.begin(replay.brief)
    while not replay.done:
        obs, _ = replay.step(bidder.act(obs))
    return obs


def play_bidder(replay: AuctionReplay, bidder: Policy[Brief, Observation, Action]) -> PublishedFigures:
    """Play every auction once."""
    obs = play_auctions(replay, bidder)
    cost_units = int(obs.total_cost_micros.sum()) // _MICROS_PER_UNIT
    return PublishedFigures(int(obs.total_impressions.sum()), int(obs.total_clicks.sum()), cost_units)


def _row(bidder: Policy[Brief, Observation, Action], ours: PublishedFigures, setting: PublishedSetting) -> PublishedRow:
    theirs = setting.figures[bidder.name]
    return PublishedRow(
        bidder=bidder.name,
        impressions=ours.impressions,
        clicks=ours.clicks,
        cost=ours.cost,
        published_impressions=theirs.impressions,
        published_clicks=theirs.clicks,
        published_cost=theirs.cost,
    )
