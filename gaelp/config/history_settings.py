"""Which logged campaigns phase 2 judges an agent on, and how."""

from pydantic import Field, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.names import Text
from gaelp.config.split_settings import SplitSettings

__all__ = ["HistorySettings", "SynthesizedHistorySettings"]


class SynthesizedHistorySettings(Frozen):
    """A history of the local ad platform, made where the store has none yet (`gaelp data synthesize`)."""

    weeks: PositiveInt = Field(default=6, le=104)
    campaigns: PositiveInt = Field(default=12, le=200)
    bid_log_sd: float = Field(default=0.4, gt=0, le=1.5, description="of the random factor on the incumbent's bids")
    seed: int | None = Field(default=None, ge=0, lt=2**32, description="of world, budgets and bids; none: run.seed")
    world: Text = Field(default="default", description="which file of configs/sandbox (or path) is the world")


class HistorySettings(Frozen):
    """The logged campaigns, their windows, and how far from logged bids an agent is judged."""

    sources: tuple[Text, ...] = Field(
        default=(), description="imports or runs whose rows are the history; empty: all rows of phase history"
    )
    name: Text | None = Field(default=None, description="of the history, where its sources grow; none: by its sources")
    zone: Text | None = Field(default=None, description="time zone of the account, where reports do not name its days")
    synthesize: SynthesizedHistorySettings | None = Field(
        default=None, description="make a history on the local ad platform, in the place of sources"
    )
    splits: SplitSettings = SplitSettings()
    reach: float = Field(
        default=1.5, gt=1, le=4, description="the agent's bids are clipped to this factor of the logged policy's"
    )
    copies: PositiveInt = Field(default=24, le=1000, description="how often logged bids are played in the market")
    draws: int = Field(
        default=40, ge=20, le=1000, description="of the market's parameters, in which bidders are played"
    )
    replicates: int = Field(default=1000, ge=100, le=100_000, description="of the bootstrap")
