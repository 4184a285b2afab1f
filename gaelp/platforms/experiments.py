"""Experiments: a platform that splits a campaign's users between the campaign and a copy with other bids.

Not every platform can, so this is a protocol beside `AdPlatform`. An experiment spends within the budget of its
campaign and adds none. To pause the campaign pauses both arms. Cost and hours of the treatment are those of the
campaign; its hours have the experiment's name before the target (`NAME/TARGET`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from gaelp.money import Micros
from gaelp.platforms.platform import CallResult

__all__ = ["ExperimentPlatform", "ExperimentState"]


@dataclass(frozen=True, slots=True)
class ExperimentState:
    """An experiment as the platform has it; `percent` of the users are in the treatment."""

    name: str
    campaign: str
    percent: int
    status: Literal["running", "ended"]
    bids: tuple[tuple[str, Micros], ...] = ()  # of the treatment, sorted by target


@runtime_checkable
class ExperimentPlatform(Protocol):
    """A platform with experiments; keys and outcomes are as in `AdPlatform`."""

    def start_experiment(
        self, name: str, campaign: str, percent: int, bids: Mapping[str, Micros], *, key: str
    ) -> CallResult:
        """Give `percent` of a campaign's users to a copy of it with these bids; each user stays in one arm."""
        ...

    def set_treatment_bids(self, name: str, bids: Mapping[str, Micros], *, key: str) -> CallResult:
        """Set bids of the treatment of a running experiment, all of them or none."""
        ...

    def end_experiment(self, name: str, *, key: str) -> CallResult:
        """Give all users back to the campaign; ending an ended experiment is Done too."""
        ...

    def read_experiments(self) -> tuple[ExperimentState, ...]:
        """Every experiment of every campaign; raises if they are not known."""
        ...
