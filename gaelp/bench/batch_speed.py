"""How fast the market runs by batch size: whole episodes on one core, drawing and solving their worlds included."""

import time
from collections.abc import Callable

import numpy as np

from gaelp.config.base import Frozen
from gaelp.market.market import Market, seeds_from
from gaelp.market.vector_env import AdMarketVectorEnv
from gaelp.market.view import Action

__all__ = ["BatchSpeed", "measure_batch", "measure_batches"]


class BatchSpeed(Frozen):
    """Speed and size of one batch; CPU seconds of one core, best of the repetitions."""

    campaigns: int
    campaign_steps_per_s: float  # market.step: bids in, arrays of counts and money out
    env_steps_per_s: float  # the Gymnasium vector environment: action vectors in, observation vectors out
    bytes_per_campaign: float


def measure_batch(market: Market, campaigns: int, *, repetitions: int = 3) -> BatchSpeed:
    """Time whole episodes: as a learner drives them (vectors out), and as a rule does (arrays out)."""
    env = AdMarketVectorEnv(campaigns, market=market)
    env.reset(seed=0)
    actions = env.single_action_space.sample()[None].repeat(campaigns, axis=0)
    bids = Action(np.full((campaigns, market.spec.segments), market.spec.price.level_micros, np.int64))
    learner = _best(lambda: _drive_env(env, actions), repetitions)
    rule = _best(lambda: _drive_market(market, bids, campaigns), repetitions)
    steps = campaigns * market.hours
    return BatchSpeed(
        campaigns=campaigns,
        campaign_steps_per_s=steps / rule,
        env_steps_per_s=steps / learner,
        bytes_per_campaign=_bytes(market, env) / campaigns,
    )


def measure_batches(
    market: Market, sizes: tuple[int, ...], report: Callable[[BatchSpeed], None] = lambda _: None
) -> tuple[BatchSpeed, ...]:
    """Speeds by batch size; a small batch runs first so that nothing is compiled inside a measurement."""
    measure_batch(market, 8, repetitions=1)
    speeds = []
    for size in sizes:
        speeds.append(measure_batch(market, size, repetitions=3 if size <= 16_384 else 1))
        report(speeds[-1])
    return tuple(speeds)


def _best(run: Callable[[], None], repetitions: int) -> float:
    times = []
    for _ in range(repetitions):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def _drive_env(env: AdMarketVectorEnv, actions: np.ndarray) -> None:
    for _ in range(env.market.hours):  # the last step of an episode also draws the next one
        env.step(actions)


def _drive_market(market: Market, bids: Action, campaigns: int) -> None:
    market.reset(seeds_from(1, campaigns))
    while not market.done:
        market.step(bids)


def _bytes(market: Market, env: AdMarketVectorEnv) -> int:
    arrays = [*market.world, *market.state]
    return sum(array.nbytes for array in arrays) + 4 * int(np.prod(env.observation_space.shape or ()))
