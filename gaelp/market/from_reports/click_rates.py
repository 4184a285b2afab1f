"""Click rates by segment: an estimate to begin with, drawn to what was reported (empirical Bayes)."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats
from gaelp.errors import DataError

__all__ = ["PRIOR_CLICKS", "predicted_click_rate"]

PRIOR_CLICKS = 20.0  # clicks that the first estimate is worth


def predicted_click_rate(
    first_rate: npt.ArrayLike,
    clicks: npt.ArrayLike,
    impressions: npt.ArrayLike,
    *,
    prior_clicks: float = PRIOR_CLICKS,
) -> Floats:
    """Clicks an impression, (N, S): the posterior mean of a gamma-Poisson model around the first estimate."""
    rate = np.asarray(first_rate, np.float64)
    if not ((rate > 0) & (rate < 1)).all():
        raise DataError(f"click rates from {rate.min():g} to {rate.max():g} to begin with; allowed: above 0, below 1")
    posterior = (np.asarray(clicks) + prior_clicks) / (np.asarray(impressions) + prior_clicks / rate)
    return np.minimum(np.asarray(posterior, np.float64), 1.0)
