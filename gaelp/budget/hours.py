"""A campaign's reported hours, and the money figures that the rules compare with limits."""

from collections import deque
from datetime import date, datetime
from itertools import islice
from typing import Self

from pydantic import AwareDatetime, Field, NonNegativeInt, PositiveInt

from gaelp.budget.rules import RuleReading
from gaelp.config.base import Frozen
from gaelp.money import Micros

__all__ = ["CampaignCaps", "HourCounts", "SpendWindow", "SpendWindowState"]

_SPANS_HOURS = (3, 6, 12)
_MATURING_HOURS = 24
_WEEK_HOURS = 168


class CampaignCaps(Frozen):
    """What the advertiser set for one campaign, in micros."""

    day_cap_micros: NonNegativeInt = Field(description="the platform budget's worst case, as reserved")
    episode_cap_micros: NonNegativeInt
    loss_cap_micros: NonNegativeInt = Field(description="the most that a week may lose")
    conversion_value_micros: PositiveInt


class HourCounts(Frozen):
    """One hour of one campaign as reported; conversions count in the hour in which they were reported."""

    spend_micros: NonNegativeInt
    planned_micros: NonNegativeInt = Field(description="what the pacing plan gave this hour")
    planned_left_micros: NonNegativeInt = Field(description="what it gives to the rest of the account day")
    day_planned_micros: NonNegativeInt
    impressions: NonNegativeInt
    clicks: NonNegativeInt
    conversions: NonNegativeInt


class SpendWindowState(Frozen):
    """The state of a SpendWindow; an hour is spend, plan, conversions."""

    hours: tuple[tuple[int, int, int], ...] = Field(max_length=_WEEK_HOURS)
    hours_since_pause: int = Field(default=0, ge=0, le=_WEEK_HOURS, description="the newest ones, after the last pause")
    day: date | None = None
    day_spend_micros: int = 0
    episode_spend_micros: int = 0
    planned_left_micros: int = 0
    day_planned_micros: int = 0
    last_hour_end: AwareDatetime | None = None

    def after_pause(self) -> Self:
        """The state after a pause: losses and spend still count, pace and return restart with the next hour.

        Whoever resumes a campaign has reviewed its pace; that does not undo its losses.
        """
        return self.model_copy(update={"hours_since_pause": 0})


class SpendWindow:
    """Adds up one campaign's hours: its day, its episode, its last hours and its last seven days."""

    def __init__(self, caps: CampaignCaps, state: SpendWindowState | None = None) -> None:
        past = state or SpendWindowState(hours=())
        self._caps = caps
        self._hours: deque[tuple[int, int, int]] = deque(past.hours, maxlen=_WEEK_HOURS)
        self._day, self._day_spend, self._episode_spend = past.day, past.day_spend_micros, past.episode_spend_micros
        self._planned_left, self._day_planned = past.planned_left_micros, past.day_planned_micros
        self._last_hour_end = past.last_hour_end
        self._fresh = min(past.hours_since_pause, len(past.hours))
        self._week_spend = sum(hour[0] for hour in self._hours)
        self._week_conversions = sum(hour[2] for hour in self._hours)

    def state(self) -> SpendWindowState:
        """Its state."""
        return SpendWindowState(
            hours=tuple(self._hours),
            hours_since_pause=self._fresh,
            day=self._day,
            day_spend_micros=self._day_spend,
            episode_spend_micros=self._episode_spend,
            planned_left_micros=self._planned_left,
            day_planned_micros=self._day_planned,
            last_hour_end=self._last_hour_end,
        )

    def observe(self, hour: HourCounts, day: date, ended_at: datetime) -> None:
        """Add one hour of an account day."""
        if day != self._day:
            self._day, self._day_spend = day, 0
        self._day_spend += hour.spend_micros
        self._episode_spend += hour.spend_micros
        if len(self._hours) == _WEEK_HOURS:
            spend, _, conversions = self._hours[0]
            self._week_spend -= spend
            self._week_conversions -= conversions
        self._hours.append((hour.spend_micros, hour.planned_micros, hour.conversions))
        self._fresh = min(self._fresh + 1, _WEEK_HOURS)
        self._week_spend += hour.spend_micros
        self._week_conversions += hour.conversions
        self._planned_left, self._day_planned = hour.planned_left_micros, hour.day_planned_micros
        self._last_hour_end = ended_at

    def readings(self, caps: CampaignCaps | None = None) -> dict[str, RuleReading]:
        """The figures as of the last hour observed; empty before the first, so that their rules hold.

        `caps` are those of a day; without them, those given at the start.
        """
        at = self._last_hour_end
        if at is None:
            return {}
        return {name: RuleReading(value, at) for name, value in self._figures(caps or self._caps).items()}

    def _figures(self, caps: CampaignCaps) -> dict[str, Micros | float]:
        value = self._week_conversions * caps.conversion_value_micros
        fresh_spend, fresh_conversions = self._since_pause()
        fresh_value = fresh_conversions * caps.conversion_value_micros
        figures: dict[str, Micros | float] = {
            "day_spend_micros": self._day_spend,
            "day_cap_micros": caps.day_cap_micros,
            "episode_spend_micros": self._episode_spend,
            "episode_cap_micros": caps.episode_cap_micros,
            "ahead_of_plan_micros": self._day_spend - (self._day_planned - self._planned_left),
            "day_planned_micros": self._day_planned,
            "known_hours": self._fresh,
            "week_loss_micros": self._week_spend - value,
            "loss_cap_micros": caps.loss_cap_micros,
            "week_roi": fresh_value / fresh_spend - 1 if fresh_spend else 0.0,
            "break_even_conversions": self._matured(fresh_spend) / caps.conversion_value_micros,
        }
        for hours in _SPANS_HOURS:
            spend, planned = self._recent(hours)
            figures[f"spend_{hours}h_micros"] = spend
            figures[f"planned_{hours}h_micros"] = planned
        figures["projected_day_micros"] = self._projected(*self._recent(_SPANS_HOURS[0]))
        return figures

    def _since_pause(self) -> tuple[Micros, int]:
        """Spend and conversions since the last pause; without a pause, those of the week."""
        if self._fresh == len(self._hours):
            return self._week_spend, self._week_conversions
        fresh = list(islice(reversed(self._hours), self._fresh))
        return sum(hour[0] for hour in fresh), sum(hour[2] for hour in fresh)

    def _recent(self, hours: int) -> tuple[Micros, Micros]:
        last = list(islice(reversed(self._hours), min(hours, self._fresh)))
        # At night the plan is almost zero and one click exceeds it many times: allow two average hours.
        planned = max(sum(hour[1] for hour in last), self._day_planned // 12)
        return sum(hour[0] for hour in last), planned

    def _matured(self, spend: Micros) -> Micros:
        """Spend that is at least a day old: newer spend has not had time to bring its conversions."""
        newest = islice(reversed(self._hours), min(_MATURING_HOURS, self._fresh))
        return spend - sum(hour[0] for hour in newest)

    def _projected(self, spend: Micros, planned: Micros) -> Micros:
        """The day's spend at the pace of the last hours, rounded up; without a plan, what was spent so far."""
        if planned == 0:
            return self._day_spend
        return self._day_spend - (-spend * self._planned_left // planned)
