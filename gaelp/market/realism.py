"""How far a market is from public data: what its campaigns look like, beside ranges that others have measured.

A few hundred campaigns are drawn and played at the bids of the hindsight optimum, so that the figures depend on the
market alone and not on a tuned rule.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gaelp.arrays import Floats, Ints32
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.objective import Objective
from gaelp.errors import DataError
from gaelp.market.baselines.bids import bids_for_worth
from gaelp.market.delay_families import delay_parts
from gaelp.market.market import Market, seeds_from
from gaelp.market.view import Action
from gaelp.market.world import DAY_HOURS, draw_world

__all__ = ["CHANNELS", "PublicFigure", "PublicFigures", "PublicRange", "RealismRow", "measure_realism"]

MarketChannel = Literal["display", "search"]
CHANNELS: tuple[MarketChannel, ...] = ("display", "search")

_SEED = 20_260
_THRIFTY = 0.7
_WEEK_HOURS = 168
_DELAY_DRAWS = 100_000
_DIGITS = 2  # figures are compared as they are printed


class PublicRange(Frozen):
    """The least and the most that data show, and which data."""

    low: float
    high: float
    source: str = Field(min_length=1)

    @model_validator(mode="after")
    def _rises(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low={self.low} exceeds high={self.high}: swap them")
        return self


class PublicFigure(Frozen):
    """One statistic and its range by channel; None where nobody has published one."""

    label: str = Field(min_length=1)
    display: PublicRange | None = None
    search: PublicRange | None = None


class PublicFigures(Frozen):
    """Statistics by name (configs/library/public-figures.yaml)."""

    figures: dict[str, PublicFigure]


@dataclass(frozen=True, slots=True)
class RealismRow:
    """One statistic of a market beside the public ranges."""

    statistic: str
    figure: PublicFigure
    value: float

    def fits(self, channel: MarketChannel) -> bool | None:
        """Whether the market's value is inside the range of a channel; None where there is no range."""
        public: PublicRange | None = getattr(self.figure, channel)
        return None if public is None else public.low <= _rounded(self.value) <= public.high


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def measure_realism(market: Market, *, campaigns: int = 400) -> list[RealismRow]:
    """Draw and play campaigns, and compare each statistic."""
    figures = load_model(PublicFigures, "public-figures", "library", error=DataError).figures
    values = _played(market, campaigns) | _drawn(market) | _profit(market, campaigns)
    return [RealismRow(name, figure, values[name]) for name, figure in figures.items()]


def _played(market: Market, campaigns: int) -> dict[str, float]:
    """What campaigns achieve at the optimum's bids; totals are the market's own, not those reported so far."""
    obs = market.reset(seeds_from(_SEED, campaigns))
    value_log = np.log(np.maximum(market.world.value_micros, 1e-12))
    while not market.done:
        price_log = market.world.budget_price_log[:, market.hour // DAY_HOURS]
        worth_log = np.asarray(value_log[market.hour] - price_log[:, None], dtype=np.float64)
        obs, _ = market.step(Action(bids_for_worth(market.brief, obs, worth_log, 0.0)))
    state = market.state
    impressions, clicks, cost = (
        total.sum(axis=1, dtype=np.float64)
        for total in (state.total_impressions, state.total_clicks, state.total_cost_micros)
    )
    converted = state.total_conversions + state.pending + state.lost_to_window
    return {
        "click_rate": _median_ratio(clicks, impressions),
        "conversion_rate": _median_ratio(converted.sum(axis=1, dtype=np.float64), clicks),
        "impressions_per_hour": float(np.median(impressions / market.hours)),
        "cost_per_click": _median_ratio(cost / 1e6, clicks),
        **_drawn_volume(market),
        "price_value_correlation": _correlation(market),
        "launch_hour_share": _commonest(market.world.start_hour_of_week % DAY_HOURS),
    }


def _median_ratio(part: Floats, whole: Floats) -> float:
    return float(np.median(part[whole > 0] / whole[whole > 0]))


def _drawn_volume(market: Market) -> dict[str, float]:
    """Mean volume of each hour of the week: activity of the personas that were drawn, weighted by their volume."""
    world, brief = market.world, market.brief
    week = np.einsum("ns,nsh->h", world.audience, brief.activity[world.persona])
    week /= week.mean()
    return {"volume_trough": float(week.min()), "hour_of_week_log_sd": float(np.log(week).std())}


def _correlation(market: Market) -> float:
    """Within campaigns: segments' differences from their campaign's mean."""
    price_log, click_log = market.world.level_log.mean(axis=0), np.log(market.world.click_rate)
    price_log, click_log = (
        log - log.mean(axis=1, keepdims=True) for log in (price_log.astype(np.float64), click_log.astype(np.float64))
    )
    spread = np.sqrt((price_log**2).sum() * (click_log**2).sum())
    return float((price_log * click_log).sum() / spread) if spread > 0 else 0.0


def _commonest(hours_of_day: Ints32) -> float:
    return float(np.bincount(hours_of_day, minlength=DAY_HOURS).max() / len(hours_of_day))


def _drawn(market: Market) -> dict[str, float]:
    """What follows from the numbers of the market alone."""
    delay, parts = market.spec.delay, delay_parts(market.spec.delay)
    rng = np.random.default_rng(_SEED)
    waits = delay.mean_hours * rng.exponential(parts.length[rng.choice(len(parts.share), _DELAY_DRAWS, p=parts.share)])
    waits[rng.random(_DELAY_DRAWS) < delay.immediate_share] = 0.0
    reported_hours = np.minimum(waits, delay.window_hours)
    return {
        "delay_99_hours": float(np.quantile(reported_hours, 0.99)),
        "report_lag_hours": float(market.spec.reports.lag_hours),
    }


def _profit(market: Market, campaigns: int) -> dict[str, float]:
    """How many campaigns should not spend what they have."""
    world = market.world
    profit = Objective(kind="profit")
    thrifty = draw_world(market.spec, market.personas, market.landscapes, seeds_from(_SEED, campaigns), profit)
    return {
        "unprofitable_share": float((world.optimum_micros < world.optimum_spend_micros).mean()),
        "thrifty_share": float((thrifty.optimum_spend_micros < _THRIFTY * thrifty.budget_micros).mean()),
    }
