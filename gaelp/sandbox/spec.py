"""What the world of the local ad platform is made of: one file under configs/sandbox/ is one SandboxSpec."""

from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant, Share
from gaelp.config.load import load_model
from gaelp.config.names import refuse_repeats
from gaelp.errors import BadInput, MoneyError
from gaelp.money import Money
from gaelp.sandbox.serving import OverdeliveryLimits

__all__ = [
    "AutoBiddingSpec",
    "ClickSpec",
    "ConversionDelaySpec",
    "ExchangeAuctionSpec",
    "HabitSpec",
    "OverdeliverySpec",
    "OverdeliverySpecs",
    "PacingSpec",
    "ReportLagSpec",
    "ReviewSpec",
    "RivalFieldSpec",
    "SalesSpec",
    "SandboxSpec",
    "SearchSpec",
    "SearcherSpec",
    "UserResponseSpec",
    "UsersSpec",
    "load_sandbox_spec",
]

SpreadLogSd = Annotated[float, Field(ge=0, le=2)]
Multiple = Annotated[float, Field(gt=0.001, le=1000)]
EventRate = Annotated[float, Field(gt=0, lt=1)]
DelayHours = Annotated[float, Field(gt=0, le=8760)]
Hour = Annotated[int, Field(ge=0, le=24)]
Price = Annotated[int, Field(ge=1, le=10**12)]
TenDigits = Annotated[str, Field(pattern=r"\A[0-9]{10}\z")]
_HIGHEST_SEED = 2**63 - 1


def _zone_exists(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"saw {name!r}; allowed: an IANA time zone such as Europe/Berlin") from None
    return name


def _is_currency(code: str) -> str:
    try:
        Money(0, code)
    except MoneyError as problem:
        raise ValueError(str(problem)) from None
    return code


class SearchSpec(Frozen):
    """How many searches there are: by product, topic, day of the week and chance."""

    per_hour: float = Field(gt=0, le=20_000)
    product_log_sd: SpreadLogSd
    topic_log_sd: SpreadLogSd
    persona_topic_log_sd: SpreadLogSd
    weekday_factors: tuple[Multiple, ...] = Field(min_length=7, max_length=7)
    day_log_sd: SpreadLogSd
    busy_day_share: Share
    busy_day_factor: Multiple


class UsersSpec(Frozen):
    """The people who search; each remembers the product's adverts for a while and clicks less."""

    per_product: int = Field(ge=100, le=1_000_000)
    fatigue_half_life_hours: DelayHours
    click_loss_per_view: float = Field(ge=0, le=10)


class SearcherSpec(Frozen):
    """A persona: when these people search, on what device, and how readily they buy."""

    name: str = Field(min_length=1)
    peak_hour: Hour
    mobile_share: Share
    conversion_factor: Multiple


class HabitSpec(Frozen):
    """The shape of a persona's day."""

    width_hours: DelayHours
    floor: float = Field(gt=0, le=10)


class RivalFieldSpec(Frozen):
    """The other advertisers: bids, quality, presence, opening hours and daily budgets."""

    count: int = Field(ge=1, le=64)
    bid_log_sd: SpreadLogSd
    topic_log_sd: SpreadLogSd
    auction_log_sd: SpreadLogSd
    quality_log_sd: SpreadLogSd
    presence_low: Share
    presence_high: Share
    daytime_share: Share
    night_presence: Share
    opens_hour: Hour
    closes_hour: Hour
    budget_low: Multiple
    budget_high: Multiple


class ExchangeAuctionSpec(Frozen):
    """Places on the page, the lowest rank shown, and the level of rivals' bids."""

    slot_click_factors: tuple[Multiple, ...] = Field(min_length=1, max_length=16)
    reserve_micros: Price
    price_step_micros: Price
    price_level_micros: Price
    price_product_log_sd: SpreadLogSd
    price_topic_log_sd: SpreadLogSd
    price_follows_value: float = Field(ge=-2, le=2)
    day_log_sd: SpreadLogSd
    day_persistence: float = Field(ge=0, lt=1)


class UserResponseSpec(Frozen):
    """Clicks, conversions and negative feedback."""

    click_rate: EventRate
    click_log_sd: SpreadLogSd
    conversion_rate: EventRate
    conversion_log_sd: SpreadLogSd
    device_conversion_factors: tuple[Multiple, Multiple]
    device_log_sd: SpreadLogSd
    daypart_conversion_factors: tuple[Multiple, ...] = Field(min_length=6, max_length=6)
    daypart_log_sd: SpreadLogSd
    hide_rate: Share
    complaint_rate: Share


class SalesSpec(Frozen):
    """What a sale is worth, relative to what it costs a reference bidder, and how many are returned."""

    reference_bid_factor: Multiple
    return_mean: float = Field(gt=-1, le=100)
    return_sd: float = Field(ge=0, le=2)
    topic_value_log_sd: SpreadLogSd
    sale_value_log_sd: SpreadLogSd
    refund_share: Share
    refund_mean_hours: DelayHours


class ConversionDelaySpec(Frozen):
    """From click to conversion: a mixture of two exponentials inside a window; then some hours until it is shown."""

    delay_shares: tuple[Share, Share]
    delay_mean_hours: tuple[DelayHours, DelayHours]
    window_days: int = Field(ge=1, le=90)
    report_mean_hours: DelayHours

    @model_validator(mode="after")
    def _shares_are_whole(self) -> Self:
        if abs(sum(self.delay_shares) - 1) > 1e-9:
            raise ValueError(f"delay_shares sum to {sum(self.delay_shares):g}: make them sum to 1")
        return self


class ClickSpec(Frozen):
    """Clicks that are credited later, and clicks that come some minutes after the advert was shown."""

    invalid_share: Share
    credit_after_hours_low: DelayHours
    credit_after_hours_high: DelayHours
    late_share: Share
    late_mean_minutes: float = Field(gt=0, le=10_000)
    late_max_minutes: int = Field(ge=1, le=1440)


class PacingSpec(Frozen):
    """How a campaign's budget is spread over the day and the period."""

    memory_hours: DelayHours
    lowest_share: Share
    catch_up_share: Share


class AutoBiddingSpec(Frozen):
    """How automated bidding learns from the platform's own data."""

    prior_conversion_rate: EventRate
    prior_conversions: Multiple
    group_strength: Multiple
    shared_strength: Multiple
    memory_days: DelayHours
    first_bid_micros: Price
    step_per_hour: float = Field(gt=0, le=1)


class ReportLagSpec(Frozen):
    """When an hour's figures can be read."""

    lag_hours: int = Field(ge=0, le=168)


class ReviewSpec(Frozen):
    """How long adverts are reviewed before they serve."""

    hours_low: float = Field(ge=0, le=168)
    hours_high: float = Field(ge=0, le=168)


class OverdeliverySpec(Frozen):
    """How far one platform spends beyond a daily budget, in percent of it."""

    day_percent: int = Field(ge=100, le=1000)
    period: Literal["month", "week"]
    period_percent: int = Field(ge=100, le=100_000)

    def limits(self) -> OverdeliveryLimits:
        """As a served campaign carries it."""
        return OverdeliveryLimits(self.day_percent, self.period, self.period_percent)


class OverdeliverySpecs(Frozen):
    """The rule of each front."""

    google: OverdeliverySpec
    meta: OverdeliverySpec


class SandboxSpec(Frozen):
    """Everything a world is drawn from; two worlds with the same spec and the same calls are the same to the bit."""

    seed: int = Field(ge=0, le=_HIGHEST_SEED)
    start: Instant
    time_zone: Annotated[str, AfterValidator(_zone_exists)]
    currency: Annotated[str, AfterValidator(_is_currency)]
    customer_ids: tuple[TenDigits, ...] = Field(min_length=1, max_length=100)
    manager_customer_id: TenDigits
    meta_account_ids: tuple[TenDigits, ...] = Field(min_length=1, max_length=100)
    searches: SearchSpec
    users: UsersSpec
    personas: tuple[SearcherSpec, ...] = Field(min_length=1, max_length=16)
    habits: HabitSpec
    rivals: RivalFieldSpec
    auction: ExchangeAuctionSpec
    response: UserResponseSpec
    sales: SalesSpec
    conversions: ConversionDelaySpec
    clicks: ClickSpec
    pacing: PacingSpec
    automated_bidding: AutoBiddingSpec
    reports: ReportLagSpec
    review: ReviewSpec
    overdelivery: OverdeliverySpecs

    @model_validator(mode="after")
    def _starts_on_the_hour(self) -> Self:
        if (self.start.minute, self.start.second, self.start.microsecond) != (0, 0, 0):
            raise ValueError(f"saw start={self.start.isoformat()}; allowed: a whole hour of UTC")
        return self

    @model_validator(mode="after")
    def _accounts_differ(self) -> Self:
        refuse_repeats("account", (self.manager_customer_id, *self.customer_ids, *self.meta_account_ids))
        refuse_repeats("persona", (persona.name for persona in self.personas))
        return self

    @model_validator(mode="after")
    def _ranges_rise(self) -> Self:
        for name, low, high in (
            ("rivals.presence", self.rivals.presence_low, self.rivals.presence_high),
            ("rivals.budget", self.rivals.budget_low, self.rivals.budget_high),
            ("clicks.credit_after_hours", self.clicks.credit_after_hours_low, self.clicks.credit_after_hours_high),
            ("review.hours", self.review.hours_low, self.review.hours_high),
        ):
            if low > high:
                raise ValueError(f"{name}_low={low} exceeds {name}_high={high}: swap them")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of every account."""
        return ZoneInfo(self.time_zone)


def load_sandbox_spec(name: str | Path = "default", *, error: type[BadInput] = BadInput) -> SandboxSpec:
    """A world by its name in configs/sandbox or by the path of a file."""
    return load_model(SandboxSpec, name, "sandbox", error=error)
