"""Replay: logged auctions bid on again one by one, through the same brief, observations and actions as the market.

The log is cut into episodes of equal length that run side by side as campaigns of one segment, one auction a step.

* A bid at or above the price wins and pays the price, so a bid of 0 wins what is free.
* A bid above the money left is lowered to the money left: what costs more than that is lost, what costs less is not.
* An auction that the log lost has no known price and is never won again.
* With a pacing rate p the bidder enters the auctions at which the sum of its rates passes a whole number: p of them,
  evenly spread and without chance.
"""

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Bools, Floats, Floats32, Ints, Ints32
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import ActionError, DataError
from gaelp.market.auction_log import AuctionLog
from gaelp.market.hindsight import ReturnDemand, knapsack_optimum
from gaelp.market.landscape import build_landscapes
from gaelp.market.objective import least_price, target_return
from gaelp.market.personas import neutral_table
from gaelp.market.price_history import PriceHistory
from gaelp.market.reward import RewardMeter
from gaelp.market.view import Action, Brief, Observation, Outcome

__all__ = ["AuctionReplay"]

_HIGHEST_BUDGET_MICROS = 2**53  # what a float holds exactly
_MOST_AUCTIONS = 10**7  # in an episode
_LEAST_PROBABILITY = 1e-12  # keeps the logarithm of a value finite

EntryT = TypeVar("EntryT", bound=np.generic)


class AuctionReplay:
    """Episodes of a log as N campaigns; `step` holds one auction in each of them.

    The last episode may be shorter: it has no opportunities after its last auction.
    """

    def __init__(
        self,
        log: AuctionLog,
        history: PriceHistory,
        *,
        episode_auctions: int,
        budget_micros: int,
        click_value_micros: int,
        objective: Objective = VALUE,
    ) -> None:
        """`history` holds the auctions known at launch; every episode has the same budget and value of a click."""
        _require("episode_auctions", episode_auctions, _MOST_AUCTIONS)
        _require("budget_micros", budget_micros, _HIGHEST_BUDGET_MICROS)
        _require("click_value_micros", click_value_micros, _HIGHEST_BUDGET_MICROS)
        self.hours = episode_auctions
        self._held = _by_auction(np.ones(len(log), dtype=np.bool_), episode_auctions)
        self._price_micros = _by_auction(np.where(log.sold, log.price_micros, 0), episode_auctions)
        self._for_sale = _by_auction(log.sold, episode_auctions)
        self._click = _by_auction(log.click.astype(np.int32), episode_auctions)
        self._value_micros = _by_auction(log.click_probability * click_value_micros, episode_auctions)
        self._logged_bid_micros = None if log.bid_micros is None else _by_auction(log.bid_micros, episode_auctions)
        self._value_log = np.log(np.maximum(self._value_micros, _LEAST_PROBABILITY * click_value_micros))
        self.brief = _brief(history, self.campaigns, episode_auctions, budget_micros, click_value_micros, objective)
        target = target_return(objective, self.brief.conversion_value_micros)
        self.optimum_micros = knapsack_optimum(
            np.where(self._for_sale, self._value_micros, 0.0),
            self._price_micros,
            self.brief.budget_micros,
            ReturnDemand(least_price(objective), float(target[0])),  # every episode has the same value of a click
        )
        self.reset()

    @property
    def campaigns(self) -> int:
        """How many episodes run side by side."""
        return int(self._held.shape[1])

    @property
    def done(self) -> bool:
        """Whether every auction was held."""
        return self.hour >= self.hours

    def reset(self) -> Observation:
        """Go back to the first auction of every episode."""
        self.hour = 0
        brief = self.brief
        self.meter = RewardMeter(
            brief.objective, self.optimum_micros, brief.budget_micros, brief.conversion_value_micros
        )
        self._entries_due = np.zeros(self.campaigns)
        self._obs = _first_observation(self.brief, self._known_value_log())
        return self._obs

    def step(self, action: Action) -> tuple[Observation, Outcome]:
        """Hold one auction in every episode."""
        if self.done:
            raise ActionError(f"the episode ended after {self.hours} auctions: reset the replay before the next step")
        bid, pace, clipped = _checked(action, self.campaigns)
        hour = self.hour
        bid_micros = np.minimum(bid, self._obs.left_micros)
        entered = self._held[hour] & self._enter(pace)
        affordable = entered & self._for_sale[hour] & (bid >= self._price_micros[hour])
        won = affordable & (bid_micros >= self._price_micros[hour])
        value_micros = np.where(won, self._value_micros[hour], 0.0)
        unsupported = None
        if self._logged_bid_micros is not None:
            unsupported = (entered & (bid_micros > self._logged_bid_micros[hour]))[:, None]
        self.hour += 1
        self._obs = self._next_observation(action.bid_micros, pace, won, short_of_money=affordable & ~won)
        share = self.meter.add(value_micros, self._obs.left_micros).astype(np.float32)
        return self._obs, Outcome(value_micros[:, None], share, clipped, unsupported)

    def _enter(self, pace: Floats32) -> Bools:
        self._entries_due += pace
        entered = self._entries_due >= 1.0
        self._entries_due -= entered
        return entered

    def _known_value_log(self) -> Floats | None:
        if self.done:
            return None
        # Kept in double precision: rounded to single, a bid near a price could land on its other side.
        return np.asarray(self._value_log[self.hour][:, None])

    def _next_observation(self, bid_micros: Ints, pace: Floats32, won: Bools, *, short_of_money: Bools) -> Observation:
        last, obs = self.hour - 1, self._obs
        impressions = won.astype(np.int32)[:, None]
        clicks = impressions * self._click[last][:, None]
        cost_micros = np.where(won, self._price_micros[last], 0)
        left_micros = obs.left_micros - cost_micros
        total_clicks = obs.total_clicks + clicks
        total_impressions = obs.total_impressions + impressions
        return replace(
            obs,
            hour=np.full(self.campaigns, self.hour, dtype=np.int64),
            left_micros=left_micros,
            day_left_micros=left_micros,
            opportunities=self._held[last].astype(np.int32)[:, None],
            impressions=impressions,
            clicks=clicks,
            conversions=clicks,
            cost_micros=cost_micros[:, None],
            in_market=(~short_of_money).astype(np.float32),
            total_impressions=total_impressions,
            total_clicks=total_clicks,
            total_conversions=total_clicks,
            total_cost_micros=obs.total_cost_micros + cost_micros[:, None],
            bid_log=np.log(np.maximum(bid_micros, 1)).astype(np.float32),
            pace=pace,
            creative=np.zeros(impressions.shape, dtype=np.int8),
            creative_impressions=total_impressions[:, :, None],
            creative_clicks=total_clicks[:, :, None],
            known_value_log=self._known_value_log(),
        )


def _require(name: str, value: int, highest: int) -> None:
    if not 1 <= value <= highest:
        raise DataError(f"replay: {name}={value} seen, 1 to {highest} allowed: choose a value in between")


def _by_auction(values: npt.NDArray[EntryT], episode_auctions: int) -> npt.NDArray[EntryT]:
    """One row for the k-th auction of every episode, (T, N); zeros after the end of the last."""
    episodes = -(-len(values) // episode_auctions)
    padded = np.zeros(episodes * episode_auctions, dtype=values.dtype)
    padded[: len(values)] = values
    return np.ascontiguousarray(padded.reshape(episodes, episode_auctions).T)


def _brief(
    history: PriceHistory,
    campaigns: int,
    auctions: int,
    budget_micros: int,
    click_value_micros: int,
    objective: Objective,
) -> Brief:
    """A click is what is worth something, so it counts as a conversion that is reported at once."""
    pair = (campaigns, 1)
    nobody = neutral_table()
    budgets = np.full(campaigns, budget_micros, dtype=np.int64)
    everything_micros = history.mean_price_micros * auctions
    return Brief(
        hours=np.full(campaigns, auctions, dtype=np.int64),
        hours_per_day=auctions,
        first_price=False,
        landscapes=build_landscapes([history.landscape()], first_price=False),
        budget_micros=budgets,
        daily_cap_micros=budgets,
        conversion_value_micros=np.full(campaigns, click_value_micros, dtype=np.int64),
        click_rate=history.click_rate,
        conversion_rate=1.0,
        delay_mean_hours=np.zeros(pair, dtype=np.float32),
        start_hour_of_week=np.zeros(campaigns, dtype=np.int32),
        persona=np.zeros(pair, dtype=np.int32),
        persona_traits=nobody.traits,
        activity=nobody.activity,
        intent_log=nobody.intent_log,
        price_profile_log=np.zeros(auctions, dtype=np.float32),
        volume_forecast=np.ones(pair, dtype=np.float32),
        price_forecast_log=np.full(pair, np.log(history.mean_price_micros), dtype=np.float32),
        budget_share=np.full(campaigns, budget_micros / everything_micros, dtype=np.float32),
        creatives=1,
        values_known=True,
        objective=objective,
    )


def _first_observation(brief: Brief, known_value_log: Floats | None) -> Observation:
    pair = brief.persona.shape
    none: Ints32 = np.zeros(pair, dtype=np.int32)
    nothing: Floats32 = np.zeros(pair, dtype=np.float32)
    return Observation(
        hour=np.zeros(brief.campaigns, dtype=np.int64),
        left_micros=brief.budget_micros,
        day_left_micros=brief.daily_cap_micros,
        opportunities=none,
        impressions=none,
        clicks=none,
        conversions=none,
        cost_micros=np.zeros(pair, dtype=np.int64),
        in_market=np.ones(brief.campaigns, dtype=np.float32),
        total_impressions=none,
        total_clicks=none,
        total_conversions=none,
        total_cost_micros=np.zeros(pair, dtype=np.int64),
        maturing_clicks=nothing,
        exposure=nothing,
        price_level_log=brief.price_forecast_log,
        price_signal_log=brief.price_forecast_log,
        bid_log=brief.price_forecast_log,
        pace=np.ones(brief.campaigns, dtype=np.float32),
        creative=np.full(pair, -1, dtype=np.int8),
        creative_impressions=none[:, :, None],
        creative_clicks=none[:, :, None],
        known_value_log=known_value_log,
    )


def _checked(action: Action, campaigns: int) -> tuple[Ints, Floats32, int]:
    """Bids and pacing rates pulled into bounds, (N,) each, and how many entries that changed."""
    if action.bid_micros.shape != (campaigns, 1) or action.bid_micros.dtype != np.int64:
        raise ActionError(
            f"bids of shape {action.bid_micros.shape} and type {action.bid_micros.dtype} seen, "
            f"{(campaigns, 1)} and int64 allowed: give whole micros, one row an episode"
        )
    bid = action.bid_micros[:, 0]
    pace = np.ones(campaigns, dtype=np.float32) if action.pace is None else action.pace
    if pace.shape != (campaigns,) or not np.isfinite(pace).all():
        first = int(np.argmin(np.isfinite(pace))) if pace.shape == (campaigns,) else 0
        raise ActionError(
            f"pace of shape {pace.shape}, pace[{first}] = {pace.flat[first] if pace.size else 'missing'} seen, "
            f"{(campaigns,)} finite rates allowed: give one rate an episode"
        )
    if action.creative is not None and action.creative.any():
        raise ActionError(f"creative {int(action.creative.max())} seen, 0 allowed: a log has one creative")
    clipped = int(np.count_nonzero(bid < 0)) + int(np.count_nonzero((pace < 0) | (pace > 1)))
    return np.maximum(bid, 0), np.clip(pace, 0.0, 1.0), clipped
