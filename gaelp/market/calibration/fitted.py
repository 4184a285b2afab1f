"""One fitted statistic with its interval and goodness of fit, or the reason why there is too little data for one."""

from pydantic import Field, NonNegativeInt

from gaelp.config.base import Frozen

__all__ = ["CONFIDENCE", "Fitted", "TooLittle"]

CONFIDENCE = 0.95


class Fitted(Frozen):
    """A statistic of a log: the estimate, its 95% interval, and how well the model behind it fits.

    What `goodness` measures differs by statistic; `method` ends with what it is and which value is best.
    """

    value: float
    interval_low: float
    interval_high: float
    observations: NonNegativeInt
    goodness: float
    method: str = Field(min_length=1)


class TooLittle(Frozen):
    """Why a statistic is not taken from the log; the market's default stays."""

    observations: NonNegativeInt
    reason: str = Field(min_length=1)
    estimate: Fitted | None = None  # what was found, where its interval says too little
