"""The lift of one policy over another by the market alone, as a record; `posterior_lift` computes it."""

from gaelp.config.base import Frozen

__all__ = ["LOGGED_BIDS", "PosteriorGroup", "PosteriorLift"]

LOGGED_BIDS = "logged bids"


class PosteriorLift(Frozen):
    """Of the first policy over the second, one entry a draw, all campaigns together."""

    label: str = "model-based"
    policy: str
    baseline: str
    draws: int
    confidence: float = 0.95
    market_value_per_dollar: float  # of the policy, over all draws
    baseline_value_per_dollar: float
    value_per_dollar: tuple[float, ...]  # ratio of value per unit of money, less 1
    objective: tuple[float, ...]  # what the objective counts, over what the baseline achieves in size, less 1
    lift: float  # of value per unit of money: the mean of its logarithm over draws
    lift_lower: float  # of what a further draw would show
    lift_upper: float
    objective_lift: float  # median over draws
    objective_lift_lower: float
    objective_lift_upper: float
    better_share: float  # of draws in which value per unit of money is higher


class PosteriorGroup(Frozen):
    """The model-based lift on one campaign or one segment; bounds hold for all groups together."""

    kind: str
    name: str
    lift: float
    lower: float
    upper: float
