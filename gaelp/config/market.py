"""What a market is made of: one file under configs/markets/ is one MarketSpec."""

from typing import Literal, Self

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, model_validator

from gaelp.config.base import Frozen

__all__ = [
    "RANDOMISABLE",
    "BudgetRange",
    "CreativeSpec",
    "DelaySpec",
    "FatigueSpec",
    "LandscapeSpec",
    "MarketSpec",
    "PriceComponent",
    "PriceSpec",
    "ResponseSpec",
    "RivalSpec",
    "VolumeSpec",
]


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
)


class PriceComponent(Frozen):
    """One log-normal part of a price distribution, in units of the segment's price level."""

    weight: PositiveFloat
    log_mean: float
    log_sd: PositiveFloat


class LandscapeSpec(Frozen):
    """How the highest rival bid is distributed: a log-normal mixture, or knots (price ratio, share at or below)."""

    name: str = Field(min_length=1)
    mixture: tuple[PriceComponent, ...] = ()
    knots: tuple[tuple[PositiveFloat, float], ...] = ()

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
        if shares and not (shares[0] >= 0 and shares[-1] <= 1):
            raise ValueError(f"landscape {self.name!r}: shares must lie in 0..1, seen {shares[0]}..{shares[-1]}")
        return self


class VolumeSpec(Frozen):
    """Opportunities an hour: negative binomial around the persona's hour-of-week activity."""

    per_hour: PositiveFloat = 120.0
    segment_log_sd: NonNegativeFloat = 0.5
    overdispersion: PositiveFloat = Field(default=0.15, description="variance of the hourly multiplier around 1")
    prior_log_error: NonNegativeFloat = Field(default=0.2, description="error of the advertiser's volume forecast")


class PriceSpec(Frozen):
    """Price levels: log-normal between segments, drifting by AR(1) within a campaign."""

    payment: Literal["first", "second"] = "second"
    level_micros: PositiveInt = Field(default=2000, description="typical price of one impression")
    steepness: PositiveFloat = Field(default=1.0, description="power applied to price ratios; >1 spreads them out")
    segment_log_sd: NonNegativeFloat = 0.4
    campaign_log_sd: NonNegativeFloat = 0.2
    common_drift_sd: NonNegativeFloat = 0.08
    segment_drift_sd: NonNegativeFloat = 0.05
    drift_persistence: float = Field(default=0.97, ge=0, lt=1)
    hourly_noise_sd: NonNegativeFloat = 0.05
    diurnal_amplitude: NonNegativeFloat = 0.2
    jump_log_size: NonNegativeFloat = 0.0
    prior_log_error: NonNegativeFloat = 0.15


class RivalSpec(Frozen):
    """Rivals who run out of budget in the evening, so that prices fall."""

    depth: NonNegativeFloat = 0.15
    randomness: NonNegativeFloat = 0.5
    around_hour: float = Field(default=20.0, ge=0, lt=24)


class ResponseSpec(Frozen):
    """Clicks and conversions; what spreads them between segments is unknown to the bidder unless values_known."""

    click_rate: float = Field(default=0.01, gt=0, lt=1)
    conversion_rate: float = Field(default=0.06, gt=0, lt=1)
    click_log_sd: NonNegativeFloat = 0.5
    conversion_log_sd: NonNegativeFloat = 0.6
    campaign_log_sd: NonNegativeFloat = 0.3
    conversion_value_log_sd: NonNegativeFloat = 0.2
    price_value_correlation: float = Field(default=0.3, ge=-1, le=1)
    daypart_amplitude: NonNegativeFloat = Field(default=0.0, description="log swing of conversion intent over a day")
    persona_strength: NonNegativeFloat = Field(default=0.0, description="share of the personas' own rates that applies")
    value_drift_sd: NonNegativeFloat = 0.0
    values_known: bool = False


class DelaySpec(Frozen):
    """From click to reported conversion: a share at once, the rest exponential, all inside the window."""

    mean_hours: NonNegativeFloat = 0.0
    immediate_share: float = Field(default=0.0, ge=0, le=1)
    window_hours: PositiveInt = Field(default=72, le=720)


class FatigueSpec(Frozen):
    """Click rates fall as the same audience sees the advert again and recover with a half-life."""

    strength: NonNegativeFloat = 0.0
    half_life_hours: PositiveFloat = 24.0


class CreativeSpec(Frozen):
    """How many creatives a campaign can choose from and how much personas differ about them."""

    count: PositiveInt = Field(default=1, le=16)
    affinity_strength: NonNegativeFloat = 1.0


class BudgetRange(Frozen):
    """Budgets as a share of what winning every opportunity would cost; daily caps around an even split."""

    share_low: PositiveFloat = 0.06
    share_high: PositiveFloat = 0.4
    daily_low: PositiveFloat = 0.95
    daily_high: PositiveFloat = 1.5

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

    name: str = Field(min_length=1)
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
    landscapes: tuple[LandscapeSpec, ...] = Field(default=(), description="empty: the built-in set")
    hour_of_week: tuple[PositiveFloat, ...] = Field(
        default=(), description="168 measured volume factors; empty: personas'"
    )

    randomise: dict[str, tuple[float, float]] = Field(
        default={}, description="ranges drawn anew for each campaign, by key path; one of RANDOMISABLE"
    )

    @model_validator(mode="after")
    def _ranges_are_possible(self) -> Self:
        for path, (low, high) in self.randomise.items():
            if path not in RANDOMISABLE:
                raise ValueError(
                    f"randomise: {path!r} cannot vary between campaigns; allowed: {', '.join(RANDOMISABLE)}"
                )
            if low > high:
                raise ValueError(f"randomise: {path} runs from {low} to {high}; the first must not exceed the second")
            section, key = path.split(".")
            for value in (low, high):
                part = getattr(self, section)
                type(part).model_validate({**part.model_dump(), key: value})
        return self

    @model_validator(mode="after")
    def _week_is_whole(self) -> Self:
        if len(self.hour_of_week) not in (0, 168):
            raise ValueError(f"hour_of_week needs 168 factors, Monday 00h first, seen {len(self.hour_of_week)}")
        return self

    @property
    def hours(self) -> int:
        """Length of an episode."""
        return self.days * 24
