"""How many impressions were possible: from the impression share where it says so, else from the forecast."""

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Ints

__all__ = ["SHARE_FLOOR", "forecast_opportunities", "opportunities_from_share"]

SHARE_FLOOR = 0.1  # platforms report a share below a tenth as 0.0999
_SHARE_ROUNDING = 5e-5  # half of the last digit of a reported share


def opportunities_from_share(
    impressions: npt.ArrayLike, share: npt.ArrayLike, floor: float = SHARE_FLOOR
) -> tuple[Floats, Floats]:
    """Possible impressions and their relative error; NaN where the share is absent, below the floor or of nothing."""
    shown, part = np.asarray(impressions, np.float64), np.asarray(share, np.float64)
    known = (part >= floor) & (shown > 0)
    safe = np.where(known, part, 1.0)
    return np.where(known, shown / safe, np.nan), np.where(known, _SHARE_ROUNDING / safe, np.nan)


def forecast_opportunities(
    expected: Floats,
    impressions: Ints,
    learned: tuple[Floats, Floats, Floats],
    errors: tuple[float, float],
) -> tuple[Floats, Floats]:
    """Possible impressions of an hour by forecast, and their relative error.

    `expected` is the forecast of the hour. `learned` holds, in possible impressions, what the forecast weighs, what was
    possible in the hours in which that was known, and what the forecast had said of these: the forecast is corrected by
    their ratio (gamma-Poisson). `errors` are the log error of the forecast and the variance of single hours around it.
    At least the impressions were possible.
    """
    prior, possible, forecast = learned
    log_error, overdispersion = errors
    safe = np.maximum(prior + forecast, 1e-9)
    estimate = expected * (prior + possible) / safe
    error = np.sqrt(overdispersion + log_error**2 * prior / safe + 1.0 / np.maximum(estimate, 1.0))
    return np.maximum(estimate, impressions), error
