"""The result of a fidelity check: scores with intervals, gaps by statistic, and the ranked list of what is wrong."""

from typing import Literal

from pydantic import NonNegativeInt

from gaelp.config.base import Frozen

__all__ = ["DistributionGap", "FidelityReport", "FidelityScore", "FigureScore", "Gap"]

Scope = Literal["everywhere", "campaign", "segment", "hours"]


class FidelityScore(Frozen):
    """A score with its 95% interval."""

    value: float
    lower_95: float
    upper_95: float


class FigureScore(Frozen):
    """How one figure of the market compares with the log: its total, and its campaign-days."""

    figure: str
    logged: float
    market: float
    total_error: float  # market over log, less 1
    total_noise: float  # what chance allows of it at 95%; 0 where chance is not allowed for
    wape: float  # by campaign-day
    noise_wape: float  # of a market that is right in every mean
    noise_ratio: float  # the one over the other: 1 is perfect
    pearson: float
    spearman: float
    spearman_possible: float | None  # that of a market that is right in every mean; None for sparse figures


class Gap(Frozen):
    """One thing that the market gets wrong, or might: the larger `standard_errors`, the surer."""

    statistic: str
    scope: Scope
    place: str  # the campaign, segment or hours; empty for everywhere
    logged: float
    market: float
    gap: float  # market over log, less 1
    left: float  # of the gap, where a gap everywhere explains some of it; else all of it
    lower_95: float  # of what is left, together with all other gaps of the list
    upper_95: float
    standard_errors: float  # of what is left
    words: str

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.lower_95 > 0 or self.upper_95 < 0


class DistributionGap(Frozen):
    """How far apart two distributions are; distances of two halves of the log's own days beside them."""

    statistic: str
    ks: float
    wasserstein: float  # in units of the log's standard deviation
    kl: float
    ks_by_chance: float
    logged_size: NonNegativeInt


class FidelityReport(Frozen):
    """Does the market reproduce what happened? Scores are those of gate 2."""

    label: str = "model-based: the market that was fitted to the calibration window, on the logged campaigns"
    source: str
    campaign_days: NonNegativeInt
    copies: NonNegativeInt
    simulator_match: FidelityScore
    prediction_accuracy: FidelityScore
    correlation_with_actuals: FidelityScore
    plain_accuracy: FidelityScore  # 1 - WAPE with nothing allowed for chance
    plain_correlation: FidelityScore
    figures: tuple[FigureScore, ...]
    gaps: tuple[Gap, ...]  # by standard errors, the surest first
    distributions: tuple[DistributionGap, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """The figures that gate 2 reads."""
        scores = {
            "simulator_match": self.simulator_match,
            "prediction_accuracy": self.prediction_accuracy,
            "correlation_with_actuals": self.correlation_with_actuals,
        }
        figures: dict[str, float] = {"campaign_days": float(self.campaign_days)}
        for name, score in scores.items():
            figures |= {name: score.value, f"{name}_lower_95": score.lower_95, f"{name}_upper_95": score.upper_95}
        return figures

    @property
    def gaps_beyond_chance(self) -> tuple[Gap, ...]:
        """Those whose interval, which allows for the length of the list, leaves out 0."""
        return tuple(gap for gap in self.gaps if gap.beyond_chance)
