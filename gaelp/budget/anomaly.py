"""Two detectors for a stream of figures: a robust trailing z-score for jumps, ADWIN for slow drifts.

Both survive a restart: `state()` is a small model that JSON can store, and `restored` resumes from it exactly.
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
    """Settings of a trailing z-score."""

    window: PositiveInt = Field(le=1000, description="number of earlier points to compare with")
    minimum_points: PositiveInt = Field(description="with fewer earlier points there is no score")
    scale_floor: PositiveFloat = Field(description="smallest scale, so that ripples in a calm history raise no alarm")

    @model_validator(mode="after")
    def _window_holds_the_minimum(self) -> Self:
        if self.minimum_points > self.window:
            raise ValueError(f"minimum_points={self.minimum_points} exceeds window={self.window}: lower it")
        return self


class RobustZState(Frozen):
    """The state of a RobustZ: its latest points, oldest first."""

    points: tuple[float, ...] = Field(max_length=1000)


class RobustZ:
    """Scores how far a point is from the median of the points before it, in robust standard deviations."""

    def __init__(self, settings: RobustZSettings) -> None:
        self._settings = settings
        self._points: deque[float] = deque(maxlen=settings.window)

    @classmethod
    def restored(cls, settings: RobustZSettings, state: RobustZState) -> Self:
        """Resume from a state."""
        detector = cls(settings)
        detector._points.extend(state.points)
        return detector

    def state(self) -> RobustZState:
        """Its state."""
        return RobustZState(points=tuple(self._points))

    def update(self, point: float) -> float | None:
        """Score a point against those before it, then store it; None below the minimum count."""
        _require_finite(point)
        chosen = self._settings
        score = robust_z(self._points, point, minimum_count=chosen.minimum_points, scale_floor=chosen.scale_floor)
        self._points.append(point)
        return score


class DriftSettings(Frozen):
    """How ADWIN watches a stream; points are clipped to `low`..`high` and mapped to 0..1, which its bound assumes."""

    delta: float = Field(gt=0, lt=1, description="false-alarm probability of ADWIN's test")
    low: float
    high: float
    longest: int = Field(ge=64, le=2000, description="maximum number of points; on reaching it, the newer half is kept")

    @model_validator(mode="after")
    def _range_is_not_empty(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low={self.low} is not below high={self.high}: swap them")
        return self


class DriftState(Frozen):
    """The state of a Drift: the points of ADWIN's current window, oldest first."""

    points: tuple[float, ...] = Field(max_length=2000)


class Drift:
    """ADWIN (river) over stored points: replaying them always reproduces its state.

    So the state is small, readable and restorable, unlike the detector's own memory.
    """

    def __init__(self, settings: DriftSettings, points: tuple[float, ...] = ()) -> None:
        self._settings = settings
        self._restart(points)

    @classmethod
    def restored(cls, settings: DriftSettings, state: DriftState) -> Self:
        """Resume from a state."""
        return cls(settings, state.points)

    def state(self) -> DriftState:
        """Its state."""
        return DriftState(points=tuple(self._points))

    def update(self, point: float) -> float:
        """Add a point; if ADWIN detects a drift, return the distance of the newest quarter from the rest, else 0.

        The distance is in the points' units, clipped like the points. ADWIN drops old points gradually, so its own
        mean would show only part of the distance.
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
        # Test at every point: the default of every 32nd would take a week at four points a day.
        self._adwin = ADWIN(delta=self._settings.delta, clock=1)  # type: ignore[no-untyped-call]
        for point in points:
            self._adwin.update(self._mapped(_require_finite(point)))  # type: ignore[no-untyped-call]

    def _mapped(self, point: float) -> float:
        low, high = self._settings.low, self._settings.high
        return (min(max(point, low), high) - low) / (high - low)


def _require_finite(point: float) -> float:
    if not math.isfinite(point):
        raise DataError(f"a detector was given {point}: leave out what was not measured; its rule then holds")
    return point
