"""MPC: each hour, the price of budget at which the rest of the flight, as forecast now, spends what is left.

Where the objective asks for a higher price of money, that one holds: 1 for profit; for a target return the price at
which what was bought and what is forecast return the target together.
"""

import math
from typing import NamedTuple

import numpy as np
from pydantic import Field

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.config.base import Frozen
from gaelp.market.baselines.bids import bids_for_worth
from gaelp.market.baselines.forecasts import PriceLevelForecast, VolumeForecast, calendar_by_intent, calendar_by_price
from gaelp.market.baselines.objective_price import bought_micros
from gaelp.market.baselines.plan import day_end, day_left_micros
from gaelp.market.baselines.values import SignalWeights, ValueParameters, Values
from gaelp.market.compiled import compiled, inlined
from gaelp.market.landscape import GRID, interpolate
from gaelp.market.objective import least_price, target_return
from gaelp.market.policy_state import KeptState
from gaelp.market.price_search import next_price, search_from
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import SegmentBelief

__all__ = ["ModelPredictive", "ModelPredictiveParameters", "Outlook", "budget_prices_log", "target_prices_log"]


_TOLERANCE = 1e-3  # log distance between planned spend and money
_MAX_EVALUATIONS = 40
_FLAT = 1e-3
_GRID_LOW, _GRID_HIGH = float(GRID[0]), float(GRID[-1])


class Outlook(NamedTuple):
    """The rest of the flight as forecast now, for the compiled loop; P personas, J bins of hours that are alike."""

    value_log: Floats  # (N, S) of an impression in an hour of average intent
    level_log: Floats  # (N, S) price level without the hour of day
    volume: Floats  # (N, S) opportunities in an hour of average activity
    persona: Ints32  # (N, S)
    start: Ints32  # (N,) hour of week at launch
    cumulative: Floats  # (P, J, H + 1) activity before each hour, see Calendar
    bin_price_log: Floats  # (J,)
    daypart_log: Floats  # (P, J) log factor on value
    best_cost: Floats32  # (1, grid) of the pooled landscape


class ModelPredictiveParameters(Frozen):
    """Model-predictive bidding."""

    values: ValueParameters = ValueParameters()
    level_mix: float = Field(default=0.5, ge=0, le=1, description="weight of the newest price level beside the usual")
    volume_prior_hours: float = Field(default=10.0, ge=2, le=60, description="hours the volume forecast is worth")
    margin: float = Field(default=1.03, ge=0.8, le=1.6, description="planned spend over the money that is left")
    price_offset: float = Field(default=0.0, ge=-0.3, le=0.3, description="added to the log price of budget")
    shade_offset: float = Field(default=0.0, ge=-0.6, le=0.6, description="first price: log correction of the shading")


class ModelPredictive(KeptState):
    """Solves the linear programme of the remaining flight every hour, with forecasts in place of what is unknown."""

    _kept = ("values", "levels", "volumes", "price_log")

    def __init__(self, parameters: ModelPredictiveParameters, signals: SignalWeights | None = None) -> None:
        """With signals the rule knows how value moves with hour and price, and its name says so."""
        self.name = "mpc" if signals is None else "mpc (informed)"
        self._parameters = parameters
        self._values = Values(parameters.values, signals)
        self._by_intent = signals is not None and signals.daypart != 0.0

    def begin(self, brief: Brief, belief: SegmentBelief | None = None, /) -> None:
        """Lay out the calendar of the flight."""
        self._brief = brief
        self._values.begin(brief, belief)
        self._levels = PriceLevelForecast(brief)
        self._volumes = VolumeForecast(brief, self._parameters.volume_prior_hours)
        self._calendar = calendar_by_intent(brief) if self._by_intent else calendar_by_price(brief)
        parts = len(self._calendar.price_log)
        self._daypart_log = self._values.daypart_log() if self._by_intent else np.zeros((len(brief.activity), parts))
        self._price_log = np.full(brief.campaigns, np.nan)

    def act(self, obs: Observation, /) -> Action:
        """Bid for the coming hour."""
        given = self._parameters
        lasting_log, _ = self._values.lasting(obs)
        now_log, usual_log = self._levels.update(obs)
        level_log = given.level_mix * now_log + (1.0 - given.level_mix) * usual_log
        price_log = self._solve(obs, lasting_log, level_log) + given.price_offset
        worth_log = self._values.at_hour(obs, lasting_log) - price_log[:, None]
        return Action(bids_for_worth(self._brief, obs, worth_log, given.shade_offset))

    def _solve(self, obs: Observation, lasting_log: Floats, level_log: Floats) -> Floats:
        brief, calendar = self._brief, self._calendar
        today_end = day_end(brief, obs.hour)
        later_days = -(-(brief.hours - today_end) // brief.hours_per_day)
        margin = self._parameters.margin
        money = (
            np.asarray(margin * obs.left_micros, dtype=np.float64),
            np.asarray(margin * day_left_micros(brief, obs), dtype=np.float64),
            np.asarray(margin * later_days * brief.daily_cap_micros, dtype=np.float64),
        )
        outlook = Outlook(
            value_log=lasting_log,
            level_log=level_log,
            volume=self._volumes.update(obs),
            persona=brief.persona,
            start=brief.start_hour_of_week,
            cumulative=calendar.cumulative,
            bin_price_log=calendar.price_log,
            daypart_log=self._daypart_log,
            best_cost=brief.landscapes.best_cost[brief.landscapes.pooled :],
        )
        span = (obs.hour, today_end, brief.hours)
        today_log, self._price_log = budget_prices_log(span, outlook, money, self._price_log)
        return self._within_objective(obs, outlook, span, today_log)

    def _within_objective(
        self, obs: Observation, outlook: Outlook, span: tuple[Ints, Ints, Ints], today_log: Floats
    ) -> Floats:
        brief = self._brief
        if brief.objective.has_target:
            so_far = (
                bought_micros(obs, outlook.value_log),
                obs.total_cost_micros.sum(axis=1, dtype=np.float64),
                target_return(brief.objective, brief.conversion_value_micros),
            )
            best_win = brief.landscapes.best_win[brief.landscapes.pooled :]
            return target_prices_log(span, outlook, best_win, so_far, (today_log, self._price_log))
        least = least_price(brief.objective)
        return np.maximum(today_log, np.log(least)) if least else today_log


@compiled
def budget_prices_log(
    span: tuple[Ints, Ints, Ints], outlook: Outlook, money: tuple[Floats, Floats, Floats], guess_log: Floats
) -> tuple[Floats, Floats]:
    """Log price of budget for the rest of today and for the rest of the flight, (N,) each.

    `span` holds each campaign's hour, the end of its day and of its flight; `money` what may be spent in all, today
    and on later days together. The flight's price makes forecast spend equal to the money; where that would break
    today's cap, today has a higher price of its own. `guess_log` is the last hour's solution, NaN for none.
    """
    left, day_left, later_cap = money
    best_cost = outlook.best_cost
    campaigns, segments = outlook.value_log.shape
    worth, today, later = np.empty((3, segments * len(outlook.bin_price_log)))
    today_price, flight_price = np.empty(campaigns), np.empty(campaigns)
    for n in range(campaigns):
        lowest, highest = _lay_out(n, span, outlook, worth, today, later)
        bracket = (lowest - _GRID_HIGH, highest - _GRID_LOW)
        guess = guess_log[n] if guess_log[n] == guess_log[n] else 0.5 * (lowest + highest)
        limits = (day_left[n], later_cap[n])
        flight = bracket[0]
        if limits[0] + limits[1] > left[n]:
            flight = _price_log(worth, today, later, best_cost, limits, left[n], bracket, guess)
        flight_price[n] = flight
        today_price[n] = flight
        if _cost(worth, today, best_cost, flight) > day_left[n]:
            unlimited = (math.inf, 0.0)
            today_price[n] = _price_log(
                worth, today, later, best_cost, unlimited, day_left[n], bracket, max(guess, flight)
            )
    return today_price, flight_price


@compiled
def target_prices_log(
    span: tuple[Ints, Ints, Ints],
    outlook: Outlook,
    best_win: Floats32,
    so_far: tuple[Floats, Floats, Floats],
    budget_log: tuple[Floats, Floats],
) -> Floats:
    """Log price of money for the rest of today, (N,): that of the budget, or the one at which the target is met.

    `so_far` holds the value bought, its cost and the target return of each campaign, `budget_log` the prices of budget
    for today and for the flight.
    """
    value, cost, target = so_far
    today_log, flight_log = budget_log
    campaigns, segments = outlook.value_log.shape
    worth, today, later = np.empty((3, segments * len(outlook.bin_price_log)))
    price_log = np.empty(campaigns)
    for n in range(campaigns):
        _lay_out(n, span, outlook, worth, today, later)
        low, high = flight_log[n], max(flight_log[n], math.log(target[n]))
        x = low
        for _ in range(_MAX_EVALUATIONS):
            today_x = max(x, today_log[n])
            more_value = _won(worth, today, best_win, today_x) + _won(worth, later, best_win, x)
            more_cost = _cost(worth, today, outlook.best_cost, today_x) + _cost(worth, later, outlook.best_cost, x)
            if value[n] + more_value < target[n] * (cost[n] + more_cost):
                low = x
            else:
                high = x
            if high - low < _TOLERANCE:
                break
            x = 0.5 * (low + high)
        price_log[n] = max(high, today_log[n])
    return price_log


@inlined
def _lay_out(
    n: int, span: tuple[Ints, Ints, Ints], outlook: Outlook, worth: Floats, today: Floats, later: Floats
) -> tuple[float, float]:
    """One campaign's worths and their weights, today and later; returns the lowest and the highest worth."""
    hours, today_ends, ends = span
    value_log, level_log, volume, persona, start, cumulative, bin_price_log, daypart_log, _ = outlook
    now, today_end, end = start[n] + hours[n], start[n] + today_ends[n], start[n] + ends[n]
    i = 0
    lowest, highest = math.inf, -math.inf
    for s in range(value_log.shape[1]):
        kind = persona[n, s]
        for j in range(len(bin_price_log)):
            row = cumulative[kind, j]
            price_log = level_log[n, s] + bin_price_log[j]
            weight = volume[n, s] * math.exp(price_log)
            worth[i] = value_log[n, s] + daypart_log[kind, j] - price_log
            today[i] = weight * (row[today_end] - row[now])
            later[i] = weight * (row[end] - row[today_end])
            lowest = min(lowest, worth[i])
            highest = max(highest, worth[i])
            i += 1
    return lowest, highest


@compiled
def _won(worth: Floats, weight: Floats, best_win: Floats32, price_log: float) -> float:
    """Value won at a price of money, in the unit of the weights, which are volume x price level."""
    total = 0.0
    for i in range(len(worth)):
        if weight[i] > 0.0:
            total += weight[i] * math.exp(worth[i]) * interpolate(best_win, 0, worth[i] - price_log)
    return total


@compiled
def _cost(worth: Floats, weight: Floats, best_cost: Floats32, price_log: float) -> float:
    total = 0.0
    for i in range(len(worth)):
        if weight[i] > 0.0:
            total += weight[i] * interpolate(best_cost, 0, worth[i] - price_log)
    return total


@compiled
def _capped(
    worth: Floats, today: Floats, later: Floats, best_cost: Floats32, limits: tuple[float, float], price_log: float
) -> float:
    total = min(limits[0], _cost(worth, today, best_cost, price_log))
    if limits[1] > 0.0:
        total += min(limits[1], _cost(worth, later, best_cost, price_log))
    return total


@compiled
def _price_log(
    worth: Floats,
    today: Floats,
    later: Floats,
    best_cost: Floats32,
    limits: tuple[float, float],
    money: float,
    bracket: tuple[float, float],
    guess: float,
) -> float:
    """Log price at which the capped cost meets the money; an end of the bracket if none does."""
    if money <= 0.0:
        return bracket[1]
    search = search_from(guess, bracket[0], bracket[1])
    for evaluation in range(_MAX_EVALUATIONS):
        cost = _capped(worth, today, later, best_cost, limits, search.price)
        excess = math.log(max(cost, 1e-12) / money)
        if abs(excess) <= _TOLERANCE or search.high - search.low < _TOLERANCE:
            break
        search = next_price(search, excess, evaluation, _FLAT)
    return search.price
