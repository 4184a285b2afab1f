"""What happens whatever the bidder does: volumes, price levels and values of whole episodes, and their optimum."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.config.market import MarketSpec
from gaelp.market.compiled import compiled, inlined
from gaelp.market.landscape import Landscapes
from gaelp.market.parameters import campaign_parameters
from gaelp.market.personas import PersonaTable
from gaelp.market.random import advance, gamma_table, keyed, keys_of, normal, poisson, quantile, uniform
from gaelp.market.reward import Case, hindsight_optimum

__all__ = ["DAY_HOURS", "World", "draw_world", "price_profile_log", "week_activity"]

DAY_HOURS = 24
WEEK_HOURS = 168
_CAMPAIGN, _SEGMENT, _VOLUME, _COMMON, _DRIFT, _RIVALS, _VALUE = 2, 3, 4, 5, 6, 7, 11  # random streams of this module
_WAVE_HOUR = 7  # prices cross their mean upwards here: dearest six hours later, cheapest six hours before
_DIURNAL_LOG_SD = 0.3  # how much campaigns differ in the height of the daily price wave
_CONVERSION_CEILING_LOG = math.log(0.6)
_JUMP_START, _JUMP_END = 0.015, 0.06  # chance an hour that a price jump begins or ends

Record = Any  # one campaign of parameters.PARAMETERS; its fields are known to numpy, not to the type checker
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class World(NamedTuple):
    """Everything about N episodes that no bid can change; hourly arrays are (T, N, S)."""

    key: npt.NDArray[np.uint64]  # (N,) start of each campaign's random numbers
    parameters: npt.NDArray[np.void]  # (N,) records
    volume: npt.NDArray[np.int32]  # (T, N, S) opportunities
    level_log: Singles  # (T, N, S) log micros
    level_micros: Singles  # (T, N, S) the same, ready for use
    value_micros: Singles  # (T, N, S) expected value of an impression, before creative and fatigue
    click_rate: Singles  # (N, S)
    persona: npt.NDArray[np.int32]  # (N, S)
    landscape: npt.NDArray[np.int32]  # (N, S)
    audience: Singles  # (N, S) people within reach on an average day
    delay_hours: Singles  # (N, S) mean time from click to report
    maturing_kept: Singles  # (N, S) share of unreported clicks still open an hour later
    exposure_kept: Singles  # (N,) share of exposure remembered an hour later
    volume_forecast: Singles  # (N, S)
    price_forecast_log: Singles  # (N, S)
    start_hour_of_week: npt.NDArray[np.int32]  # (N,)
    conversion_value_micros: npt.NDArray[np.int64]  # (N,)
    budget_micros: npt.NDArray[np.int64]  # (N,)
    daily_cap_micros: npt.NDArray[np.int64]  # (N,)
    optimum_micros: Doubles  # (N,)
    optimum_spend_micros: Doubles  # (N,)
    budget_price_log: Doubles  # (N, days) log price of budget in the optimum


class _People(NamedTuple):
    """The persona table as the compiled loop reads it, and how many landscapes there are."""

    landscapes: int

    cumulative_share: Doubles  # (P,)
    activity: Singles  # (P, 168)
    price_log: Singles  # (P,)
    click_log: Singles
    conversion_log: Singles
    value_log: Singles
    intent_log: Singles  # (P, 24)
    delay_index: Singles  # (P,)
    best_affinity_log: Singles  # (P,) of the creatives on offer


class _Scratch(NamedTuple):
    """One campaign's hours, segments x hours, small enough to stay in the processor's cache."""

    volume: Doubles
    level_log: Doubles
    value_log: Doubles
    worth_log: Singles  # value over price level, with the best creative
    weight: Singles  # volume x price level
    gain: Singles  # volume x value, with the best creative
    common_log: Doubles  # (T,) price movement shared by all segments


class _Effects(NamedTuple):
    """What sets one campaign apart, in log units."""

    price: float
    click: float
    conversion: float
    worth: float  # log value of a conversion, micros
    wave: float  # factor on the daily price wave
    budget: float  # uniform draws
    cap: float


def price_profile_log(spec: MarketSpec) -> Singles:
    """Mean log price by hour of day: the public part of how prices move over a day, shape (24,)."""
    hour = np.arange(DAY_HOURS)
    wave = spec.price.diurnal_amplitude * np.sin(2 * np.pi * (hour - _WAVE_HOUR) / DAY_HOURS)
    pause = spec.rivals.depth / (1 + np.exp(-(hour - spec.rivals.around_hour)))
    return np.asarray(wave - pause, dtype=np.float32)


def week_activity(spec: MarketSpec, personas: PersonaTable) -> Singles:
    """Volume by persona and hour of week, shape (P, 168), mean 1: measured factors if there are any, else personas'."""
    if not spec.hour_of_week:
        return personas.activity
    week = np.asarray(spec.hour_of_week, dtype=np.float32)
    return np.tile(week / week.mean(), (len(personas.names), 1))


def draw_world(
    spec: MarketSpec, personas: PersonaTable, landscapes: Landscapes, seeds: npt.NDArray[np.uint64]
) -> World:
    """Draw N episodes and solve each one's hindsight optimum."""
    world = _empty_world(spec, seeds)
    shape = (spec.segments, spec.hours)
    doubles = [np.empty(shape) for _ in range(3)]
    singles = [np.empty(shape, np.float32) for _ in range(3)]
    scratch = _Scratch(doubles[0], doubles[1], doubles[2], singles[0], singles[1], singles[2], np.empty(spec.hours))
    gamma = gamma_table(spec.volume.overdispersion)
    _draw_all(world, _people(spec, personas, landscapes), scratch, gamma, landscapes.best_win, landscapes.best_cost)
    return world


def _people(spec: MarketSpec, personas: PersonaTable, landscapes: Landscapes) -> _People:
    offered = personas.affinity_log[:, : spec.creatives.count]
    return _People(
        landscapes=landscapes.pooled,
        cumulative_share=np.cumsum(personas.share, dtype=np.float64),
        activity=week_activity(spec, personas),
        price_log=personas.price_log,
        click_log=personas.click_log,
        conversion_log=personas.conversion_log,
        value_log=personas.value_log,
        intent_log=personas.intent_log,
        delay_index=personas.delay_index,
        best_affinity_log=offered.max(axis=1) if spec.creatives.count > 1 else np.zeros(len(offered), np.float32),
    )


def _empty_world(spec: MarketSpec, seeds: npt.NDArray[np.uint64]) -> World:
    campaigns = len(seeds)
    hourly = (spec.hours, campaigns, spec.segments)
    pair = (campaigns, spec.segments)
    key = keys_of(seeds)
    parameters = campaign_parameters(spec, key)
    return World(
        key=key,
        parameters=parameters,
        volume=np.empty(hourly, np.int32),
        level_log=np.empty(hourly, np.float32),
        level_micros=np.empty(hourly, np.float32),
        value_micros=np.empty(hourly, np.float32),
        click_rate=np.empty(pair, np.float32),
        persona=np.empty(pair, np.int32),
        landscape=np.empty(pair, np.int32),
        audience=np.empty(pair, np.float32),
        delay_hours=np.empty(pair, np.float32),
        maturing_kept=np.empty(pair, np.float32),
        exposure_kept=np.exp2(-1 / parameters["fatigue_half_life_hours"]).astype(np.float32),
        volume_forecast=np.empty(pair, np.float32),
        price_forecast_log=np.empty(pair, np.float32),
        start_hour_of_week=np.empty(campaigns, np.int32),
        conversion_value_micros=np.empty(campaigns, np.int64),
        budget_micros=np.empty(campaigns, np.int64),
        daily_cap_micros=np.empty(campaigns, np.int64),
        optimum_micros=np.empty(campaigns),
        optimum_spend_micros=np.empty(campaigns),
        budget_price_log=np.empty((campaigns, spec.days)),
    )


@compiled
def _draw_all(
    world: World,
    people: _People,
    scratch: _Scratch,
    gamma: Doubles,
    best_win: Singles,
    best_cost: Singles,
) -> None:
    segments = world.volume.shape[2]
    for n in range(len(world.key)):
        key = world.key[n]
        p = world.parameters[n]
        world.start_hour_of_week[n] = int(7 * uniform(keyed(key, _CAMPAIGN, 0, 0))) * DAY_HOURS
        effects = _campaign_effects(key, p)
        _draw_common(key, p, effects.wave, scratch.common_log)
        hourly_cost = 0.0
        for s in range(segments):
            hourly_cost += _draw_segment(key, p, n, s, effects, world, people, scratch, gamma)
        _set_money(p, n, effects, hourly_cost, world)
        _publish(p, n, world, people, scratch)
        case = Case(scratch.worth_log, scratch.weight, scratch.gain, world.landscape[n], DAY_HOURS)
        budget, cap = float(world.budget_micros[n]), float(world.daily_cap_micros[n])
        world.optimum_micros[n], world.optimum_spend_micros[n] = hindsight_optimum(
            case, best_win, best_cost, budget, cap, world.budget_price_log[n]
        )


@compiled
def _campaign_effects(key: np.uint64, p: Record) -> _Effects:
    mean_worth = p.price_level_micros / (p.response_click_rate * p.response_conversion_rate)
    return _Effects(
        p.price_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 1, 0)),
        p.response_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 2, 0)),
        p.response_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 3, 0)),
        math.log(mean_worth) + p.response_conversion_value_log_sd * normal(keyed(key, _CAMPAIGN, 4, 0)),
        math.exp(_DIURNAL_LOG_SD * normal(keyed(key, _CAMPAIGN, 5, 0))),
        uniform(keyed(key, _CAMPAIGN, 6, 0)),
        uniform(keyed(key, _CAMPAIGN, 7, 0)),
    )


@compiled
def _draw_common(key: np.uint64, p: Record, wave: float, common_log: Doubles) -> None:
    """Price movement all segments share: daily wave, AR(1) drift, and rivals who stop bidding in the evening."""
    kept = p.price_drift_persistence
    fresh = math.sqrt(1.0 - kept * kept)
    drift = 0.0
    stop_hour = 0.0
    depth = 0.0
    for t in range(len(common_log)):
        hour = t % DAY_HOURS
        if hour == 0:
            state = keyed(key, _RIVALS, t, 0)
            random = p.rivals_randomness
            stop_hour = p.rivals_around_hour + 2.0 * random * normal(state)
            depth = p.rivals_depth * math.exp(0.5 * random * normal(advance(state)) - 0.125 * random * random)
        shock = p.price_common_drift_sd * normal(keyed(key, _COMMON, t, 0))
        drift = shock if t == 0 else kept * drift + fresh * shock
        diurnal = p.price_diurnal_amplitude * wave * math.sin(2.0 * math.pi * (hour - _WAVE_HOUR) / DAY_HOURS)
        common_log[t] = diurnal + drift - depth / (1.0 + math.exp(stop_hour - hour))


@inlined
def _draw_segment(
    key: np.uint64,
    p: Record,
    n: int,
    s: int,
    effects: _Effects,
    world: World,
    people: _People,
    scratch: _Scratch,
    gamma: Doubles,
) -> float:
    """One segment's fixed traits and its hours; returns the mean hourly cost of winning everything."""
    kind = _pick(people.cumulative_share, uniform(keyed(key, _SEGMENT, 0, s)))
    world.persona[n, s] = kind
    world.landscape[n, s] = int(people.landscapes * uniform(keyed(key, _SEGMENT, 1, s)))
    price_draw = normal(keyed(key, _SEGMENT, 2, s))
    strength = p.response_persona_strength
    price = math.log(p.price_level_micros) + p.price_segment_log_sd * price_draw + effects.price
    price += strength * people.price_log[kind]
    rho = p.response_price_value_correlation
    click = math.log(p.response_click_rate) + effects.click + strength * people.click_log[kind]
    click += p.response_click_log_sd * (
        rho * price_draw + math.sqrt(1.0 - rho * rho) * normal(keyed(key, _SEGMENT, 3, s))
    )
    click = min(click, _CONVERSION_CEILING_LOG)
    conversion = (
        math.log(p.response_conversion_rate)
        + p.response_conversion_log_sd * normal(keyed(key, _SEGMENT, 4, s))
        + effects.conversion
    )
    conversion = min(conversion + strength * people.conversion_log[kind], _CONVERSION_CEILING_LOG)
    value = click + conversion + effects.worth + strength * people.value_log[kind]
    volume = p.volume_per_hour * math.exp(p.volume_segment_log_sd * normal(keyed(key, _SEGMENT, 5, s)))
    world.click_rate[n, s] = math.exp(click)
    world.audience[n, s] = volume * DAY_HOURS
    delay = p.delay_mean_hours * people.delay_index[kind]
    world.delay_hours[n, s] = delay
    world.maturing_kept[n, s] = math.exp(-1.0 / delay) if delay > 0.0 else 0.0
    world.volume_forecast[n, s] = volume * math.exp(p.volume_prior_log_error * normal(keyed(key, _SEGMENT, 6, s)))
    world.price_forecast_log[n, s] = price + p.price_prior_log_error * normal(keyed(key, _SEGMENT, 7, s))
    start = world.start_hour_of_week[n]
    _draw_volume(key, s, volume, people.activity[kind], start, gamma, scratch.volume[s])
    _draw_price(key, p, s, price, scratch.common_log, scratch.level_log[s])
    _draw_value(key, p, s, value, people.intent_log[kind], scratch.value_log[s])
    return float(volume * math.exp(price))


@inlined
def _pick(cumulative_share: Doubles, u: float) -> int:
    kind = 0
    while kind < len(cumulative_share) - 1 and cumulative_share[kind] < u * cumulative_share[-1]:
        kind += 1
    return kind


@compiled
def _draw_volume(
    key: np.uint64, s: int, volume: float, activity: Singles, start: int, gamma: Doubles, out: Doubles
) -> None:
    """Negative binomial: a Poisson count around a gamma-distributed mean."""
    hour = start
    for t in range(len(out)):
        state = keyed(key, _VOLUME, t, s)
        out[t] = poisson(volume * activity[hour] * quantile(gamma, state), advance(state))
        hour = hour + 1 if hour < WEEK_HOURS - 1 else 0


@compiled
def _draw_price(key: np.uint64, p: Record, s: int, price: float, common_log: Doubles, out: Doubles) -> None:
    """Log level by hour: fixed level + common movement + the segment's own drift, jumps and noise."""
    kept, drift_sd, noise_sd = p.price_drift_persistence, p.price_segment_drift_sd, p.price_hourly_noise_sd
    jump_size = p.price_jump_log_size
    fresh = math.sqrt(1.0 - kept * kept)
    drift = 0.0
    jump = 0.0
    for t in range(len(out)):
        state = keyed(key, _DRIFT, t, s)
        shock = drift_sd * normal(state)
        drift = shock if t == 0 else kept * drift + fresh * shock
        state = advance(state)
        noise = noise_sd * normal(state)
        if jump_size > 0.0:
            u = uniform(advance(state))
            if jump == 0.0 and u < _JUMP_START:
                jump = jump_size
            elif jump > 0.0 and u < _JUMP_END:
                jump = 0.0
        out[t] = price + common_log[t] + drift + jump + noise


@compiled
def _draw_value(key: np.uint64, p: Record, s: int, value: float, intent_log: Singles, out: Doubles) -> None:
    """Log expected value of an impression by hour: fixed + daypart intent + drift."""
    kept, drift_sd, daypart = p.price_drift_persistence, p.response_value_drift_sd, p.response_daypart_amplitude
    fresh = math.sqrt(1.0 - kept * kept)
    drift = 0.0
    hour = 0
    for t in range(len(out)):
        if drift_sd > 0.0:
            shock = drift_sd * normal(keyed(key, _VALUE, t, s))
            drift = shock if t == 0 else kept * drift + fresh * shock
        out[t] = value + daypart * intent_log[hour] + drift
        hour = hour + 1 if hour < DAY_HOURS - 1 else 0


@compiled
def _set_money(p: Record, n: int, effects: _Effects, hourly_cost: float, world: World) -> None:
    hours = world.volume.shape[0]
    share = p.budget_share_low * (p.budget_share_high / p.budget_share_low) ** effects.budget
    budget = max(share * hourly_cost * hours, 1.0)
    even_days = budget * DAY_HOURS / hours
    world.conversion_value_micros[n] = int(math.exp(effects.worth))
    world.budget_micros[n] = int(budget)
    daily = p.budget_daily_low + effects.cap * (p.budget_daily_high - p.budget_daily_low)
    world.daily_cap_micros[n] = max(int(even_days * daily), 1)


@inlined
def _publish(p: Record, n: int, world: World, people: _People, scratch: _Scratch) -> None:
    """Write one campaign's hours into the world and what the optimum needs into the scratch.

    The optimum serves each segment its best creative, which multiplies the value and costs nothing.
    """
    out_volume, out_level_log, out_level = world.volume, world.level_log, world.level_micros
    out_value = world.value_micros
    hours, _, segments = world.volume.shape
    for s in range(segments):
        volume, level_log, value_log = scratch.volume[s], scratch.level_log[s], scratch.value_log[s]
        worth_log, weight, gain = scratch.worth_log[s], scratch.weight[s], scratch.gain[s]
        liked_log = p.creatives_affinity_strength * people.best_affinity_log[world.persona[n, s]]
        liked = math.exp(liked_log)
        for t in range(hours):
            level, value = math.exp(level_log[t]), math.exp(value_log[t])
            worth_log[t] = value_log[t] - level_log[t] + liked_log
            weight[t] = volume[t] * level
            gain[t] = volume[t] * value * liked
            out_volume[t, n, s] = int(volume[t])
            out_level_log[t, n, s] = level_log[t]
            out_level[t, n, s] = level
            out_value[t, n, s] = value
