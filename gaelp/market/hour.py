"""One hour of N campaigns in compiled loops: auctions, budget, clicks, delayed conversions, fatigue, prices."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.market.compiled import compiled
from gaelp.market.landscape import interpolate
from gaelp.market.random import advance, binomial, keyed, uniform
from gaelp.market.world import DAY_HOURS, World

__all__ = ["State", "Tables", "empty_state", "run_hour"]

_AUCTION, _CLICK, _CONVERT = 8, 9, 10  # random streams
_PRICE_TRACKING = 0.35  # weight of the newest hour in the running price estimate
_FEWEST_AUCTIONS = 8  # below this an hour's win rate says too little about the price
_SHORTEST_PRESENCE = 0.05
_RATE_LOW, _RATE_HIGH = 0.01, 0.995  # win rates beyond these only bound the price
_RATE_CEILING = 0.9
_NO_CHANCE = 1e-12

Singles = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int32]
Money = npt.NDArray[np.int64]


class Tables(NamedTuple):
    """What all campaigns of a market share."""

    win: Singles  # (K + 1, grid)
    cost: Singles  # (K + 1, grid)
    price_at_win_rate: Singles  # (cells + 1,) log ratio at which the pooled landscape reaches a win rate
    price_profile_log: Singles  # (24,)
    affinity: Singles  # (P, C) factor on the click rate
    fatigue: Singles  # (P,) sensitivity
    tiring: bool  # whether fatigue is on at all


class State(NamedTuple):
    """All that changes while episodes run; saved and restored as it is."""

    left_micros: Money  # (N,)
    day_left_micros: Money  # (N,)
    opportunities: Counts  # (N, S) this and the next ones: the last hour
    impressions: Counts
    clicks: Counts
    conversions: Counts
    cost_micros: Money
    value_micros: npt.NDArray[np.float64]  # (N, S) expected value won in the last hour
    in_market: Singles  # (N,)
    total_impressions: Counts  # (N, S) this and the next ones: since launch
    total_clicks: Counts
    total_conversions: Counts
    total_cost_micros: Money
    maturing_clicks: Singles
    exposure: Singles
    price_level_log: Singles
    price_signal_log: Singles
    bid_log: Singles
    pace: Singles  # (N,)
    creative: npt.NDArray[np.int8]  # (N, S)
    creative_impressions: Counts  # (N, S, C)
    creative_clicks: Counts  # (N, S, C)
    arriving: npt.NDArray[np.int16]  # (window + 1, N, S) conversions by the hour they will be reported
    pending: Counts  # (N, S) conversions that happened and are not reported yet
    lost_to_window: Counts  # (N, S) conversions too late to be attributed


def empty_state(campaigns: int, segments: int, creatives: int, window_hours: int) -> State:
    """The state before launch; budgets and price estimates are set by the market."""
    pair = (campaigns, segments)
    shapes = {"creative_impressions": (*pair, creatives), "creative_clicks": (*pair, creatives)}
    shapes["arriving"] = (window_hours + 1, *pair)
    kinds = {Money: np.int64, Counts: np.int32, Singles: np.float32}
    special = {"value_micros": np.float64, "creative": np.int8, "arriving": np.int16}
    single = {"left_micros", "day_left_micros", "in_market", "pace"}
    arrays = {
        name: np.zeros((campaigns,) if name in single else shapes.get(name, pair), special.get(name) or kinds[hint])
        for name, hint in State.__annotations__.items()
    }
    return State(**arrays)


def run_hour(hour: int, world: World, tables: Tables, state: State, bid_micros: Money) -> None:
    """Advance every campaign by one hour, in place."""
    np.log(np.maximum(bid_micros, 1), out=state.bid_log, casting="same_kind")
    state.opportunities[:] = world.volume[hour]
    _hold_auctions(hour, world, tables, state, bid_micros)
    appeal = _appeal(world, tables, state)
    np.multiply(state.impressions, world.value_micros[hour], out=state.value_micros)
    state.value_micros[:] *= appeal
    _answer(hour, world, state, world.click_rate * appeal)
    _remember(world, state)
    _track_prices(hour, tables, state)
    if (hour + 1) % DAY_HOURS == 0:
        np.minimum(world.daily_cap_micros, state.left_micros, out=state.day_left_micros)


# Compiled loops draw the random counts, array operations do the rest. The loops unpack what they need before they
# start: handing a tuple of arrays to a function for every campaign costs ten times the work done there.


@compiled
def _hold_auctions(hour: int, world: World, tables: Tables, state: State, bid_micros: Money) -> None:
    """Enter every segment's auctions, then cut each campaign back to the money it has."""
    key, row, volume, level_log = world.key, world.landscape, world.volume[hour], world.level_log[hour]
    level_micros, win, cost = world.level_micros[hour], tables.win, tables.cost
    impressions, cost_micros, bid_log, pace = state.impressions, state.cost_micros, state.bid_log, state.pace
    left_micros, day_left_micros, in_market = state.left_micros, state.day_left_micros, state.in_market
    campaigns, segments = volume.shape
    each_micros = np.empty(segments)
    for n in range(campaigns):
        affordable = day_left_micros[n]
        wanted = 0.0
        for s in range(segments):
            won = 0
            each_micros[s] = 0.0
            ratio_log = bid_log[n, s] - level_log[n, s]
            chance = interpolate(win, row[n, s], ratio_log)
            if bid_micros[n, s] > 0 and affordable > 0 and chance > _NO_CHANCE:
                won = binomial(volume[n, s], chance * pace[n], keyed(key[n], _AUCTION, hour, s))
                paid = level_micros[n, s] * interpolate(cost, row[n, s], ratio_log) / chance
                each_micros[s] = min(paid, float(bid_micros[n, s]))
            impressions[n, s] = won
            cost_micros[n, s] = int(won * each_micros[s])
            wanted += won * each_micros[s]
        share = 1.0 if wanted <= affordable else affordable / wanted
        in_market[n] = share
        spent = 0
        for s in range(segments):
            if share < 1.0:  # the money ran out inside the hour: every segment stops at the same moment
                won = _fitting(int(impressions[n, s] * share), each_micros[s], affordable - spent)
                impressions[n, s] = won
                cost_micros[n, s] = int(won * each_micros[s])
            spent += cost_micros[n, s]
        left_micros[n] -= spent
        day_left_micros[n] = min(affordable - spent, left_micros[n])


@compiled
def _fitting(won: int, each_micros: float, affordable: int) -> int:
    """As many impressions as the money buys: rounding must never cost a micro too much."""
    while won > 0 and int(won * each_micros) > affordable:
        won -= 1
    return won


def _appeal(world: World, tables: Tables, state: State) -> Singles:
    """Factor on click rate and value, shape (N, S): how the creative is liked and how tired the audience is of it."""
    appeal = np.ones(state.creative.shape, np.float32)
    if tables.affinity.shape[1] > 1:
        taste = world.parameters["creatives_affinity_strength"].astype(np.float32)[:, None]
        liked = tables.affinity[world.persona, state.creative]
        appeal *= liked if (taste == 1).all() else liked**taste
    if tables.tiring:
        strength = world.parameters["fatigue_strength"].astype(np.float32)[:, None]
        appeal /= 1 + strength * tables.fatigue[world.persona] * state.exposure
    return appeal


@compiled
def _answer(hour: int, world: World, state: State, click_rate: Singles) -> None:
    """Draw clicks and conversions, put each conversion into the hour of its report, and report those due now."""
    key, value_now, base_rate, worth_micros = (
        world.key,
        world.value_micros[hour],
        world.click_rate,
        world.conversion_value_micros,
    )
    delay_hours, parameters = world.delay_hours, world.parameters
    impressions, clicks, conversions = state.impressions, state.clicks, state.conversions
    arriving, pending, lost = state.arriving, state.pending, state.lost_to_window
    campaigns, segments = impressions.shape
    slots = arriving.shape[0]
    due = arriving[hour % slots]
    for n in range(campaigns):
        for s in range(segments):
            clicked = 0
            if impressions[n, s] > 0:
                rate = min(click_rate[n, s], _RATE_CEILING)
                clicked = binomial(impressions[n, s], rate, keyed(key[n], _CLICK, hour, s))
            clicks[n, s] = clicked
            if clicked > 0:
                rate = min(value_now[n, s] / (base_rate[n, s] * worth_micros[n]), _RATE_CEILING)
                draw = keyed(key[n], _CONVERT, hour, s)
                for _ in range(binomial(clicked, rate, draw)):
                    draw = advance(advance(draw))
                    wait = _wait_hours(delay_hours[n, s], parameters[n].delay_immediate_share, draw)
                    if wait < slots:
                        arriving[(hour + wait) % slots, n, s] += 1
                        pending[n, s] += 1
                    else:
                        lost[n, s] += 1
            conversions[n, s] = due[n, s]
            pending[n, s] -= due[n, s]
            due[n, s] = 0


@compiled
def _wait_hours(mean_hours: float, immediate_share: float, key: np.uint64) -> int:
    """Whole hours from click to report: at once for a share, exponential for the rest."""
    if mean_hours <= 0.0 or uniform(key) < immediate_share:
        return 0
    return int(-mean_hours * math.log(uniform(advance(key))))


def _remember(world: World, state: State) -> None:
    """Add the hour to the totals and let exposure and open clicks fade."""
    state.total_impressions[:] += state.impressions
    state.total_clicks[:] += state.clicks
    state.total_conversions[:] += state.conversions
    state.total_cost_micros[:] += state.cost_micros
    open_share = (1 - world.parameters["delay_immediate_share"]).astype(np.float32)[:, None]
    np.add(state.maturing_clicks, state.clicks * open_share, out=state.maturing_clicks)
    state.maturing_clicks[:] *= world.maturing_kept
    state.exposure[:] *= world.exposure_kept[:, None]
    state.exposure[:] += state.impressions / world.audience
    if state.creative_clicks.shape[2] > 1:
        _count_creatives(state)


@compiled
def _count_creatives(state: State) -> None:
    creative, impressions, clicks = state.creative, state.impressions, state.clicks
    total_impressions, total_clicks = state.creative_impressions, state.creative_clicks
    campaigns, segments = creative.shape
    for n in range(campaigns):
        for s in range(segments):
            total_impressions[n, s, creative[n, s]] += impressions[n, s]
            total_clicks[n, s, creative[n, s]] += clicks[n, s]


@compiled
def _track_prices(hour: int, tables: Tables, state: State) -> None:
    """Read each price level off the win rate through the pooled landscape, as a bidder can."""
    price_at_rate, profile = tables.price_at_win_rate, tables.price_profile_log
    opportunities, impressions, bid_log = state.opportunities, state.impressions, state.bid_log
    level_log, signal_log, pace, in_market = state.price_level_log, state.price_signal_log, state.pace, state.in_market
    campaigns, segments = impressions.shape
    to_next_hour = profile[(hour + 1) % len(profile)] - profile[hour % len(profile)]
    for n in range(campaigns):
        presence = pace[n] * in_market[n]
        for s in range(segments):
            entered = opportunities[n, s] * presence if bid_log[n, s] > 0.0 else 0.0
            if entered >= _FEWEST_AUCTIONS and presence >= _SHORTEST_PRESENCE:
                rate = min(max(impressions[n, s] / entered, _RATE_LOW), _RATE_HIGH)
                position = rate * (len(price_at_rate) - 2)
                index = int(position)
                low = price_at_rate[index]
                signal = bid_log[n, s] - low - (position - index) * (price_at_rate[index + 1] - low)
                signal_log[n, s] = signal
                level_log[n, s] = _updated_level(level_log[n, s], signal, rate)
            level_log[n, s] += to_next_hour


@compiled
def _updated_level(level: float, signal: float, rate: float) -> float:
    """A win rate at either end only bounds the price; one in between measures it."""
    if rate <= _RATE_LOW:
        return max(level, signal)
    if rate >= _RATE_HIGH:
        return min(level, signal)
    return level + _PRICE_TRACKING * (signal - level)
