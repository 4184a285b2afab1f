"""Running mean and variance, to bring observations and rewards to a common scale."""

import torch
from torch import Tensor

from gaelp.errors import BadInput, Refused
from gaelp.experience.saved import SavedState, below, expect_same, integer_of, prefixed, tensor_of

__all__ = ["ObservationNormaliser", "RewardScaler", "RunningMoments"]

_SMALLEST_VARIANCE = 1e-8


class RunningMoments:
    """Count, mean and sum of squared deviations in float64, of all values so far.

    Batches are merged pairwise (Chan et al. 1983).
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.count = 0
        self.mean = torch.zeros(shape, dtype=torch.float64)
        self._squares = torch.zeros(shape, dtype=torch.float64)

    @property
    def variance(self) -> Tensor:
        """Of the population; one before the first value."""
        return self._squares / self.count if self.count else torch.ones_like(self._squares)

    @torch.no_grad()
    def observe(self, values: Tensor) -> None:
        """Add values of shape (..., *shape); NaN and infinity are refused, because they would stay forever."""
        trailing = values.shape[values.ndim - self.mean.ndim :]
        if values.ndim < self.mean.ndim or trailing != self.mean.shape:
            raise BadInput(
                f"values of shape {tuple(values.shape)} do not end in {tuple(self.mean.shape)}: reshape them"
            )
        rows = values.reshape(-1, *self.mean.shape)
        if not len(rows):
            return
        # Two passes: as exact as torch.var_mean over rows, and seven times faster.
        exact = rows.double()
        mean = exact.mean(0)
        squares = (exact - mean).square_().sum(0)
        if not bool(squares.isfinite().all()):
            raise Refused(_unusable(rows))
        self._merge(len(rows), mean, squares)

    def _merge(self, count: int, mean: Tensor, squares: Tensor) -> None:
        total = self.count + count
        apart = mean - self.mean
        self.mean = self.mean + apart * (count / total)
        self._squares = self._squares + squares + apart**2 * (self.count * count / total)
        self.count = total

    def state(self) -> SavedState:
        """Count, mean and squares, as copies."""
        return {"count": self.count, "mean": self.mean.clone(), "squares": self._squares.clone()}

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from moments of the same shape."""
        mean, squares = (tensor_of(state, name, self.mean) for name in ("mean", "squares"))
        self.count, self.mean, self._squares = integer_of(state, "count"), mean.clone(), squares.clone()


class ObservationNormaliser:
    """Observations minus their mean, divided by their standard deviation and clipped to `clip` of it either way."""

    def __init__(self, shape: tuple[int, ...], *, clip: float = 10.0) -> None:
        _refuse_clip(clip)
        self.frozen = False
        self.moments = RunningMoments(shape)
        self._clip = clip
        self._prepare()

    def observe(self, obs: Tensor) -> None:
        """Learn from observations (..., *shape), all at once; ignored while frozen."""
        if not self.frozen:
            self.moments.observe(obs)
            self._prepare()

    @torch.no_grad()
    def __call__(self, obs: Tensor) -> Tensor:
        """Observations (..., *shape) on the common scale, in float32."""
        return torch.sub(obs, self._shift).float().mul_(self._scale).clamp_(-self._clip, self._clip)

    @property
    def clip(self) -> float:
        """The limit of scaled observations, in standard deviations either way."""
        return self._clip

    @property
    def shift_and_scale(self) -> tuple[Tensor, Tensor]:
        """What is subtracted and then multiplied, in float32."""
        return self._shift, self._scale

    def freeze(self) -> None:
        """Stop learning: keep the scale as it is, as evaluation and release need it."""
        self.frozen = True

    def unfreeze(self) -> None:
        """Learn again."""
        self.frozen = False

    def state(self) -> SavedState:
        """Moments, clip and whether it is frozen."""
        own: SavedState = {"clip": self._clip, "frozen": int(self.frozen)}
        return own | prefixed("moments", self.moments.state())

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a normaliser with the same settings."""
        expect_same(state, clip=self._clip)
        frozen = bool(integer_of(state, "frozen"))
        self.moments.load_state(below("moments", state))
        self.frozen = frozen
        self._prepare()

    def _prepare(self) -> None:
        """Compute shift and scale in float32, once per change instead of once per step."""
        self._shift = self.moments.mean.float()
        self._scale = (self.moments.variance + _SMALLEST_VARIANCE).rsqrt().float()


class RewardScaler:
    """Rewards divided by the standard deviation of their discounted running sum, one scale for all; no shift.

    The sum runs per environment, and per segment where rewards are (T, N, S), and restarts with each episode.
    """

    def __init__(self, shape: tuple[int, ...], *, gamma: float, clip: float = 10.0) -> None:
        _refuse_clip(clip)
        if not 0 <= gamma <= 1:
            raise BadInput(f"gamma={gamma} must lie in 0..1")
        self.frozen = False
        self.moments = RunningMoments()
        self._gamma = gamma
        self._clip = clip
        self._running = torch.zeros(shape, dtype=torch.float64)

    @torch.no_grad()
    def observe(self, rewards: Tensor, ended: Tensor) -> None:
        """Learn from rewards (T, *shape), shape being (N,) or (N, S), and flags (T, N); ignored while frozen."""
        if self.frozen:
            return
        if rewards.shape[1:] != self._running.shape or ended.shape != rewards.shape[:2]:
            raise BadInput(
                f"rewards {tuple(rewards.shape)} and ended {tuple(ended.shape)} do not fit:"
                f" wanted are (T, {', '.join(map(str, self._running.shape))}) and (T, {self._running.shape[0]})"
            )
        sums, last = self._sums(rewards.double(), ended)
        self.moments.observe(sums)
        self._running = last

    def _sums(self, rewards: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Running sums with each step's reward, and what they start from after the last step."""
        sums, running = torch.empty_like(rewards), self._running
        for t, over in enumerate(ended):
            torch.add(rewards[t], running, alpha=self._gamma, out=sums[t])
            running = sums[t].masked_fill(over.reshape(over.shape + (1,) * (running.ndim - 1)), 0.0)
        return sums, running

    @torch.no_grad()
    def __call__(self, rewards: Tensor) -> Tensor:
        """Rewards of any shape on the common scale, in float32."""
        scale = float((self.moments.variance + _SMALLEST_VARIANCE).rsqrt())
        return (rewards * scale).float().clamp_(-self._clip, self._clip)

    def freeze(self) -> None:
        """Stop learning: keep the scale as it is."""
        self.frozen = True

    def unfreeze(self) -> None:
        """Learn again, with new sums: rewards were missed meanwhile."""
        self.frozen = False
        self.cut()

    def cut(self) -> None:
        """Reset all sums: open episodes are not continued."""
        self._running = torch.zeros_like(self._running)

    def state(self) -> SavedState:
        """Moments, running sums, settings and whether it is frozen."""
        own: SavedState = {"clip": self._clip, "gamma": self._gamma, "frozen": int(self.frozen)}
        return own | {"running": self._running.clone()} | prefixed("moments", self.moments.state())

    def load_state(self, state: SavedState) -> None:
        """Continue from `state`, which must come from a scaler with the same settings."""
        expect_same(state, clip=self._clip, gamma=self._gamma)
        frozen, running = bool(integer_of(state, "frozen")), tensor_of(state, "running", self._running)
        self.moments.load_state(below("moments", state))
        self.frozen, self._running = frozen, running.clone()


def _unusable(rows: Tensor) -> str:
    """Name the first value that is not finite; if there is none, finite values were too large to be squared."""
    places = (~rows.isfinite()).nonzero()
    index = places[0].tolist() if len(places) else [0] * rows.ndim
    place = ", ".join(map(str, index))
    return (
        f"values[{place}] is {rows[tuple(index)].item()}, allowed is what has a finite variance: clean the values first"
    )


def _refuse_clip(clip: float) -> None:
    if not clip > 0:
        raise BadInput(f"clip={clip} leaves nothing: give a number above 0, infinity to clip nothing")
