"""The release of phase 4: how much, for how long, and how fast exposure and budgets may grow."""

from typing import Literal

from pydantic import Field, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.names import Text

__all__ = ["ScaleSettings", "TransferSettings"]


class TransferSettings(Frozen):
    """How it is measured whether an agent bids as well for other products, in simulation."""

    products: int = Field(default=16, ge=2, le=200, description="other products, drawn at random")
    campaigns: int = Field(default=128, ge=2, le=10_000, description="held-out campaigns of each product")
    fine_tune_rounds: int = Field(
        default=0, ge=0, le=10_000, description="also fine-tune for each product, and train from scratch; 0: neither"
    )


class ScaleSettings(Frozen):
    """A release beside a control, on the account of the pilot."""

    daily_micros: PositiveInt | None = Field(
        default=None, description="budget of a campaign for a day at the start; none: that of the pilot"
    )
    step_days: PositiveInt = Field(
        default=4, le=60, description="least days of each step of exposure; even: blocks of two"
    )
    days: PositiveInt = Field(
        default=60, le=365, description="last day of the comparison; then it ends without a proof"
    )
    full_days: PositiveInt = Field(
        default=4, le=60, description="days at 100% after the proof, on which budgets may be raised"
    )
    settle_days: int = Field(default=7, ge=0, le=30, description="days to wait afterwards for late conversions")
    mature_days: int = Field(
        default=7, ge=0, le=30, description="full days that a day must be past before it is compared: late conversions"
    )
    decide_hours: Literal[1, 2, 3, 4, 6, 8, 12] = Field(
        default=1, description="the agent decides every so many hours; checks run as often"
    )
    raise_percent: int = Field(default=20, ge=0, le=100, description="how much a budget may rise from day to day")
    raised_daily_micros: PositiveInt | None = Field(
        default=None, description="the most that a campaign's daily budget may ever be; none: twice the first one"
    )
    loss_cap_micros: PositiveInt | None = Field(
        default=None,
        description="the most that the release may lose; none: a third of what the first budgets can spend",
    )
    rules: Text = Field(default="release", description="which file of configs/budget holds or stops its campaigns")
    transfer: TransferSettings = TransferSettings()
