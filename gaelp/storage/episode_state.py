"""One episode from its beginning to its end: its state, what ends it early, its time limit and its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import pyarrow as pa

from gaelp.checks import Bound, Limit
from gaelp.config.base import Frozen
from gaelp.errors import BadInput
from gaelp.storage.schema import TABLES, EpisodeState, TableName
from gaelp.types import Phase

__all__ = ["EpisodeBrief", "EpisodeHour", "RunningEpisode", "TerminationRule"]

EpisodeFigure = Literal[
    "steps", "spend_micros", "value_micros", "profit_micros", "clicks", "conversions", "budget_share"
]


class TerminationRule(Frozen):
    """A figure of the episode and the limit at which it ends, such as budget_share at_least 1."""

    name: str
    figure: EpisodeFigure
    bound: Bound
    threshold: float
    after_steps: int = 0  # not judged earlier: a first hour proves little

    def ends(self, figures: Mapping[str, float | None]) -> bool:
        """Whether the episode ends now; a figure that is missing ends nothing."""
        steps = figures["steps"] or 0
        return steps >= self.after_steps and Limit(self.bound, self.threshold).holds(figures.get(self.figure))


@dataclass(frozen=True, slots=True)
class EpisodeBrief:
    """What is known when an episode begins."""

    episode: str
    phase: Phase
    source: str
    campaign: str
    policy: str | None
    started_at: datetime
    market: str | None = None
    objective: str | None = None
    seed: int | None = None
    budget_micros: int | None = None


@dataclass(frozen=True, slots=True)
class EpisodeHour:
    """What one hour brought, over all segments."""

    impressions: int = 0
    clicks: int = 0
    conversions: float = 0.0
    spend_micros: int = 0
    value_micros: int = 0


class RunningEpisode:
    """Counts the hours of an episode and decides when it is over; each state is a row of the table `episodes`."""

    def __init__(
        self, brief: EpisodeBrief, *, rules: Sequence[TerminationRule] = (), time_limit: timedelta | None = None
    ) -> None:
        self.brief, self._rules, self._time_limit = brief, tuple(rules), time_limit
        self.state, self.reason, self._ended_at = EpisodeState.RUNNING, None, None
        self._steps, self._total = 0, EpisodeHour()

    def figures(self) -> dict[str, float | None]:
        """The figures so far, by name."""
        total, budget = self._total, self.brief.budget_micros
        return {
            "steps": self._steps,
            "impressions": total.impressions,
            "clicks": total.clicks,
            "conversions": total.conversions,
            "spend_micros": total.spend_micros,
            "value_micros": total.value_micros,
            "profit_micros": total.value_micros - total.spend_micros,
            "budget_share": total.spend_micros / budget if budget else None,
        }

    def step(self, hour: EpisodeHour, at: datetime) -> EpisodeState:
        """Count an hour; the first rule that holds terminates the episode, and so does the time limit."""
        if self.state is not EpisodeState.RUNNING:
            raise BadInput(f"episode {self.brief.episode} is {self.state} ({self.reason}): begin another one")
        total = self._total
        self._steps += 1
        self._total = EpisodeHour(
            total.impressions + hour.impressions,
            total.clicks + hour.clicks,
            total.conversions + hour.conversions,
            total.spend_micros + hour.spend_micros,
            total.value_micros + hour.value_micros,
        )
        rule = next((rule for rule in self._rules if rule.ends(self.figures())), None)
        if rule is not None:
            self.end(EpisodeState.TERMINATED, at, rule.name)
        elif self._time_limit is not None and at - self.brief.started_at >= self._time_limit:
            self.end(EpisodeState.TIMED_OUT, at, f"time limit of {self._time_limit}")
        return self.state

    def end(self, state: EpisodeState, at: datetime, reason: str | None = None) -> None:
        """End the episode; one that has ended keeps its first end."""
        if state is EpisodeState.RUNNING:
            raise BadInput("an episode cannot end as running: give finished, terminated, timed_out or failed")
        if self.state is EpisodeState.RUNNING:
            self.state, self.reason, self._ended_at = state, reason, at

    def row(self, reward: float | None = None) -> pa.Table:
        """The row of the present state; its `at` is the beginning while the episode runs, then its end."""
        brief = self.brief
        row = {
            "id": f"{brief.episode}/{self.state}",
            "at": self._ended_at or brief.started_at,
            "phase": brief.phase,
            "source": brief.source,
            "campaign": brief.campaign,
            "policy": brief.policy,
            "episode": brief.episode,
            "state": self.state,
            "reason": self.reason,
            "market": brief.market,
            "objective": brief.objective,
            "seed": brief.seed,
            "started_at": brief.started_at,
            "ended_at": self._ended_at,
            "budget_micros": brief.budget_micros,
            "reward": reward,
            **{name: value for name, value in self.figures().items() if name not in ("profit_micros", "budget_share")},
        }
        return pa.Table.from_pylist([row], schema=TABLES[TableName.EPISODES].columns)
