"""The world of logged campaigns: volumes, prices and values of a window, drawn around estimates of each segment.

Everything random is drawn by the code that draws the worlds of training markets; only what a segment is like comes from
the estimates instead of a population.
"""

from collections.abc import Sequence

import numpy as np

from gaelp.arrays import Floats, Floats32, Uints
from gaelp.errors import DataError
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.delay_families import delay_parts
from gaelp.market.episode_rows import (
    DAY_HOURS,
    EpisodeRows,
    draw_common,
    draw_price,
    draw_value,
    draw_volume,
    empty_rows,
)
from gaelp.market.parameters import campaign_parameters
from gaelp.market.personas import PersonaTable
from gaelp.market.random import gamma_table, keys_of
from gaelp.market.spec import MarketSpec
from gaelp.market.world import World

__all__ = ["DAYS_MAX", "twin_spec", "twin_world"]

DAYS_MAX = 60
_NO_CAP_MICROS = 10**15
_PLAIN_WAVE = 1.0


def twin_spec(spec: MarketSpec, estimates: SegmentEstimates, days: int) -> MarketSpec:
    """The calibrated market for these campaigns: fitted values instead of ranges, no population spread to draw from.

    Fatigue is left out: click rates are estimated from audiences that were as tired as the log's adverts made them.
    """
    if not 1 <= days <= DAYS_MAX:
        raise DataError(f"a window of {days} days; allowed: 1 to {DAYS_MAX}. Cut it into shorter ones.")
    values = spec.model_dump() | {
        "name": f"{spec.name}-twin",
        "days": days,
        "segments": estimates.row.shape[1],
        "landscapes": [landscape.model_dump() for landscape in estimates.landscapes],
        "randomise": {},
        "fatigue": {"strength": 0.0},
        "creatives": {"count": 1},
    }
    return MarketSpec.model_validate(values)


def twin_world(
    spec: MarketSpec,
    personas: PersonaTable,
    draws: Sequence[SegmentEstimates],
    known: SegmentEstimates,
    seeds: Uints,
    start_hour_of_week: int,
) -> World:
    """A world of len(draws) x N campaigns, one draw after the other; `known` is what the advertiser expects of each.

    Hard caps are what the platform delivers at most; how budgets slow delivery below them is `twin_pacing`. Logged
    campaigns have no hindsight optimum (`gaelp.market.reward`), so it is 0 and rewards are too: money is what counts.
    """
    campaigns, pair = len(seeds), (len(seeds), spec.segments)
    hourly = (spec.hours, *pair)
    parts = delay_parts(spec.delay)
    key = keys_of(seeds)
    parameters = campaign_parameters(spec, key)
    delay = np.full(pair, spec.delay.mean_hours, np.float32)
    kept = [np.exp(-1 / (delay * length)) if spec.delay.mean_hours > 0 else np.zeros(pair) for length in parts.length]
    budget = np.tile(_whole(known.daily_budget_micros * known.overdelivery), len(draws))
    world = World(
        key=key,
        parameters=parameters,
        volume=np.empty(hourly, np.int32),
        level_log=np.empty(hourly, np.float32),
        level_micros=np.empty(hourly, np.float32),
        value_micros=np.empty(hourly, np.float32),
        click_rate=_stacked(draws, "click_rate"),
        persona=np.full(pair, int(np.argmax(personas.share)), np.int32),
        landscape=np.concatenate([each.landscape for each in draws]).astype(np.int32),
        audience=np.maximum(_stacked(draws, "per_hour") * DAY_HOURS, 1.0).astype(np.float32),
        delay_hours=delay,
        open_share=np.full(pair, 1 - spec.delay.immediate_share, np.float32),
        maturing_kept=np.stack(kept).astype(np.float32),
        exposure_kept=np.full(pair, np.exp2(-1 / spec.fatigue.half_life_hours), np.float32),
        tiring=np.zeros(pair, np.float32),
        taste=np.ones(campaigns, np.float32),
        volume_forecast=np.maximum(_tiled(known.per_hour, len(draws)), 1e-6).astype(np.float32),
        price_forecast_log=_tiled(known.level_log, len(draws)),
        start_hour_of_week=np.full(campaigns, start_hour_of_week, np.int32),
        conversion_value_micros=np.concatenate([_whole(each.conversion_value_micros) for each in draws]),
        budget_micros=np.minimum(budget * spec.days, _NO_CAP_MICROS),
        daily_cap_micros=budget,
        optimum_micros=np.zeros(campaigns),
        optimum_spend_micros=np.zeros(campaigns),
        budget_price_log=np.zeros((campaigns, spec.days)),
        objective_price_log=np.full(campaigns, -np.inf),
    )
    _fill(world, spec, personas, draws)
    return world


def _fill(world: World, spec: MarketSpec, personas: PersonaTable, draws: Sequence[SegmentEstimates]) -> None:
    """Draw the hourly arrays campaign by campaign, as a market does."""
    rows, gamma = empty_rows(spec.hours, spec.segments), gamma_table(spec.volume.overdispersion)
    kinds = np.zeros(spec.segments, np.int32)
    intent = np.asarray(personas.share @ personas.intent_log, np.float32)[None]
    start = int(world.start_hour_of_week[0])
    campaigns = len(draws[0].campaign_names)
    for n, key in enumerate(world.key):
        own, place = draws[n // campaigns], n % campaigns
        parameters = world.parameters[n]
        rows.segment_volume[:] = own.per_hour[place]
        rows.segment_price_log[:] = own.level_log[place]
        rows.segment_value_log[:] = np.log(
            own.click_rate[place] * own.conversion_rate[place] * own.conversion_value_micros[place]
        )
        draw_common(key, parameters, start, _PLAIN_WAVE, rows.common_log)
        draw_volume(key, rows, kinds, own.week[place].astype(np.float32)[None], start, gamma)
        draw_price(key, parameters, rows)
        draw_value(key, parameters, rows, kinds, intent, start)
        _publish(n, world, rows)


def _publish(n: int, world: World, rows: EpisodeRows) -> None:
    shape = (world.volume.shape[0], world.volume.shape[2])
    world.volume[:, n] = rows.volume.reshape(shape)
    world.level_log[:, n] = rows.level_log.reshape(shape)
    world.level_micros[:, n] = np.exp(rows.level_log).reshape(shape)
    world.value_micros[:, n] = np.exp(rows.value_log).reshape(shape)


def _whole(micros: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.minimum(np.maximum(micros, 1.0), float(_NO_CAP_MICROS)).astype(np.int64)


def _stacked(draws: Sequence[SegmentEstimates], name: str) -> Floats32:
    return np.concatenate([getattr(each, name) for each in draws]).astype(np.float32)


def _tiled(values: Floats, copies: int) -> Floats32:
    return np.tile(values, (copies, 1)).astype(np.float32)
