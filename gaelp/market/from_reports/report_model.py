"""What a calibrated market says about an account whose reports are read: win rates, delays, fatigue, volume errors."""

from dataclasses import dataclass

import numpy as np
from pydantic import Field, PositiveInt

from gaelp.arrays import Floats, Floats32
from gaelp.config.base import Frozen
from gaelp.market.delay_families import delay_parts
from gaelp.market.landscape import Landscapes
from gaelp.market.price_tracking import price_at_win_rate
from gaelp.market.spec import MarketSpec

__all__ = ["ObserverSpec", "ReportModel", "report_model"]


class ObserverSpec(Frozen):
    """How reports are read."""

    revised_hours: PositiveInt = Field(
        default=168, ge=48, le=2160, description="hours that are remembered, so that a later report can revise them"
    )
    volume_prior_hours: float = Field(
        default=10.0, gt=0, le=1000, description="hours of known volume that the volume forecast is worth"
    )


@dataclass(frozen=True, slots=True)
class ReportModel:
    """What is the same for all campaigns of an account; K parts of the conversion delay."""

    price_at_win_rate: Floats32  # (cells + 2,)
    win: Floats32  # (1, grid) of the pooled landscape
    delay_share: Floats  # (K,)
    delay_length: Floats  # (K,) mean of each part over the mean of all
    open_share: float  # of clicks, whose conversion is not reported at once
    exposure_kept: float  # share of exposure remembered an hour later
    forecast_log_error: float  # of the volume forecast
    volume_overdispersion: float  # variance of an hour's volume around its mean, relative


def report_model(spec: MarketSpec, landscapes: Landscapes) -> ReportModel:
    """The model of the market that the policy was trained in; ranges drawn for each campaign count by their centre."""
    parts = delay_parts(spec.delay)
    return ReportModel(
        price_at_win_rate=price_at_win_rate(landscapes),
        win=np.ascontiguousarray(landscapes.win[landscapes.pooled :]),
        delay_share=parts.share,
        delay_length=parts.length,
        open_share=1.0 - _centre(spec, "delay.immediate_share", spec.delay.immediate_share),
        exposure_kept=float(np.exp2(-1 / _centre(spec, "fatigue.half_life_hours", spec.fatigue.half_life_hours))),
        forecast_log_error=_centre(spec, "volume.prior_log_error", spec.volume.prior_log_error),
        volume_overdispersion=spec.volume.overdispersion,
    )


def _centre(spec: MarketSpec, path: str, value: float) -> float:
    low, high = spec.randomise.get(path, (value, value))
    return 0.5 * (low + high)
