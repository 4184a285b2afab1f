"""Figures of phase 2 that are stored and shown, as records: lifts by the market alone, and days that were run again."""

from gaelp.config.base import Frozen
from gaelp.history.posterior_report import PosteriorGroup, PosteriorLift

__all__ = ["ModelBased", "TrueResult"]


class ModelBased(Frozen):
    """Lifts in twins of the logged campaigns; nothing but the market says what other bids bring."""

    lift: PosteriorLift
    incumbent_lift: PosteriorLift | None
    rivals: tuple[PosteriorLift, ...]
    groups: tuple[PosteriorGroup, ...]
    bid_variation: float  # standard deviation of the log bid in the calibration window, of the median segment


class TrueResult(Frozen):
    """One bidder on the sealed days, run again; value is expected value."""

    key: str  # of the bidder, or a strategy of the platform
    is_automated: bool
    value_per_dollar: float
    lift: float  # over the logged bids in the same days
    spend_share: float  # of what the logged bids spend
