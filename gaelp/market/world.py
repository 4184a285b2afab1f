"""What happens whatever the bidder does: volumes, price levels and values of whole episodes, and their optimum."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints32, Uints
from gaelp.config.objective import VALUE, Objective
from gaelp.market.compiled import compiled, inlined
from gaelp.market.delay_families import delay_parts
from gaelp.market.episode_rows import (
    DAY_HOURS,
    WAVE_HOUR,
    EpisodeRows,
    Record,
    draw_common,
    draw_price,
    draw_value,
    draw_volume,
    empty_rows,
)
from gaelp.market.exponential import exp
from gaelp.market.hindsight import Case, ReturnDemand, empty_case, hindsight_optimum
from gaelp.market.landscape import GRID_POINTS, Landscapes
from gaelp.market.objective import least_price
from gaelp.market.parameters import campaign_parameters
from gaelp.market.personas import PersonaTable
from gaelp.market.random import gamma_table, keyed, keys_of, normal, uniform
from gaelp.market.spec import MarketSpec

__all__ = ["DAY_HOURS", "World", "draw_world", "price_profile_log", "week_activity"]

_CAMPAIGN, _SEGMENT = 2, 3  # random streams of this module
_BLOCK = 16  # campaigns
_DIURNAL_LOG_SD = 0.3  # how much campaigns differ in the height of the daily price wave
_CONVERSION_CEILING_LOG = math.log(0.6)


class World(NamedTuple):
    """Everything about N episodes that no bid can change; hourly arrays are (T, N, S)."""

    key: Uints  # (N,) start of each campaign's random numbers
    parameters: npt.NDArray[np.void]  # (N,) records
    volume: Ints32  # (T, N, S) opportunities
    level_log: Floats32  # (T, N, S) log micros
    level_micros: Floats32  # (T, N, S) the same, ready for use
    value_micros: Floats32  # (T, N, S) expected value of an impression, before creative and fatigue
    click_rate: Floats32  # (N, S)
    persona: Ints32  # (N, S)
    landscape: Ints32  # (N, S)
    audience: Floats32  # (N, S) people within reach on an average day
    delay_hours: Floats32  # (N, S) mean time from click to report
    open_share: Floats32  # (N, S) share of conversions that are not reported at once; equal in all segments
    maturing_kept: Floats32  # (K, N, S) share of unreported clicks of each delay part still open an hour later
    exposure_kept: Floats32  # (N, S) share of exposure remembered an hour later; equal in all segments
    tiring: Floats32  # (N, S) how much an impression per member of the audience lowers appeal
    taste: Floats32  # (N,) exponent on how much a creative is liked
    volume_forecast: Floats32  # (N, S)
    price_forecast_log: Floats32  # (N, S)
    start_hour_of_week: Ints32  # (N,)
    conversion_value_micros: Ints  # (N,)
    budget_micros: Ints  # (N,)
    daily_cap_micros: Ints  # (N,)
    optimum_micros: Floats  # (N,) of the objective
    optimum_spend_micros: Floats  # (N,)
    budget_price_log: Floats  # (N, days) log price of money in the optimum
    objective_price_log: Floats  # (N,) the part of it that the objective asks for, whatever the budget; -inf for none


class _People(NamedTuple):
    """The persona table as the compiled loop reads it, and how many landscapes there are."""

    landscapes: int

    cumulative_share: Floats  # (P,)
    activity: Floats32  # (P, 168)
    price_log: Floats32  # (P,)
    click_log: Floats32
    conversion_log: Floats32
    value_log: Floats32
    intent_log: Floats32  # (P, 24)
    delay_index: Floats32  # (P,)
    best_affinity_log: Floats32  # (P,) of the creatives on offer
    fatigue: Floats32  # (P,)
    delay_length: Floats  # (K,) of each delay part, over the mean
    launch_share: Floats  # (24,) cumulative, of the hours of day at which flights begin


class _Block(NamedTuple):
    """Hours of a few campaigns on their way into the world: campaigns x (hours x segments).

    The world is stored hour by hour. Written one campaign at a time, each cache line would be fetched many times.
    """

    volume: Ints32
    level_log: Floats32
    level_micros: Floats32
    value_micros: Floats32


class _Effects(NamedTuple):
    """What sets one campaign apart, in log units."""

    price: float
    click: float
    conversion: float
    worth: float  # log value of a conversion, micros
    wave: float  # factor on the daily price wave
    budget: float  # uniform draws
    cap: float


def price_profile_log(spec: MarketSpec) -> Floats32:
    """Mean log price by hour of day: the public part of how prices move over a day, shape (24,)."""
    hour = np.arange(DAY_HOURS)
    wave = spec.price.diurnal_amplitude * np.sin(2 * np.pi * (hour - WAVE_HOUR) / DAY_HOURS)
    pause = spec.rivals.depth / (1 + np.exp(-(hour - spec.rivals.around_hour)))
    return np.asarray(wave - pause, dtype=np.float32)


def week_activity(spec: MarketSpec, personas: PersonaTable) -> Floats32:
    """Volume by persona and hour of week, shape (P, 168), mean 1: measured factors if there are any, else personas'."""
    if not spec.hour_of_week:
        return personas.activity
    week = np.asarray(spec.hour_of_week, dtype=np.float32)
    return np.tile(week / week.mean(), (len(personas.names), 1))


def draw_world(
    spec: MarketSpec,
    personas: PersonaTable,
    landscapes: Landscapes,
    seeds: Uints,
    objective: Objective = VALUE,
    *,
    over: World | None = None,
) -> World:
    """Draw N episodes and solve each one's hindsight optimum; of what is drawn, nothing depends on the objective.

    The hourly arrays of the world `over`, if they have the right shape, are written over: new memory costs time.
    """
    world = _empty_world(spec, seeds, over)
    places = spec.hours * spec.segments
    block = _Block(np.empty((_BLOCK, places), np.int32), *(np.empty((_BLOCK, places), np.float32) for _ in range(3)))
    case = empty_case(spec.days, DAY_HOURS * spec.segments)
    tables = (gamma_table(spec.volume.overdispersion), landscapes.best_win.ravel(), landscapes.best_cost.ravel())
    demand = ReturnDemand(least_price(objective), objective.target_roas or 0.0)
    cpa_micros = float(objective.target_cpa_micros or 0)
    people, rows = _people(spec, personas, landscapes), empty_rows(spec.hours, spec.segments)
    _draw_all(world, people, rows, case, block, tables, (demand, cpa_micros))
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
        fatigue=personas.fatigue.astype(np.float32),
        delay_length=delay_parts(spec.delay).length,
        launch_share=np.cumsum(spec.launch_hours or (1.0,), dtype=np.float64),
    )


def _empty_world(spec: MarketSpec, seeds: Uints, over: World | None) -> World:
    campaigns = len(seeds)
    hourly = (spec.hours, campaigns, spec.segments)
    used = over if over is not None and over.volume.shape == hourly else None
    pair = (campaigns, spec.segments)
    key = keys_of(seeds)
    parameters = campaign_parameters(spec, key)
    return World(
        key=key,
        parameters=parameters,
        volume=used.volume if used else np.empty(hourly, np.int32),
        level_log=used.level_log if used else np.empty(hourly, np.float32),
        level_micros=used.level_micros if used else np.empty(hourly, np.float32),
        value_micros=used.value_micros if used else np.empty(hourly, np.float32),
        click_rate=np.empty(pair, np.float32),
        persona=np.empty(pair, np.int32),
        landscape=np.empty(pair, np.int32),
        audience=np.empty(pair, np.float32),
        delay_hours=np.empty(pair, np.float32),
        open_share=_each_segment(1 - parameters["delay_immediate_share"], spec.segments),
        maturing_kept=np.empty((len(delay_parts(spec.delay).length), *pair), np.float32),
        exposure_kept=_each_segment(np.exp2(-1 / parameters["fatigue_half_life_hours"]), spec.segments),
        tiring=np.empty(pair, np.float32),
        taste=parameters["creatives_affinity_strength"].astype(np.float32),
        volume_forecast=np.empty(pair, np.float32),
        price_forecast_log=np.empty(pair, np.float32),
        start_hour_of_week=np.empty(campaigns, np.int32),
        conversion_value_micros=np.empty(campaigns, np.int64),
        budget_micros=np.empty(campaigns, np.int64),
        daily_cap_micros=np.empty(campaigns, np.int64),
        optimum_micros=np.empty(campaigns),
        optimum_spend_micros=np.empty(campaigns),
        budget_price_log=np.empty((campaigns, spec.days)),
        objective_price_log=np.empty(campaigns),
    )


def _each_segment(of_campaign: Floats, segments: int) -> Floats32:
    """A campaign's number beside each of its segments, (N, S), so that loops need not stop at every campaign."""
    return np.repeat(of_campaign.astype(np.float32)[:, None], segments, axis=1)


@compiled
def _draw_all(
    world: World,
    people: _People,
    rows: EpisodeRows,
    case: Case,
    block: _Block,
    tables: tuple[Floats, Floats32, Floats32],
    objective: tuple[ReturnDemand, float],
) -> None:
    gamma, best_win, best_cost = tables
    demand, cpa_micros = objective
    segments = world.volume.shape[2]
    for n in range(len(world.key)):
        key = world.key[n]
        p = world.parameters[n]
        start = int(7 * uniform(keyed(key, _CAMPAIGN, 0, 0))) * DAY_HOURS
        start += _pick(people.launch_share, uniform(keyed(key, _CAMPAIGN, 8, 0)))
        world.start_hour_of_week[n] = start
        effects = _campaign_effects(key, p)
        draw_common(key, p, start, effects.wave, rows.common_log)
        hourly_cost = 0.0
        for s in range(segments):
            hourly_cost += _draw_segment(key, p, n, s, effects, world, people, rows)
        draw_volume(key, rows, world.persona[n], people.activity, start, gamma)
        draw_price(key, p, rows)
        draw_value(key, p, rows, world.persona[n], people.intent_log, start)
        _set_money(p, n, effects, hourly_cost, world)
        _write(p, n, world, people, rows, case, block)
        if n % _BLOCK == _BLOCK - 1 or n == len(world.key) - 1:
            _publish(n - n % _BLOCK, n + 1, world, block)
        budget, cap = float(world.budget_micros[n]), float(world.daily_cap_micros[n])
        if cpa_micros > 0.0:
            demand = ReturnDemand(demand.least_price, world.conversion_value_micros[n] / cpa_micros)
        world.optimum_micros[n], world.optimum_spend_micros[n], world.objective_price_log[n] = hindsight_optimum(
            case, best_win, best_cost, budget, cap, world.budget_price_log[n], demand
        )


@compiled
def _campaign_effects(key: np.uint64, p: Record) -> _Effects:
    mean_worth = p.price_level_micros / (p.response_click_rate * p.response_conversion_rate) * p.response_return_ratio
    return _Effects(
        p.price_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 1, 0)),
        p.response_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 2, 0)),
        p.response_campaign_log_sd * normal(keyed(key, _CAMPAIGN, 3, 0)),
        math.log(mean_worth) + p.response_conversion_value_log_sd * normal(keyed(key, _CAMPAIGN, 4, 0)),
        math.exp(_DIURNAL_LOG_SD * normal(keyed(key, _CAMPAIGN, 5, 0))),
        uniform(keyed(key, _CAMPAIGN, 6, 0)),
        uniform(keyed(key, _CAMPAIGN, 7, 0)),
    )


@inlined
def _draw_segment(
    key: np.uint64,
    p: Record,
    n: int,
    s: int,
    effects: _Effects,
    world: World,
    people: _People,
    rows: EpisodeRows,
) -> float:
    """One segment's fixed traits; returns the mean hourly cost of winning everything."""
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
    world.tiring[n, s] = np.float32(p.fatigue_strength) * people.fatigue[kind]
    for k in range(len(people.delay_length)):
        world.maturing_kept[k, n, s] = math.exp(-1.0 / (delay * people.delay_length[k])) if delay > 0.0 else 0.0
    world.volume_forecast[n, s] = volume * math.exp(p.volume_prior_log_error * normal(keyed(key, _SEGMENT, 6, s)))
    world.price_forecast_log[n, s] = price + p.price_prior_log_error * normal(keyed(key, _SEGMENT, 7, s))
    rows.segment_volume[s], rows.segment_price_log[s], rows.segment_value_log[s] = volume, price, value
    return float(volume * math.exp(price))


@inlined
def _pick(cumulative_share: Floats, u: float) -> int:
    """The first entry whose cumulative share reaches this much of the whole."""
    kind = 0
    while kind < len(cumulative_share) - 1 and cumulative_share[kind] < u * cumulative_share[-1]:
        kind += 1
    return kind


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


@compiled
def _write(p: Record, n: int, world: World, people: _People, rows: EpisodeRows, case: Case, block: _Block) -> None:
    """Turn one campaign's logs into micros for its place in the block, and into what the optimum needs.

    The optimum serves each segment its best creative, which multiplies the value and costs nothing.
    """
    segments = world.volume.shape[2]
    volume, level_log, value_log = rows.volume, rows.level_log, rows.value_log
    worth, weight, gain, start = case.worth, case.weight, case.gain, case.start
    place = n % _BLOCK
    out_volume, out_level_log = block.volume[place], block.level_log[place]
    out_level, out_value = block.level_micros[place], block.value_micros[place]
    liked_log, liked = rows.draws, rows.more_draws  # of each segment, hour after hour the same, from here on
    for s in range(segments):
        liked_log[s] = p.creatives_affinity_strength * people.best_affinity_log[world.persona[n, s]]
        liked[s] = math.exp(liked_log[s])
        start[s] = world.landscape[n, s] * GRID_POINTS
    _repeat(liked_log, segments)
    _repeat(liked, segments)
    _repeat(start, segments)
    for i in range(len(volume)):
        level, value = exp(level_log[i]), exp(value_log[i])
        weight[i] = volume[i] * level
        gain[i] = volume[i] * value
        out_level[i] = level
        out_value[i] = value
    for i in range(len(volume)):
        out_volume[i] = np.int32(volume[i])
        out_level_log[i] = level_log[i]
        worth[i] = value_log[i] - level_log[i] + liked_log[i]
        gain[i] *= np.float32(liked[i])


@inlined
def _repeat(row: Any, done: int) -> None:
    """Fill a row with its first `done` numbers again and again, twice as many at a time."""
    while done < len(row):
        more = min(done, len(row) - done)
        source, target = row[:more], row[done : done + more]
        for i in range(more):
            target[i] = source[i]
        done += more


@compiled
def _publish(first: int, last: int, world: World, block: _Block) -> None:
    """Copy the campaigns of a block to where the world has them."""
    _copy_hours(block.volume, first, last, world.volume)
    _copy_hours(block.level_log, first, last, world.level_log)
    _copy_hours(block.level_micros, first, last, world.level_micros)
    _copy_hours(block.value_micros, first, last, world.value_micros)


@inlined
def _copy_hours(rows: Any, first: int, last: int, out: Any) -> None:
    hours, _, segments = out.shape
    for t in range(hours):
        for n in range(first, last):
            for s in range(segments):
                out[t, n, s] = rows[n - first, t * segments + s]
