"""How fast PPO trains on one core: frames per CPU-second beside stable-baselines3, and the share of the matmul limit.

The limit is what the processor reaches on the matrix products alone. For one row, a network with layers of a x b
weights needs 2ab operations forward, 2ab for the gradient of the weights and, in all layers but the first, 2ab for the
gradient of what was fed in. An update makes them for actor and critic, for every row, once an epoch:

    needed = rows x epochs x (actor + critic),   fraction = needed / CPU seconds of the update / limit

The limit is the best speed of exactly those products, written into preallocated memory, at the size of a minibatch
or of the pieces a minibatch is cut into, whichever is faster. Everything else an update does, such as activations,
shuffling, losses, the critic's first pass and the optimiser, counts against the fraction.
"""

import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import torch
from gymnasium.vector import VectorEnv

from gaelp.agents.gradient_step import CHUNK_ROWS
from gaelp.agents.learner import BoxActions, Spaces
from gaelp.agents.ppo import PpoConfig, build_ppo
from gaelp.config.base import Frozen
from gaelp.experience.collect import Collector

__all__ = [
    "FrameSpeed",
    "MatmulShare",
    "OwnTraining",
    "Training",
    "compare_frames",
    "matmul_limit",
    "matmul_share",
    "update_operations",
]


class Training(Protocol):
    """Something that collects and learns, one update at a time."""

    @property
    def frames_per_update(self) -> int:
        """Steps of all rows that one update learns from."""
        ...

    def update(self) -> None:
        """Collect what one update needs, and learn from it."""
        ...


class OwnTraining:
    """GAELP's PPO on a vector environment; `learning_seconds` is the CPU time of the updates without collecting."""

    def __init__(self, config: PpoConfig, env: VectorEnv[Any, Any, Any], *, seed: int) -> None:
        obs, action = env.single_observation_space.shape, env.single_action_space.shape
        if obs is None or action is None:
            raise TypeError(f"{env} has no vectors to learn from: the benchmark times a SegmentEnv")
        self.config, self.spaces = config, Spaces(obs[0], BoxActions(action[0]), env.num_envs)
        self._learner = build_ppo(self.spaces, config, seed=seed)
        self._collector = Collector(env, seed=seed)
        self.frames_per_update = config.steps_per_update * env.num_envs
        self.learning_seconds: list[float] = []

    def update(self) -> None:
        """Collect a whole collection, and learn from it."""
        for _ in range(self.config.steps_per_update):
            self._learner.observe(self._collector.step(lambda obs: self._learner.act(obs, explore=True)))
        begin = time.process_time()
        self._learner.update(0.0)
        self.learning_seconds.append(time.process_time() - begin)


class FrameSpeed(Frozen):
    """Frames per CPU-second, medians over the repetitions; `ratio` is the median of those of neighbouring ones."""

    ours_per_s: float
    peer_per_s: float | None
    ratio: float | None
    ratios: tuple[float, ...]
    frames_per_update: int
    updates_per_repetition: int


def compare_frames(
    ours: Training,
    peer: Training | None,
    *,
    repetitions: int,
    updates: int,
    report: Callable[[str], None] = lambda _: None,
) -> FrameSpeed:
    """Alternate between both, so that other load on the machine hits both; the first update of each is not timed."""
    for training in (ours, peer):
        if training is not None:
            training.update()
    own_speeds, peer_speeds = [], []
    for turn in range(repetitions):
        own_speeds.append(_frames_per_s(ours, updates))
        if peer is not None:
            peer_speeds.append(_frames_per_s(peer, updates))
        beside = f", stable-baselines3 {peer_speeds[-1]:,.0f}" if peer_speeds else ""
        report(f"  turn {turn + 1} of {repetitions}: {own_speeds[-1]:,.0f} frames per CPU-second{beside}")
    ratios = tuple(own / other for own, other in zip(own_speeds, peer_speeds, strict=False))
    return FrameSpeed(
        ours_per_s=statistics.median(own_speeds),
        peer_per_s=statistics.median(peer_speeds) if peer_speeds else None,
        ratio=statistics.median(ratios) if ratios else None,
        ratios=ratios,
        frames_per_update=ours.frames_per_update,
        updates_per_repetition=updates,
    )


def _frames_per_s(training: Training, updates: int) -> float:
    begin = time.process_time()
    for _ in range(updates):
        training.update()
    return updates * training.frames_per_update / (time.process_time() - begin)


class _Product(NamedTuple):
    """One matrix product: what is multiplied, and where the result goes."""

    left: torch.Tensor
    right: torch.Tensor
    out: torch.Tensor

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.left.shape[0] * self.left.shape[1] * self.right.shape[1]

    def run(self) -> None:
        torch.mm(self.left, self.right, out=self.out)


def _products(sizes: tuple[int, ...], rows: int) -> list[_Product]:
    """The products of one pass forward and back through a perceptron with layers of these sizes."""
    fed = [torch.randn(rows, size) for size in sizes]
    weights = [torch.randn(after, before) for before, after in pairwise(sizes)]
    forward = [_Product(fed[i], weight.t(), torch.empty_like(fed[i + 1])) for i, weight in enumerate(weights)]
    to_weights = [_Product(fed[i + 1].t(), fed[i], torch.empty_like(weight)) for i, weight in enumerate(weights)]
    to_inputs = [_Product(fed[i + 1], weight, torch.empty_like(fed[i])) for i, weight in enumerate(weights) if i]
    return forward + to_weights + to_inputs


def matmul_limit(sizes: tuple[int, ...], rows: int, *, seconds: float = 1.0) -> float:
    """Operations per CPU-second of the products of a pass forward and back: the best pass within `seconds` of CPU."""
    products = _products(sizes, rows)
    operations = sum(product.operations for product in products)
    best, until = 0.0, time.process_time() + seconds
    while best == 0.0 or time.process_time() < until:
        begin = time.process_time()
        for product in products:
            product.run()
        best = max(best, operations / (time.process_time() - begin))
    return best


def update_operations(config: PpoConfig, spaces: Spaces) -> int:
    """Operations of one update's matrix products, as defined above."""
    rows = config.steps_per_update * spaces.rows
    per_row = sum(sum(product.operations for product in _products(sizes, 1)) for sizes in _layers(config, spaces))
    return rows * config.epochs * per_row


def _layers(config: PpoConfig, spaces: Spaces) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes of actor and critic."""
    outputs = spaces.actions.size if isinstance(spaces.actions, BoxActions) else spaces.actions.count
    inner = (spaces.observation_size, *config.network.hidden)
    return (*inner, outputs), (*inner, 1)


class MatmulShare(Frozen):
    """How near an update comes to the products it cannot do without."""

    fraction: float
    operations_per_update: int
    attained_flops: float
    limit_flops: float
    limit_flops_by_rows: dict[int, float]
    update_seconds: float


def matmul_share(training: OwnTraining, *, seconds: float = 1.0) -> MatmulShare:
    """The share for the updates that were made so far, at their median time."""
    config, spaces = training.config, training.spaces
    minibatch = -(-training.frames_per_update // config.minibatches)
    sizes = sorted({minibatch, min(minibatch, CHUNK_ROWS)})
    limits = {rows: matmul_limit(_layers(config, spaces)[0], rows, seconds=seconds) for rows in sizes}
    operations = update_operations(config, spaces)
    taken = statistics.median(training.learning_seconds)
    limit = max(limits.values())
    return MatmulShare(
        fraction=operations / taken / limit,
        operations_per_update=operations,
        attained_flops=operations / taken,
        limit_flops=limit,
        limit_flops_by_rows=limits,
        update_seconds=taken,
    )
