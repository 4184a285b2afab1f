"""The pilot of phase 3: which campaigns, how much money, for how long, and when a changed bid is worth a call."""

from pydantic import Field, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.names import Text

__all__ = ["DAILY_LEAST_MICROS", "DAILY_MOST_MICROS", "PilotSettings"]

DAILY_LEAST_MICROS, DAILY_MOST_MICROS = 10_000_000, 50_000_000  # a pilot is small: 10 to 50 a day for a campaign


class PilotSettings(Frozen):
    """A small budget on a real ad platform, or on the local one."""

    local: bool = Field(
        default=False, description="run on the local ad platform that the history was synthesized on; no real money"
    )
    adverts: Text | None = Field(
        default=None, description="YAML file with the campaigns and their adverts; not needed on the local ad platform"
    )
    campaigns: PositiveInt = Field(default=20, le=500, description="how many of the logged campaigns take part")
    daily_micros: int = Field(
        default=25_000_000,
        ge=DAILY_LEAST_MICROS,
        le=DAILY_MOST_MICROS,
        description="budget of a campaign for a day; a pilot is small: 10 to 50 units of the currency",
    )
    days: PositiveInt = Field(default=14, le=60, description="days on which the agent spends; too few show nothing")
    settle_days: int = Field(default=7, ge=0, le=30, description="days to wait afterwards for late conversions")
    shadow_days: PositiveInt = Field(
        default=2, le=14, description="days on which the agent decides for running campaigns without acting"
    )
    bid_change_worth: float = Field(
        default=0.05, ge=0, le=0.5, description="a bid is sent only if it differs by more than this share"
    )
    calls_a_day: PositiveInt = Field(
        default=15_000, description="operations that the ad platform accepts in a day; pauses always keep some of them"
    )
    loss_cap_micros: PositiveInt | None = Field(
        default=None, description="the most that the whole pilot may lose; none: a third of what it can spend"
    )
