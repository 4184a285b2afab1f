"""The figures of a pilot's hours as reported last: what a newer report adds and what it changes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Ints
from gaelp.errors import BadInput, DataError
from gaelp.market.from_reports.reported_hours import LateChanges, ReportedHours
from gaelp.types import PolicyState

__all__ = ["HourFigures", "KnownHours"]

_KINDS: dict[str, npt.DTypeLike] = {
    "impressions": np.int32,
    "clicks": np.int32,
    "conversions": np.float32,
    "cost_micros": np.int64,
    "value_micros": np.int64,
}


@dataclass(frozen=True, slots=True)
class HourFigures:
    """What is known now of H hours in a row of N campaigns x S segments, from hour `first` of the pilot on.

    All hours before `first + H` are reported; those before `first` are as reported last.
    """

    first: int
    impressions: Ints  # (H, N, S)
    clicks: Ints  # (H, N, S)
    conversions: Floats  # (H, N, S) of the clicks of the hour
    cost_micros: Ints  # (H, N, S)
    value_micros: Ints  # (H, N, S) likewise

    def __post_init__(self) -> None:
        shape = self.impressions.shape
        for name in _KINDS:
            if getattr(self, name).shape != shape or len(shape) != 3:
                raise DataError(
                    f"{name} of the hours has shape {getattr(self, name).shape}, the impressions have {shape}; allowed:"
                    " hours x campaigns x segments, the same for all"
                )

    @property
    def until(self) -> int:
        """The first hour that is not reported."""
        return self.first + len(self.impressions)

    def until_hour(self, hour: int) -> "HourFigures":
        """Without the hours from this one on."""
        count = max(hour - self.first, 0)
        return HourFigures(self.first, **{name: getattr(self, name)[:count] for name in _KINDS})


class KnownHours:
    """Remembers the figures of the newest hours, so that a revised report can be taken in as changes."""

    def __init__(self, pair: tuple[int, ...], remembered_hours: int) -> None:
        """`pair` is campaigns x segments; an hour that is older than the remembered ones is not revised any more."""
        self._remembered = remembered_hours
        self._figures = {name: np.zeros((pair[0], 0, *pair[1:]), kind) for name, kind in _KINDS.items()}
        self._first = 0  # hour of the first remembered figures
        self.until = 0  # hours before it were reported

    def take_in(self, figures: HourFigures, began: Ints, ended: Ints) -> tuple[LateChanges, list[ReportedHours]]:
        """Changes to hours that were reported before, and rows of those that were not, in their order.

        `began` and `ended` are the first hour of each campaign, and the one after its last.
        """
        if figures.first > self.until:
            raise BadInput(
                f"hours from {figures.first} on are given, those from {self.until} on were not reported yet: give the"
                " hours in between too, empty ones with zeros"
            )
        changes = self._changes(figures)
        changes = changes.some((began[changes.campaign] <= changes.hour) & (changes.hour < ended[changes.campaign]))
        rows = [self._row(figures, hour, began, ended) for hour in range(self.until, figures.until)]
        self._remember(figures)
        return changes, rows

    def _changes(self, figures: HourFigures) -> LateChanges:
        first, last = max(figures.first, self._first), min(self.until, figures.until)
        if last <= first:
            return LateChanges.none()
        given, kept = slice(first - figures.first, last - figures.first), slice(first - self._first, last - self._first)
        more = {
            name: getattr(figures, name)[given].transpose(1, 0, 2) - self._figures[name][:, kept] for name in _KINDS
        }
        changed = np.any([change != 0 for change in more.values()], axis=0)
        hour, campaign, segment = np.nonzero(changed.transpose(1, 0, 2))
        place = (campaign, hour, segment)
        return LateChanges(campaign, segment, hour + first, **{name: change[place] for name, change in more.items()})

    def _row(self, figures: HourFigures, hour: int, began: Ints, ended: Ints) -> ReportedHours:
        at = hour - figures.first
        inside = (began <= hour) & (hour < ended)
        return ReportedHours(
            hour=np.where(inside, hour, -1),
            impressions=figures.impressions[at],
            clicks=figures.clicks[at],
            conversions=figures.conversions[at],
            cost_micros=figures.cost_micros[at],
            value_micros=figures.value_micros[at],
        )

    def _remember(self, figures: HourFigures) -> None:
        until = max(self.until, figures.until)
        first = max(until - self._remembered, 0, self._first)
        for name, kind in _KINDS.items():
            kept = self._figures[name]
            held = np.zeros((kept.shape[0], until - first, *kept.shape[2:]), kind)
            old = max(self._first, first)
            if self.until > old:
                held[:, old - first : self.until - first] = kept[:, old - self._first : self.until - self._first]
            new = max(figures.first, first)
            if figures.until > new:
                fresh = getattr(figures, name)[new - figures.first :]
                held[:, new - first : figures.until - first] = fresh.transpose(1, 0, 2)
            self._figures[name] = held
        self._first, self.until = first, until

    def state(self) -> PolicyState:
        """Everything that was remembered."""
        return {**self._figures, "first": np.array([self._first]), "until": np.array([self.until])}

    def load_state(self, state: PolicyState) -> None:
        """Resume with what `state` returned."""
        self._figures = {name: state[name].copy() for name in _KINDS}
        self._first, self.until = int(state["first"][0]), int(state["until"][0])
