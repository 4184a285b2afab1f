"""The numbers of a spec that compiled loops read, in ticks and plain floats."""

import math
from typing import NamedTuple

from gaelp.sandbox.spec import SandboxSpec

__all__ = ["ExchangeRules", "exchange_rules"]

_HOUR = 60.0  # ticks


class ExchangeRules(NamedTuple):
    """Times are in ticks, shares and rates between 0 and 1."""

    reserve: float  # micros of ad rank
    price_step: int  # micros
    day_log_sd: float  # of searches
    busy_share: float
    busy_factor: float
    price_log_sd: float
    price_persistence: float
    forgetting: float  # of views, per tick, as a power of two
    click_loss: float
    hide_rate: float
    complaint_rate: float
    late_share: float
    late_mean: float
    late_max: int
    invalid_share: float
    credit_low: float
    credit_high: float
    fast_share: float
    fast_mean: float
    slow_mean: float
    window: float
    report_mean: float
    refund_share: float
    refund_mean: float
    rate_memory: float  # factor per hour
    lowest_pace: float
    catch_up: float
    prior_rate: float
    prior_conversions: float
    group_strength: float
    shared_strength: float
    evidence_memory: float  # factor per hour
    first_bid: float
    margin_step: float
    fast_ripening: float  # factor per hour of the clicks whose fast conversions are not reported yet
    slow_ripening: float


def exchange_rules(spec: SandboxSpec) -> ExchangeRules:
    """The rules of a spec."""
    clicks, conversions, auto = spec.clicks, spec.conversions, spec.automated_bidding
    fast_hours, slow_hours = conversions.delay_mean_hours
    return ExchangeRules(
        reserve=float(spec.auction.reserve_micros),
        price_step=spec.auction.price_step_micros,
        day_log_sd=spec.searches.day_log_sd,
        busy_share=spec.searches.busy_day_share,
        busy_factor=spec.searches.busy_day_factor,
        price_log_sd=spec.auction.day_log_sd,
        price_persistence=spec.auction.day_persistence,
        forgetting=-1.0 / (spec.users.fatigue_half_life_hours * _HOUR),
        click_loss=spec.users.click_loss_per_view,
        hide_rate=spec.response.hide_rate,
        complaint_rate=spec.response.complaint_rate,
        late_share=clicks.late_share,
        late_mean=clicks.late_mean_minutes,
        late_max=clicks.late_max_minutes,
        invalid_share=clicks.invalid_share,
        credit_low=clicks.credit_after_hours_low * _HOUR,
        credit_high=clicks.credit_after_hours_high * _HOUR,
        fast_share=conversions.delay_shares[0],
        fast_mean=fast_hours * _HOUR,
        slow_mean=slow_hours * _HOUR,
        window=conversions.window_days * 24 * _HOUR,
        report_mean=conversions.report_mean_hours * _HOUR,
        refund_share=spec.sales.refund_share,
        refund_mean=spec.sales.refund_mean_hours * _HOUR,
        rate_memory=math.exp(-1 / spec.pacing.memory_hours),
        lowest_pace=spec.pacing.lowest_share,
        catch_up=spec.pacing.catch_up_share,
        prior_rate=auto.prior_conversion_rate,
        prior_conversions=auto.prior_conversions,
        group_strength=auto.group_strength,
        shared_strength=auto.shared_strength,
        evidence_memory=math.exp(-1 / (24 * auto.memory_days)),
        first_bid=float(auto.first_bid_micros),
        margin_step=auto.step_per_hour,
        fast_ripening=math.exp(-1 / (fast_hours + conversions.report_mean_hours)),
        slow_ripening=math.exp(-1 / (slow_hours + conversions.report_mean_hours)),
    )
