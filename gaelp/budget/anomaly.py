"""Two detectors for a stream of figures: a robust trailing z-score for jumps, ADWIN for slow drifts.

Both forget nothing when a process ends: `state()` is a small model that JSON holds, `restored` goes on from it exactly.
"""

import math
from collections import deque
from statistics import fmean
from typing import Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from gaelp.checks import robust_z
from gaelp.config.base import Frozen
from gaelp.errors import DataError

__all__ = ["Drift", "DriftSettings", "DriftState", "RobustZ", "RobustZSettings", "RobustZState"]


class RobustZSettings(Frozen):
    """How a trailing z-score is taken."""

    window: PositiveInt = Field(le=1000, description="how many earlier points it looks back on")
    minimum_points: PositiveInt = Field(description="with fewer earlier points there is no score")
    scale_floor: PositiveFloat = Field(description="the least scale, so that a calm history makes no alarm of a ripple")

    @model_validator(mode="after")
    def _window_holds_the_minimum(self) -> Self:
        if self.minimum_points > self.window:
            raise ValueError(f"minimum_points={self.minimum_points} exceeds window={self.window}: lower it")
        return self


class RobustZState(Frozen):
    """All a RobustZ remembers: its latest points, oldest first."""

    points: tuple[float, ...] = Field(max_length=1000)


class RobustZ:
    """Says how far a point lies from the median of those before it, in robust standard deviations."""

    def __init__(self, settings: RobustZSettings) -> None:
        self._settings = settings
        self._points: deque[float] = deque(maxlen=settings.window)

    @classmethod
    def restored(cls, settings: RobustZSettings, state: RobustZState) -> Self:
        """Go on from a state."""
        detector = cls(settings)
        detector._points.extend(state.points)
        return detector

    def state(self) -> RobustZState:
        """All it remembers."""
        return RobustZState(points=tuple(self._points))

    def update(self, point: float) -> float | None:
        """Score a point against those before it, then remember it; None below the minimum count."""
        _require_finite(point)
        chosen = self._settings
        score = robust_z(self._points, point, minimum_count=chosen.minimum_points, scale_floor=chosen.scale_floor)
        self._points.append(point)
        return score


class DriftSettings(Frozen):
    """How ADWIN watches a stream; points are clipped to `low`..`high` and mapped to 0..1, which its bound assumes."""

    delta: float = Field(gt=0, lt=1, description="chance of a false alarm that ADWIN's test is set to")
    low: float
    high: float
    longest: int = Field(ge=64, le=2000, description="how many points are kept at most; half of them on reaching it")

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low={self.low} is not below high={self.high}: swap them")
        return self


class DriftState(Frozen):
    """All a Drift remembers: the points of ADWIN's present window, oldest first."""

    points: tuple[float, ...] = Field(max_length=2000)


class Drift:
    """ADWIN (river) over the points it keeps: its state is always what those points, replayed, lead to.

    That makes it small, readable and restorable, which the detector's own memory is not.
    """

    def __init__(self, settings: DriftSettings, points: tuple[float, ...] = ()) -> None:
        self._settings = settings
        self._restart(points)

    @classmethod
    def restored(cls, settings: DriftSettings, state: DriftState) -> Self:
        """Go on from a state."""
        return cls(settings, state.points)

    def state(self) -> DriftState:
        """All it remembers."""
        return DriftState(points=tuple(self._points))

    def update(self, point: float) -> float:
        """Take in a point; where ADWIN sees a drift return how far the newest quarter lies from the rest, else 0.

        The distance is in the points' units, clipped as they are. ADWIN itself lets go of the past piece by piece, so
        its own mean would tell only a part of the way.
        """
        self._points.append(_require_finite(point))
        self._adwin.update(self._mapped(point))  # type: ignore[no-untyped-call]
        if self._adwin.drift_detected:
            moved = self._moved()
            self._restart(tuple(self._points[-max(int(self._adwin.width), 1) :]))
            return moved
        if len(self._points) >= self._settings.longest:
            self._restart(tuple(self._points[-self._settings.longest // 2 :]))
        return 0.0

    def _moved(self) -> float:
        mapped = [self._mapped(point) for point in self._points]
        newest = len(mapped) - len(mapped) // 4
        return (fmean(mapped[newest:]) - fmean(mapped[:newest])) * (self._settings.high - self._settings.low)

    def _restart(self, points: tuple[float, ...]) -> None:
        from river.drift import ADWIN  # noqa: PLC0415 - loads pandas and scikit-learn, and `gaelp kill` must be quick

        self._points = list(points)
        # It looks at every point: the usual look at each 32nd would take a week at four points a day.
        self._adwin = ADWIN(delta=self._settings.delta, clock=1)  # type: ignore[no-untyped-call]
        for point in points:
            self._adwin.update(self._mapped(_require_finite(point)))  # type: ignore[no-untyped-call]

    def _mapped(self, point: float) -> float:
        low, high = self._settings.low, self._settings.high
        return (min(max(point, low), high) - low) / (high - low)


def _require_finite(point: float) -> float:
    if not math.isfinite(point):
        raise DataError(f"a detector was given {point}: leave out what was not measured, its rule then holds")
    return point
