"""What a market is made of: one file under configs/markets/ is one MarketSpec, its prices one LandscapeSpec each.

Every number has a range wide enough for any campaign we have seen, within which the market computes with what its
arrays can hold; what several numbers could do together is bounded by `spec_extremes`.
"""

import math
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.config.field_types import Share
from gaelp.config.names import Name, refuse_repeats
from gaelp.config.validation_errors import refuse_at
from gaelp.market.spec_extremes import extremes_refused
from gaelp.market.spec_ranges import ranges_refused, value_at

__all__ = [
    "RANDOMISABLE",
    "BudgetRange",
    "CreativeSpec",
    "DelaySpec",
    "FatigueSpec",
    "LandscapeSet",
    "LandscapeSpec",
    "MarketSpec",
    "PriceComponent",
    "PriceSpec",
    "ReportSpec",
    "ResponseSpec",
    "RivalSpec",
    "VolumeSpec",
]

# Spreads of logarithms: 2 lets one segment in twenty differ from the typical one fifty times over.
LogSd = Annotated[float, Field(ge=0, le=2)]
HourlyLogSd = Annotated[float, Field(ge=0, le=1)]
ForecastLogError = Annotated[float, Field(ge=0, le=1.5)]
LogSwing = Annotated[float, Field(ge=0, le=2)]
Rate = Annotated[float, Field(ge=1e-6, lt=1)]
BudgetShare = Annotated[float, Field(ge=1e-6, le=10)]
DelayShare = Annotated[float, Field(ge=1e-6, le=1e6)]
DelayLength = Annotated[float, Field(ge=1e-4, le=1e4)]
CapOverEven = Annotated[float, Field(ge=0.01, le=100)]
# The market tabulates prices from a ten-thousandth to a thousand times their level.
PriceRatio = Annotated[float, Field(ge=1e-4, le=1e3)]

RANDOMISABLE: tuple[str, ...] = (
    "volume.per_hour",
    "volume.segment_log_sd",
    "volume.prior_log_error",
    "price.level_micros",
    "price.segment_log_sd",
    "price.campaign_log_sd",
    "price.common_drift_sd",
    "price.segment_drift_sd",
    "price.drift_persistence",
    "price.hourly_noise_sd",
    "price.diurnal_amplitude",
    "price.jump_log_size",
    "price.prior_log_error",
    "rivals.depth",
    "rivals.randomness",
    "rivals.around_hour",
    "response.click_rate",
    "response.conversion_rate",
    "response.click_log_sd",
    "response.conversion_log_sd",
    "response.campaign_log_sd",
    "response.conversion_value_log_sd",
    "response.price_value_correlation",
    "response.daypart_amplitude",
    "response.persona_strength",
    "response.value_drift_sd",
    "delay.mean_hours",
    "delay.immediate_share",
    "fatigue.strength",
    "fatigue.half_life_hours",
    "creatives.affinity_strength",
    "budget.share_low",
    "budget.share_high",
    "budget.daily_low",
    "budget.daily_high",
    "response.return_ratio",
)

_DAY_HOURS, _WEEK_HOURS = 24, 168
_PARTS_MAX = 6
_LOWEST_RATIO = 1e-4
_LEAST_SHARE = 1e-3


def _later(default: Any, **limits: Any) -> Any:
    """A field added after markets were first tuned: at its default it is not written, so older fingerprints hold."""
    return Field(default=default, exclude_if=partial(_equal, default), **limits)


def _equal(default: object, value: object) -> bool:
    return value == default


class PriceComponent(Frozen):
    """One log-normal part of a price distribution, in units of the segment's price level."""

    weight: float = Field(ge=1e-6, le=1e6)
    log_mean: float = Field(ge=-9, le=6.5)
    log_sd: float = Field(ge=0.01, le=5)


class LandscapeSpec(Frozen):
    """How the highest rival bid is distributed: a log-normal mixture, or knots (price ratio, share at or below)."""

    name: str = Field(min_length=1)
    mixture: tuple[PriceComponent, ...] = Field(default=(), max_length=64)
    knots: tuple[tuple[PriceRatio, Share], ...] = Field(default=(), max_length=4096)

    @model_validator(mode="after")
    def _exactly_one_form(self) -> Self:
        if bool(self.mixture) == bool(self.knots):
            raise ValueError(f"landscape {self.name!r} needs either mixture or knots, not both and not neither")
        return self

    @model_validator(mode="after")
    def _knots_rise(self) -> Self:
        ratios = [ratio for ratio, _ in self.knots]
        shares = [share for _, share in self.knots]
        if self.knots and (len(self.knots) < 2 or ratios != sorted(set(ratios)) or shares != sorted(shares)):
            raise ValueError(f"landscape {self.name!r}: knots must be at least 2, with rising prices and shares")
        # From 0 to the first knot the share rises in a straight line; the market reads it from the lowest ratio on.
        if shares and shares[-1] - shares[0] * _LOWEST_RATIO / ratios[0] < _LEAST_SHARE:
            raise ValueError(
                f"landscape {self.name!r}: saw shares {shares[0]} to {shares[-1]} at the prices {ratios[0]} to"
                f" {ratios[-1]}; allowed: at least {_LEAST_SHARE} of all prices above {_LOWEST_RATIO}. Add knots there"
            )
        return self


class LandscapeSet(Frozen):
    """The price distributions of markets that bring none of their own (configs/library/landscapes.yaml)."""

    source: str = Field(min_length=1, description="where the figures come from")
    landscapes: tuple[LandscapeSpec, ...] = Field(min_length=1, max_length=256)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_repeats("landscape", (landscape.name for landscape in self.landscapes))
        return self


class VolumeSpec(Frozen):
    """Opportunities an hour: negative binomial around the persona's hour-of-week activity."""

    per_hour: float = Field(default=120.0, ge=0.001, le=50_000, description="in a typical segment")
    segment_log_sd: float = Field(default=0.5, ge=0, le=1.5)
    overdispersion: float = Field(
        default=0.15, ge=1e-4, le=10, description="variance of the hourly multiplier around 1"
    )
    prior_log_error: ForecastLogError = Field(default=0.2, description="error of the advertiser's volume forecast")


class PriceSpec(Frozen):
    """Price levels: log-normal between segments, drifting by AR(1) within a campaign."""

    payment: Literal["first", "second"] = "second"
    level_micros: PositiveInt = Field(default=2000, le=10**9, description="typical price of one impression")
    steepness: float = Field(
        default=1.0, ge=0.05, le=5, description="power applied to price ratios; >1 spreads them out"
    )
    segment_log_sd: LogSd = 0.4
    campaign_log_sd: LogSd = 0.2
    common_drift_sd: HourlyLogSd = 0.08
    segment_drift_sd: HourlyLogSd = 0.05
    drift_persistence: float = Field(default=0.97, ge=0, lt=1)
    hourly_noise_sd: HourlyLogSd = 0.05
    diurnal_amplitude: float = Field(default=0.2, ge=0, le=1.5)
    jump_log_size: LogSwing = 0.0
    prior_log_error: ForecastLogError = 0.15


class RivalSpec(Frozen):
    """Rivals who run out of budget in the evening, so that prices fall."""

    depth: float = Field(default=0.15, ge=0, le=3, description="log fall of prices once they have stopped")
    randomness: float = Field(default=0.5, ge=0, le=2, description="how much depth and hour differ from day to day")
    around_hour: float = Field(default=20.0, ge=0, lt=24)


class ResponseSpec(Frozen):
    """Clicks and conversions; what spreads them between segments is unknown to the bidder unless values_known."""

    click_rate: Rate = 0.01
    conversion_rate: Rate = 0.06
    click_log_sd: LogSd = 0.5
    conversion_log_sd: LogSd = 0.6
    campaign_log_sd: LogSd = 0.3
    conversion_value_log_sd: LogSd = 0.2
    price_value_correlation: float = Field(default=0.3, ge=-1, le=1)
    daypart_amplitude: LogSwing = Field(default=0.0, description="log swing of conversion intent over a day")
    persona_strength: float = Field(
        default=0.0, ge=0, le=2, description="share of the personas' own rates that applies"
    )
    value_drift_sd: HourlyLogSd = 0.0
    values_known: bool = False
    return_ratio: float = _later(
        1.0, ge=0.01, le=100, description="worth of a typical impression over its price level; below 1: a loss"
    )


class DelaySpec(Frozen):
    """From click to reported conversion: a share at once, the rest by a family of delays, all inside the window.

    A conversion after the window is never reported; its value counts all the same, at the time of the click.
    """

    mean_hours: float = Field(default=0.0, ge=0, le=2160)
    immediate_share: float = Field(default=0.0, ge=0, le=1)
    window_hours: PositiveInt = Field(default=72, le=720)
    family: Literal["exponential", "lognormal", "weibull", "mixture"] = _later("exponential")
    shape: float = _later(
        1.0, ge=0.3, le=3, description="lognormal: sd of the log, 1.2 at least; weibull: exponent, 1 at most"
    )
    parts: tuple[tuple[DelayShare, DelayLength], ...] = _later(
        (), max_length=_PARTS_MAX, description="mixture: share and length of each exponential, scaled to mean_hours"
    )

    @model_validator(mode="after")
    def _family_is_possible(self) -> Self:
        if bool(self.parts) != (self.family == "mixture"):
            parts = f"{len(self.parts)} parts with family {self.family!r}"
            raise ValueError(f"saw {parts}: a mixture needs parts, the other families take none")
        low, high = {"lognormal": (1.2, 3.0), "weibull": (0.3, 1.0)}.get(self.family, (0.0, math.inf))
        if not low <= self.shape <= high:
            raise ValueError(f"saw shape={self.shape:g} with family {self.family!r}; allowed: {low:g} to {high:g}")
        return self


class ReportSpec(Frozen):
    """When the numbers of an hour are reported, and how much of its clicks and cost is taken back as invalid later.

    Budgets and objectives count what is valid; only what the bidder sees is late and too high at first.
    """

    lag_hours: int = Field(default=0, ge=0, le=48)
    invalid_share: float = Field(default=0.0, ge=0, le=0.5, description="of reported clicks and cost")
    revised_after_hours: PositiveInt = Field(default=24, le=168)


class FatigueSpec(Frozen):
    """Click rates fall as the same audience sees the advert again and recover with a half-life."""

    strength: float = Field(default=0.0, ge=0, le=10)
    half_life_hours: float = Field(default=24.0, ge=0.1, le=8760)


class CreativeSpec(Frozen):
    """How many creatives a campaign can choose from and how much personas differ about them."""

    count: PositiveInt = Field(default=1, le=16)
    affinity_strength: float = Field(default=1.0, ge=0, le=3)


class BudgetRange(Frozen):
    """Budgets as a share of what winning every opportunity would cost; daily caps around an even split."""

    share_low: BudgetShare = 0.06
    share_high: BudgetShare = 0.4
    daily_low: CapOverEven = 0.95
    daily_high: CapOverEven = 1.5

    @model_validator(mode="after")
    def _ranges_rise(self) -> Self:
        for low, high, name in (
            (self.share_low, self.share_high, "share"),
            (self.daily_low, self.daily_high, "daily"),
        ):
            if low > high:
                raise ValueError(f"{name}_low={low} exceeds {name}_high={high}: swap them")
        return self


class MarketSpec(Frozen):
    """One family of campaigns: every number from which a market draws its episodes."""

    name: Name
    label: str = Field(default="", description="what a reader should know, such as 'synthetic'")
    days: PositiveInt = Field(default=3, le=60)
    segments: PositiveInt = Field(default=8, le=256)
    volume: VolumeSpec = VolumeSpec()
    price: PriceSpec = PriceSpec()
    rivals: RivalSpec = RivalSpec()
    response: ResponseSpec = ResponseSpec()
    delay: DelaySpec = DelaySpec()
    fatigue: FatigueSpec = FatigueSpec()
    creatives: CreativeSpec = CreativeSpec()
    budget: BudgetRange = BudgetRange()
    landscapes: tuple[LandscapeSpec, ...] = Field(default=(), max_length=256, description="empty: the built-in set")
    hour_of_week: tuple[Annotated[float, Field(ge=1e-6, le=1e9)], ...] = Field(
        default=(), description="168 measured volume factors; empty: personas'"
    )
    reports: ReportSpec = _later(ReportSpec())
    launch_hours: tuple[Annotated[float, Field(ge=0, le=1e9)], ...] = _later(
        (), description="24 weights of the hours of day at which flights begin; empty: midnight"
    )

    randomise: dict[str, tuple[float, float]] = Field(
        default={}, description="ranges drawn for each campaign, by key path; one of RANDOMISABLE"
    )

    @model_validator(mode="after")
    def _campaigns_are_possible(self) -> Self:
        problems = ranges_refused(self, self.randomise, allowed=RANDOMISABLE)
        problems = problems or extremes_refused(*self._ends(), days=self.days, segments=self.segments)
        if problems:
            refuse_at(problems)
        return self

    def _ends(self) -> tuple[dict[str, float], dict[str, float]]:
        """The least and the most that each number can be in a campaign, by key path."""
        fixed = {path: value_at(self, path) for path in (*RANDOMISABLE, "volume.overdispersion")}
        lowest = fixed | {path: low for path, (low, _) in self.randomise.items()}
        return lowest, fixed | {path: high for path, (_, high) in self.randomise.items()}

    @model_validator(mode="after")
    def _week_is_whole(self) -> Self:
        if len(self.hour_of_week) not in (0, _WEEK_HOURS):
            raise ValueError(f"hour_of_week needs 168 factors, Monday 00h first, seen {len(self.hour_of_week)}")
        return self

    @model_validator(mode="after")
    def _launches_are_possible(self) -> Self:
        if self.launch_hours and (len(self.launch_hours) != _DAY_HOURS or not sum(self.launch_hours)):
            raise ValueError(f"launch_hours needs 24 weights, one above 0, seen {len(self.launch_hours)}")
        return self

    @property
    def hours(self) -> int:
        """Length of an episode."""
        return self.days * 24
