"""Figures of pilots, plain or spoiled, for tests."""

from datetime import UTC, date, datetime, timedelta

import numpy as np

from gaelp.market.spec import DelaySpec
from gaelp.pilot.expectation import Expected, PilotExpectation
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.pilot_figures import PilotFigures

FIRST_DAY = date(2026, 11, 2)
CAMPAIGNS, DAYS, SETTLE_DAYS = 20, 14, 7
SPEND_MICROS, CONVERSIONS, SALE_MICROS = 25_000_000, 1.25, 20_000_000
AT_ONCE = DelaySpec(mean_hours=0.0, window_hours=720)
SETTLED = LateValue(delay=AT_ONCE, shortest=AT_ONCE, longest=AT_ONCE)


def plan_days(days=DAYS):
    return tuple(FIRST_DAY + timedelta(days=number) for number in range(days))


def campaign_names(campaigns=CAMPAIGNS):
    return tuple(f"shop-{number:02d}" for number in range(1, campaigns + 1))


def expectation(days=DAYS, campaigns=CAMPAIGNS, conversions=CONVERSIONS, spend=SPEND_MICROS, roi=0.3):
    def everywhere(value):
        return tuple((float(value),) * campaigns for _ in range(days))

    nothing = Expected(value=0.0, lower_95=0.0, upper_95=0.0)
    return PilotExpectation(
        days=plan_days(days),
        campaigns=campaign_names(campaigns),
        spend_micros=everywhere(spend),
        value_micros=everywhere(spend * (1 + roi)),
        conversions=everywhere(conversions),
        total_spend_micros=nothing,
        total_value_micros=nothing,
        total_conversions=nothing,
        roi=Expected(value=roi, lower_95=roi, upper_95=roi),
        roi_log_sd=0.15,
        draws=1,
    )


def pilot_figures(value, spend=None, *, sales=None, as_of=None):
    """From value and spend by day and campaign, in micros; judged when late conversions have settled."""
    value = np.asarray(value)
    days, campaigns = value.shape
    spend = np.full(value.shape, SPEND_MICROS) if spend is None else np.asarray(spend)
    end = FIRST_DAY + timedelta(days=days + SETTLE_DAYS)
    return PilotFigures(
        as_of=as_of or datetime(end.year, end.month, end.day, tzinfo=UTC),
        days=plan_days(days),
        campaigns=campaign_names(campaigns),
        spend_micros=spend.astype(np.int64),
        impressions=np.full(value.shape, 400),
        clicks=np.full(value.shape, 20),
        conversions=value / SALE_MICROS,
        value_micros=np.rint(value).astype(np.int64),
        sales=None if sales is None else np.asarray(sales) / SALE_MICROS,
        sale_value_micros=None if sales is None else np.rint(sales).astype(np.int64),
    )


def steady_value(roi=0.3, spread=0.1, days=DAYS, campaigns=CAMPAIGNS):
    """The same return every day; campaigns differ by this share, up and down in turn."""
    by_campaign = 1 + spread * np.where(np.arange(campaigns) % 2, 1, -1)
    return np.tile(SPEND_MICROS * (1 + roi) * by_campaign, (days, 1))
