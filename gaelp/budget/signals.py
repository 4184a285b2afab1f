"""Compute the figures of the anomaly rules from a campaign's hourly counts, with a state that JSON can store.

Counts are compared with what the campaign's past predicts, on the square-root scale: there the noise of a count is
about 1 whatever its size, so one threshold fits campaigns of ten dollars a day and of ten thousand.
"""

import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from gaelp.budget.anomaly import Drift, DriftSettings, DriftState, RobustZ, RobustZSettings, RobustZState
from gaelp.budget.hours import HourCounts
from gaelp.budget.rules import RuleReading
from gaelp.config.base import Frozen
from gaelp.config.load import load_model

__all__ = ["CampaignWatch", "Signal", "SignalSettings", "SignalState", "Sums", "WatchState", "load_signals"]

_ANSCOMBE = 3 / 8  # Anscombe's constant keeps the noise of small counts near 1


class Signal(Frozen):
    """How spend, CTR or CPA is aggregated to points and monitored."""

    hours_per_point: PositiveInt = Field(le=48, description="minimum hours per point")
    counts_per_point: NonNegativeFloat = Field(description="minimum counts per point, observed or expected")
    longest_hours: PositiveInt = Field(le=168, description="maximum hours per point, whatever the counts")
    z: RobustZSettings
    drift: DriftSettings
    why: str = Field(min_length=1, max_length=400)


class SignalSettings(Frozen):
    """How all three are monitored, and how expectations are computed."""

    spend: Signal
    ctr: Signal
    cpa: Signal
    memory_half_life_hours: PositiveFloat = Field(description="half-life of the history behind expectations")
    minimum_counts: PositiveFloat = Field(description="clicks or conversions needed before anything is expected")
    drift_latch_hours: PositiveFloat = Field(description="how long a drift stays in the readings")


class SignalState(Frozen):
    """The state of a signal: its detectors, the unfinished point, and the last results."""

    z: RobustZState
    drift: DriftState
    points: NonNegativeInt = 0
    hours: NonNegativeInt = 0
    observed: NonNegativeFloat = 0.0
    expected: NonNegativeFloat = 0.0
    score: float = 0.0
    drifted: float = 0.0
    drifted_at: AwareDatetime | None = None

    def after_pause(self) -> Self:
        """The state after a pause, without the unfinished point and the last results."""
        cleared = {"hours": 0, "observed": 0.0, "expected": 0.0, "score": 0.0, "drifted": 0.0, "drifted_at": None}
        return self.model_copy(update=cleared)


class Sums(Frozen):
    """Exponentially decaying sums over the campaign's past."""

    spend_micros: NonNegativeFloat = 0.0
    impressions: NonNegativeFloat = 0.0
    clicks: NonNegativeFloat = 0.0
    conversions: NonNegativeFloat = 0.0


class WatchState(Frozen):
    """The state of a CampaignWatch."""

    sums: Sums
    missed: NonNegativeFloat
    last_hour_end: AwareDatetime | None
    signals: dict[str, SignalState]

    def after_pause(self) -> Self:
        """The state after a pause: expectations are kept, the last results are cleared."""
        signals = {name: signal.after_pause() for name, signal in self.signals.items()}
        return self.model_copy(update={"missed": 0.0, "signals": signals})


class CampaignWatch:
    """Monitors a campaign's spend, CTR and CPA hour by hour.

    Readings for each of spend, ctr and cpa: `<name>_z` (score of the latest point, high is suspicious), `<name>_points`
    (points scored) and `<name>_drift` (recent drift found by ADWIN; 0 is none). In addition
    `expected_conversions_missed`, the conversions expected from the spend since the last conversion, and
    `expected_conversions_known`, the conversions behind that expectation.
    """

    def __init__(self, settings: SignalSettings, state: WatchState | None = None) -> None:
        self._settings = settings
        self._keep = 0.5 ** (1 / settings.memory_half_life_hours)
        past = state or WatchState(sums=Sums(), missed=0.0, last_hour_end=None, signals={})
        self._spend_sum, self._impressions = past.sums.spend_micros, past.sums.impressions
        self._clicks, self._conversions = past.sums.clicks, past.sums.conversions
        self._missed = past.missed
        self._last_hour_end = past.last_hour_end
        latch = timedelta(hours=settings.drift_latch_hours)
        self._watched = {
            "spend": _Watched(settings.spend, latch, past.signals.get("spend")),
            "ctr": _Watched(settings.ctr, latch, past.signals.get("ctr")),
            "cpa": _Watched(settings.cpa, latch, past.signals.get("cpa")),
        }

    def state(self) -> WatchState:
        """Its state, from which the constructor resumes."""
        return WatchState(
            sums=Sums(
                spend_micros=self._spend_sum,
                impressions=self._impressions,
                clicks=self._clicks,
                conversions=self._conversions,
            ),
            missed=self._missed,
            last_hour_end=self._last_hour_end,
            signals={name: watched.state() for name, watched in self._watched.items()},
        )

    def observe(self, hour: HourCounts, ended_at: datetime) -> None:
        """Add one hour, compared with the hours before it."""
        enough = self._settings.minimum_counts
        if self._clicks >= enough and self._spend_sum > 0:
            clicks_per_micro = self._clicks / self._spend_sum
            planned = hour.planned_micros * clicks_per_micro
            self._watched["spend"].observe(hour.spend_micros * clicks_per_micro, planned, 1, ended_at)
            if self._impressions > 0:  # a platform may report clicks and never an impression
                ctr = self._clicks / self._impressions
                self._watched["ctr"].observe(hour.clicks, hour.impressions * ctr, 1, ended_at)
        if self._conversions >= enough and self._spend_sum > 0:
            due = hour.spend_micros * self._conversions / self._spend_sum
            self._watched["cpa"].observe(hour.conversions, due, -1, ended_at)
            self._missed = 0.0 if hour.conversions else self._missed + due
        self._remember(hour)
        self._last_hour_end = ended_at

    def readings(self) -> dict[str, RuleReading]:
        """The figures as of the last hour observed; empty before the first, so that their rules hold."""
        at = self._last_hour_end
        if at is None:
            return {}
        figures: dict[str, float] = {
            "expected_conversions_missed": self._missed,
            "expected_conversions_known": self._conversions,
        }
        for name, watched in self._watched.items():
            figures[f"{name}_z"] = watched.score
            figures[f"{name}_points"] = watched.points
            figures[f"{name}_drift"] = watched.drift_at(at)
        return {name: RuleReading(value, at) for name, value in figures.items()}

    def _remember(self, hour: HourCounts) -> None:
        self._spend_sum = self._spend_sum * self._keep + hour.spend_micros
        self._impressions = self._impressions * self._keep + hour.impressions
        self._clicks = self._clicks * self._keep + hour.clicks
        self._conversions = self._conversions * self._keep + hour.conversions


class _Watched:
    """A signal: aggregates hours to points for both detectors."""

    def __init__(self, settings: Signal, latch: timedelta, state: SignalState | None) -> None:
        past = state or SignalState(z=RobustZState(points=()), drift=DriftState(points=()))
        self._settings, self._latch = settings, latch
        self._z = RobustZ.restored(settings.z, past.z)
        self._drift = Drift.restored(settings.drift, past.drift)
        self._hours, self._observed, self._expected = past.hours, past.observed, past.expected
        self._drifted, self._drifted_at = past.drifted, past.drifted_at
        self.points, self.score = past.points, past.score

    def state(self) -> SignalState:
        return SignalState(
            z=self._z.state(),
            drift=self._drift.state(),
            points=self.points,
            hours=self._hours,
            observed=self._observed,
            expected=self._expected,
            score=self.score,
            drifted=self._drifted,
            drifted_at=self._drifted_at,
        )

    def observe(self, observed: float, expected: float, sign: int, at: datetime) -> None:
        self._hours += 1
        self._observed += observed
        self._expected += expected
        if not self._point_is_full():
            return
        observed, expected = self._observed, self._expected
        self._hours, self._observed, self._expected = 0, 0.0, 0.0
        if observed or expected:  # an empty point carries no information and would narrow the scale
            self._take(sign * 2 * (math.sqrt(observed + _ANSCOMBE) - math.sqrt(expected + _ANSCOMBE)), at)

    def _point_is_full(self) -> bool:
        enough = max(self._observed, self._expected) >= self._settings.counts_per_point
        waited = self._hours >= self._settings.hours_per_point
        return waited and (enough or self._hours >= self._settings.longest_hours)

    def drift_at(self, now: datetime) -> float:
        fresh = self._drifted_at is not None and now - self._drifted_at <= self._latch
        return self._drifted if fresh else 0.0

    def _take(self, point: float, at: datetime) -> None:
        score = self._z.update(point)
        if score is not None:
            self.score = score
            self.points += 1
        moved = self._drift.update(point)
        if moved:
            self._drifted, self._drifted_at = moved, at


def load_signals(path_or_name: str | Path = "signals") -> SignalSettings:
    """Read the signal settings from configs/budget or from a path; ConfigError names what is wrong."""
    return load_model(SignalSettings, path_or_name, "budget")
