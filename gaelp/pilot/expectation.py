"""What a plan expects of each campaign on each day: spend, value and conversions, fixed before the first dollar."""

from datetime import date
from typing import Self

import numpy as np
from pydantic import Field, NonNegativeFloat, model_validator

from gaelp.arrays import Floats
from gaelp.config.base import Frozen

__all__ = ["Expected", "PilotExpectation"]


class Expected(Frozen):
    """A figure with the interval in which 95% of the draws lie."""

    value: float
    lower_95: float
    upper_95: float


class PilotExpectation(Frozen):
    """D days x N campaigns, means over draws of what is unknown; totals with their intervals."""

    days: tuple[date, ...] = Field(min_length=1)
    campaigns: tuple[str, ...] = Field(min_length=1)
    spend_micros: tuple[tuple[NonNegativeFloat, ...], ...]  # what the objective's plan wants to spend
    value_micros: tuple[tuple[NonNegativeFloat, ...], ...]
    conversions: tuple[tuple[NonNegativeFloat, ...], ...]
    total_spend_micros: Expected
    total_value_micros: Expected
    total_conversions: Expected
    roi: Expected
    roi_log_sd: NonNegativeFloat = Field(description="of true value per money between campaigns, as estimated")
    draws: int = Field(ge=1)

    @model_validator(mode="after")
    def _has_every_campaign_day(self) -> Self:
        shape = (len(self.days), len(self.campaigns))
        for name in ("spend_micros", "value_micros", "conversions"):
            rows = getattr(self, name)
            if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
                raise ValueError(f"{name} is not days x campaigns, {shape}: compute the expectation again")
        return self

    @property
    def day_conversions(self) -> Floats:
        """Expected of all campaigns together, (D,)."""
        return np.asarray(np.array(self.conversions).sum(axis=1), np.float64)

    @property
    def wished_micros(self) -> float:
        """What all campaigns want to spend on all days."""
        return float(np.sum(self.spend_micros))
