"""Is the lower bound of a pilot's ROI honest? Pilots of a population that returns exactly its spend, and the bound."""

from collections.abc import Mapping

import numpy as np

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.pilot.pilot_metrics import pooled_roi

__all__ = ["POPULATIONS", "Population", "drawn_pilots", "too_high_share"]


class Population(Frozen):
    """Campaigns as they may be; spreads are standard deviations of logarithms."""

    sale_log_sd: float = 0.3
    return_log_sd: float = 0.0  # of true returns between campaigns
    budget_log_sd: float = 0.0
    daily_sales: float = 1.25
    days: int = 14


POPULATIONS: Mapping[str, Population] = {
    "equal campaigns": Population(),
    "heavy tails": Population(sale_log_sd=1.5),
    "returns differ": Population(sale_log_sd=1.0, return_log_sd=0.6),
    "budgets differ": Population(budget_log_sd=0.7),
    "all of it": Population(sale_log_sd=1.0, return_log_sd=0.3, budget_log_sd=0.7),
    "rare sales": Population(sale_log_sd=1.0, daily_sales=0.2),
}


def drawn_pilots(
    population: Population, pilots: int, campaigns: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Value and spend by pilot and campaign; in expectation they are equal."""
    shape, spread = (pilots, campaigns), population.return_log_sd
    spend = np.exp(population.budget_log_sd * rng.standard_normal(shape)) * rng.gamma(300, 1 / 300, shape)
    returns = np.exp(spread * rng.standard_normal(shape) - spread**2 / 2)
    expected = population.daily_sales * population.days
    sales = rng.poisson(expected * spend * returns * rng.gamma(80, 1 / 80, shape))
    each = rng.lognormal(-(population.sale_log_sd**2) / 2, population.sale_log_sd, int(sales.sum()))
    value = np.bincount(np.repeat(np.arange(sales.size), sales.ravel()), each, sales.size).reshape(shape)
    return value / expected, spend


def too_high_share(population: Population, pilots: int, campaigns: int, rng: np.random.Generator) -> float:
    """Share of pilots whose lower bound is above the truth; 2.5% is nominal."""
    drawn = zip(*drawn_pilots(population, pilots, campaigns, rng), strict=True)
    return float(np.mean([pooled_roi(value, spend).lower_95 > 0 for value, spend in drawn]))
