"""How much chance is in the sales of a campaign-day: how sales vary in number and in value, measured on a log."""

import numpy as np
from pydantic import NonNegativeFloat

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.market.calibration.report_frame import HourReports

__all__ = ["SaleChance", "draw_sales", "draw_value", "measure_chance"]


class SaleChance(Frozen):
    """Chance beyond what is expected; the defaults were measured on the local ad platform."""

    value_spread: NonNegativeFloat = 0.35  # sd of a sale's value around its campaign's mean, over that mean
    overdispersion: NonNegativeFloat = 0.1  # of sales a campaign-day beyond Poisson: variance = mean + this x mean^2
    spend_spread: NonNegativeFloat = 0.2  # sd of a campaign-day's spend over its mean


def measure_chance(reports: HourReports) -> SaleChance:
    """From hourly reports of the campaigns: a day's sales are compared with its clicks at the campaign's usual rate."""
    spend, clicks, sales = (_by_campaign_day(reports, part) for part in ("spend_micros", "clicks", "conversions"))
    expected = clicks * (sales.sum(axis=1) / np.maximum(clicks.sum(axis=1), 1.0))[:, None]
    beyond = float(((sales - expected) ** 2 - expected).sum())
    active = spend > 0
    level = spend.sum(axis=1) / np.maximum(active.sum(axis=1), 1)
    relative = np.where(active, spend / np.maximum(level, 1.0)[:, None] - 1, 0.0)
    return SaleChance(
        value_spread=_value_spread(reports),
        overdispersion=max(beyond / max(float((expected**2).sum()), 1e-9), 0.0),
        spend_spread=float(np.sqrt((relative**2).sum() / max(int(active.sum()), 1))),
    )


def draw_value(conversions: Floats, value_micros: Floats, chance: SaleChance, rng: np.random.Generator) -> Floats:
    """Value of a random number of sales, given how many are expected and what one is worth; shapes that broadcast."""
    return draw_sales(conversions, value_micros, chance, rng)[1]


def draw_sales(
    conversions: Floats, value_micros: Floats, chance: SaleChance, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Random numbers of sales and their value: gamma-distributed sales, so that any number of them adds up exactly."""
    expected = np.asarray(conversions, float)
    if chance.overdispersion > 0:
        expected = expected * rng.gamma(1 / chance.overdispersion, chance.overdispersion, expected.shape)
    sales = rng.poisson(expected).astype(float)
    if chance.value_spread <= 0:
        return sales, sales * value_micros
    spread = chance.value_spread**2
    units = np.where(sales > 0, rng.gamma(np.maximum(sales, 1) / spread, spread), 0.0)
    return sales, units * value_micros


def _by_campaign_day(reports: HourReports, name: str) -> Floats:
    total = np.zeros((len(reports.campaign_names), reports.days))
    np.add.at(total, reports.campaign, reports.by_day(getattr(reports, name)))
    return total


def _value_spread(reports: HourReports) -> float:
    """Around the mean of the campaign, by hours with sales; an hour with several counts as their mean."""
    sold = np.bincount(reports.campaign, reports.conversions.sum(axis=1), len(reports.campaign_names))
    value = np.bincount(reports.campaign, reports.value_micros.sum(axis=1), len(reports.campaign_names))
    mean = (value / np.maximum(sold, 1.0))[reports.campaign][:, None]
    hourly = (reports.conversions > 0) & (mean > 0)
    each = np.where(hourly, reports.value_micros / np.maximum(reports.conversions, 1e-9) / np.maximum(mean, 1.0) - 1, 0)
    total = float((each**2 * reports.conversions).sum())
    return float(np.sqrt(total / max(float(reports.conversions[hourly].sum()), 1.0)))
