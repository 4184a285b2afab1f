"""The market: N campaigns x S segments that bid hour by hour on drawn worlds, with exact replay of a seed."""

from collections.abc import Mapping

import numpy as np

from gaelp.arrays import Floats32, Ints, Ints8, Uints
from gaelp.config.objective import VALUE, Objective
from gaelp.errors import ActionError, DataError
from gaelp.market.delay_families import delay_parts
from gaelp.market.hour import run_hour
from gaelp.market.landscape import Landscapes, build_landscapes
from gaelp.market.personas import PersonaTable
from gaelp.market.price_tracking import price_at_win_rate
from gaelp.market.reports import Reports
from gaelp.market.reward import RewardMeter
from gaelp.market.spec import LandscapeSpec, MarketSpec
from gaelp.market.state import MarketState, MarketTables, empty_state
from gaelp.market.view import Action, Brief, Observation, Outcome
from gaelp.market.world import DAY_HOURS, World, draw_world, price_profile_log, week_activity

__all__ = ["Market", "budget_share", "seeds_from"]

_STATE_VERSION = 1
_HIGHEST_BID_MICROS = 10**12
_WAITING_HOURS = 72  # at least so many hours of late conversions are stored, as in states of earlier releases


def seeds_from(seed: int, campaigns: int, episode: int = 0) -> Uints:
    """Campaign seeds of one batch: campaign i of episode k depends on (seed, k, i) alone, not on how many there are."""
    entropy = np.random.SeedSequence([seed, episode]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        return np.asarray(entropy + np.arange(campaigns, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


class Market:
    """A batch of campaigns that share a spec; `reset` draws their episodes, `step` runs one hour.

    The objective decides what is rewarded, not what happens: the same seeds and bids bring the same hours.
    """

    def __init__(
        self,
        spec: MarketSpec,
        personas: PersonaTable,
        landscapes: tuple[LandscapeSpec, ...],
        objective: Objective = VALUE,
    ) -> None:
        self.spec = spec
        self.objective = objective
        self.personas = personas
        self.landscapes = _landscapes(spec, landscapes)
        self._activity = week_activity(spec, personas)
        self._tables = _tables(spec, personas, self.landscapes)
        self._check_creatives()

    def _check_creatives(self) -> None:
        offered = self.personas.affinity_log.shape[1]
        if self.spec.creatives.count > max(offered, 1):
            raise DataError(
                f"market {self.spec.name!r} asks for {self.spec.creatives.count} creatives, the personas rate "
                f"{offered}: lower creatives.count or add creatives"
            )

    @property
    def campaigns(self) -> int:
        """How many campaigns the last reset drew."""
        return len(self._seeds)

    @property
    def seeds(self) -> Uints:
        """The seed of each campaign, (N,)."""
        return self._seeds

    @property
    def hours(self) -> int:
        """Length of an episode."""
        return self.spec.hours

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self.hour >= self.hours

    def reset(self, seeds: Uints) -> Observation:
        """Draw one episode for each seed and return the first observation; the last world is written over."""
        seeds = np.asarray(seeds, dtype=np.uint64)
        last = getattr(self, "world", None)
        world = draw_world(self.spec, self.personas, self.landscapes, seeds, self.objective, over=last)
        first = self.launch(world, seeds)
        self._drawn = True
        return first

    def launch(self, world: World, seeds: Uints) -> Observation:
        """Start episodes on a world that was not drawn here, of the spec's hours and segments; else like `reset`.

        Such episodes cannot be saved: `restore` draws the world again from its seeds.
        """
        _check_world(world, self.spec, seeds)
        self.world, self._seeds, self._drawn = world, seeds, False
        self.state = self._launch_state()
        self._reports = self._first_reports()
        self.brief = self._make_brief()
        self.meter = RewardMeter(
            self.objective, world.optimum_micros, world.budget_micros, world.conversion_value_micros
        )
        self.hour = 0
        self._hours_run = np.zeros(self.campaigns, np.int64)
        self._reward = np.zeros(self.campaigns, np.float32)
        return self.observe()

    def _launch_state(self) -> MarketState:
        spec, world = self.spec, self.world
        state = empty_state(
            self.campaigns,
            spec.segments,
            spec.creatives.count,
            waiting_hours=min(spec.delay.window_hours, max(self.hours, _WAITING_HOURS)),
            delay_parts=len(self._tables.delay_share),
        )
        state.left_micros[:] = world.budget_micros
        state.day_left_micros[:] = np.minimum(world.daily_cap_micros, world.budget_micros)
        state.price_level_log[:] = world.price_forecast_log + self._launch_profile_log()
        state.price_signal_log[:] = state.price_level_log
        state.bid_log[:] = state.price_level_log
        state.in_market[:] = 1.0
        state.pace[:] = 1.0
        return state

    def _launch_profile_log(self) -> Floats32:
        """Mean log price of the hour of day at launch, (N, 1)."""
        return self._tables.price_profile_log[self.world.start_hour_of_week % DAY_HOURS][:, None]

    def _first_reports(self) -> Reports | None:
        """Reports that differ from the state, where they are late or revised."""
        spec = self.spec.reports
        if not spec.lag_hours and not spec.invalid_share:
            return None
        return Reports(spec, self.world, self.state, self._tables.price_profile_log)

    def observe(self) -> Observation:
        """What a bidder sees now; arrays are views that later steps change."""
        shared = Observation.__slots__
        arrays = {name: getattr(self.state, name) for name in shared if name not in ("hour", "known_value_log")}
        if self._reports is not None:
            arrays.update(self._reports.visible(self.hour))
        return Observation(hour=self._hours_run, known_value_log=self._known_values(), **arrays)

    def _known_values(self) -> Floats32 | None:
        if not self.spec.response.values_known or self.done:
            return None
        return np.asarray(np.log(self.world.value_micros[self.hour]))

    def step(self, action: Action) -> tuple[Observation, Outcome]:
        """Run one hour; bids must be whole micros, pacing in 0..1, creatives among those on offer."""
        if self.done:
            raise ActionError(f"the episode ended after {self.hours} hours: reset the market before the next step")
        clipped = self._apply(action)
        bids = np.clip(action.bid_micros, 0, _HIGHEST_BID_MICROS) if clipped else action.bid_micros
        run_hour(self.hour, self.world, self._tables, self.state, np.ascontiguousarray(bids))
        if self._reports is not None:
            self._reports.file(self.hour, self.state)
        self.hour += 1
        self._hours_run += 1
        won = self.state.value_micros @ np.ones(self.spec.segments)
        self._reward[:] = self.meter.add(won, self.state.left_micros)
        return self.observe(), Outcome(self.state.value_micros, self._reward, clipped)

    def _apply(self, action: Action) -> int:
        _check_bids(action.bid_micros, (self.campaigns, self.spec.segments))
        bids = action.bid_micros
        # Read as unsigned, a bid below 0 is beyond the highest one too: one pass over all bids.
        clipped = int(np.count_nonzero(bids.view(np.uint64) > _HIGHEST_BID_MICROS))
        if action.pace is not None:
            _check_finite("pace", action.pace)
            clipped += int(np.count_nonzero((action.pace < 0) | (action.pace > 1)))
            np.clip(action.pace, 0, 1, out=self.state.pace)
        else:
            self.state.pace[:] = 1
        if action.creative is not None:
            _check_creatives(action.creative, self.spec.creatives.count)
            self.state.creative[:] = action.creative
        return clipped

    def save(self) -> dict[str, np.ndarray]:
        """Everything needed to continue bit for bit: seeds, hour and what has changed since launch."""
        if not self._drawn:
            raise DataError(
                f"market {self.spec.name!r} was launched on a world that was given to it, which its seeds do not say:"
                " only episodes that began with reset can be saved. Keep what built the world and play it again."
            )
        header = {"version": np.array(_STATE_VERSION), "hour": np.array(self.hour), "seeds": self._seeds.copy()}
        won = {"won_value_micros": self.meter.value_micros.copy()}
        reported = {} if self._reports is None else self._reports.save()
        return header | won | {name: array.copy() for name, array in self.state._asdict().items()} | reported

    def restore(self, saved: Mapping[str, np.ndarray]) -> Observation:
        """Continue from `save`; the world is drawn again from its seeds."""
        if int(saved["version"]) != _STATE_VERSION:
            raise DataError(f"market state has version {int(saved['version'])}, this release reads {_STATE_VERSION}")
        self.reset(saved["seeds"])
        for name, array in self.state._asdict().items():
            if not array.size:  # states of earlier releases lack what only some markets need
                continue
            if saved[name].shape != array.shape:
                raise DataError(
                    f"market state {name} has shape {saved[name].shape}, market {self.spec.name!r} "
                    f"needs {array.shape}: restore it into the market it was saved from"
                )
            array[:] = saved[name]
        self.hour = int(saved["hour"])
        self._hours_run[:] = self.hour
        self._restore_meter(saved)
        if self._reports is not None:
            self._reports.restore(saved)
        return self.observe()

    def _restore_meter(self, saved: Mapping[str, np.ndarray]) -> None:
        """States saved before there were objectives lack the value won, which only targets need."""
        won = saved.get("won_value_micros")
        if won is None and self.objective.has_target:
            raise DataError(f"this market state was saved without the value won, which {self.objective.key} needs")
        self.meter.resume(np.zeros(self.campaigns) if won is None else won, self.state.left_micros)

    def _make_brief(self) -> Brief:
        spec, world, personas = self.spec, self.world, self.personas
        return Brief(
            hours=np.full(self.campaigns, self.hours, np.int64),
            hours_per_day=DAY_HOURS,
            first_price=self.landscapes.first_price,
            landscapes=self.landscapes,
            budget_micros=world.budget_micros,
            daily_cap_micros=world.daily_cap_micros,
            conversion_value_micros=world.conversion_value_micros,
            click_rate=spec.response.click_rate,
            conversion_rate=spec.response.conversion_rate,
            delay_mean_hours=world.delay_hours,
            start_hour_of_week=world.start_hour_of_week,
            persona=world.persona,
            persona_traits=personas.traits,
            activity=self._activity,
            intent_log=personas.intent_log,
            price_profile_log=self._tables.price_profile_log,
            volume_forecast=world.volume_forecast,
            price_forecast_log=world.price_forecast_log,
            budget_share=budget_share(world.budget_micros, world.volume_forecast, world.price_forecast_log, self.hours),
            creatives=spec.creatives.count,
            values_known=spec.response.values_known,
            objective=self.objective,
            report_lag_hours=spec.reports.lag_hours,
        )


def _check_world(world: World, spec: MarketSpec, seeds: Uints) -> None:
    wanted = (spec.hours, len(seeds), spec.segments)
    if world.volume.shape != wanted:
        raise DataError(
            f"a world of hours x campaigns x segments = {world.volume.shape} was given to market {spec.name!r}, which"
            f" needs {wanted}: build it for the market's days and segments, with one seed a campaign"
        )


def budget_share(
    budget_micros: Ints, volume_forecast: Floats32, price_forecast_log: Floats32, hours: int | Ints
) -> Floats32:
    """Each campaign's budget over the forecast cost of winning everything in so many hours, (N,)."""
    everything = (volume_forecast * np.exp(price_forecast_log)).sum(axis=1) * hours
    return np.asarray(budget_micros / everything, dtype=np.float32)


def _landscapes(spec: MarketSpec, built_in: tuple[LandscapeSpec, ...]) -> Landscapes:
    first_price = spec.price.payment == "first"
    return build_landscapes(spec.landscapes or built_in, first_price=first_price, steepness=spec.price.steepness)


def _tables(spec: MarketSpec, personas: PersonaTable, landscapes: Landscapes) -> MarketTables:
    delays = delay_parts(spec.delay)
    return MarketTables(
        win=landscapes.win,
        cost=landscapes.cost,
        price_at_win_rate=price_at_win_rate(landscapes),
        price_profile_log=price_profile_log(spec),
        affinity=np.exp(personas.affinity_log[:, : spec.creatives.count]),
        delay_share=delays.share,
        delay_length=delays.length,
        window_hours=spec.delay.window_hours,
        tiring=max(spec.fatigue.strength, *spec.randomise.get("fatigue.strength", (0.0,))) > 0,
    )


def _check_bids(bids: Ints, shape: tuple[int, int]) -> None:
    if bids.shape != shape:
        raise ActionError(f"bids have shape {bids.shape}, this market has campaigns x segments = {shape}")
    if bids.dtype != np.int64:
        raise ActionError(f"bids are {bids.dtype}: give whole micros as int64")


def _check_finite(name: str, values: Floats32) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ActionError(f"{name}[{wrong[0]}] is {values.flat[wrong[0]]}: every entry must be finite")


def _check_creatives(creative: Ints8, count: int) -> None:
    wrong = (creative < 0) | (creative >= count)
    if wrong.any():
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ActionError(f"creative{list(index)} is {int(creative[index])}: choose 0..{count - 1}")
