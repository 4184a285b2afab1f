"""How the history is split: shares of its days for calibration, validation and the sealed window, and the gaps."""

from typing import Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config.base import Frozen

__all__ = ["SplitSettings"]


class SplitSettings(Frozen):
    """Of six weeks the defaults give three weeks, eight days and the last 13, each but the last less a day of gap.

    Windows are whole days of the account's clock, because budgets couple the hours of a day.
    """

    calibration_share: float = Field(default=0.5, gt=0, lt=1, description="of the days; the market is fitted to them")
    validation_share: float = Field(default=0.2, gt=0, lt=1, description="of the days; fidelity is measured on them")
    gap_days: int = Field(
        default=1, ge=0, le=60, description="at the end of each window but the last, read by nobody: reports lag"
    )
    calibration_days_min: PositiveInt = Field(default=7, description="a market has a weekly rhythm")
    validation_days_min: PositiveInt = Field(default=7, description="so many tell chance from a wrong market")
    sealed_days_min: PositiveInt = Field(default=7)
    held_out_share: float = Field(
        default=0.0, ge=0, lt=1, description="of the campaigns that only the sealed window has; by a hash of the name"
    )
    held_out_key: str = Field(
        default="gaelp-history", min_length=1, max_length=64, description="another key holds out other campaigns"
    )

    @model_validator(mode="after")
    def _leaves_a_sealed_window(self) -> Self:
        if self.calibration_share + self.validation_share >= 1:
            raise ValueError(
                f"calibration_share={self.calibration_share:g} and validation_share={self.validation_share:g} leave no"
                " day for the sealed window: lower one of them"
            )
        return self
