"""How clicks an impression and the price of a click follow the bid, by the calibration window, with draws of it.

A training market charges the mean of the prices below the bid, and an impression is clicked on as often at any bid. A
platform with several places on a page does neither: a lower bid is shown lower down, where clicks are fewer and much
cheaper. What other bids are worth depends on just that, so lifts by the market alone count clicks and money by the
curves of the reports; the twin decides how many impressions a bid wins, hour by hour and within budgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints, Ints32
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.segment_effects import SegmentEffects
from gaelp.market.calibration.segment_estimates import SegmentEstimates

__all__ = ["BidResponse", "draw_response"]

_FARTHEST_LOG = 1.0  # from the usual bid: beyond it curves are not followed


@dataclass(frozen=True, slots=True)
class BidResponse:
    """R draws of the curves of N x S segments, by powers of the log bid over the usual one."""

    usual_log: Floats  # (N, S) log micros for a click
    click_rate: Floats  # (R, N, S) over the estimate: what the draw of the twin says
    click: Floats  # (R, N, S, 2) log clicks an impression
    price: Floats  # (R, N, S, 3) log micros a click

    def clicks_factor(self, click_bid_micros: Floats) -> Floats:
        """Clicks an impression at these bids (R, N, S) over those at the usual ones."""
        return np.asarray(np.exp(self.click[..., 1] * self._distance(click_bid_micros)))

    def clicks(self, click_bid_micros: Floats, impressions: Ints32 | Ints | Floats) -> Floats:
        """Clicks on these impressions at these bids, (R, N, S)."""
        rate_log = self.click[..., 0] + self.click[..., 1] * self._distance(click_bid_micros)
        return np.asarray(impressions * self.click_rate * np.exp(rate_log))

    def spend_micros(self, click_bid_micros: Floats, impressions: Ints32 | Ints | Floats) -> Floats:
        """What these impressions cost at these bids, (R, N, S)."""
        distance = self._distance(click_bid_micros)
        price_log = self.price[..., 0] + self.price[..., 1] * distance + self.price[..., 2] * distance**2
        return np.asarray(self.clicks(click_bid_micros, impressions) * np.exp(price_log))

    def _distance(self, click_bid_micros: Floats) -> Floats:
        log_bid = np.log(np.maximum(click_bid_micros, 1.0))
        return np.clip(log_bid - self.usual_log, -_FARTHEST_LOG, _FARTHEST_LOG)


def draw_response(
    curves: ReportCurves, estimates: SegmentEstimates, drawn: Sequence[SegmentEstimates], rng: np.random.Generator
) -> BidResponse:
    """A draw of the curves for each draw of the estimates; levels are those of the drawn estimates."""
    rows, copies = np.maximum(estimates.row, 0), len(drawn)
    return BidResponse(
        usual_log=np.log(np.maximum(curves.win.usual_bid_micros, 1.0))[rows],
        click_rate=np.stack([each.click_rate for each in drawn]) / estimates.click_rate,
        click=_drawn(curves.click, copies, rng)[:, rows],
        price=_drawn(curves.price, copies, rng)[:, rows],
    )


def _drawn(effects: SegmentEffects, copies: int, rng: np.random.Generator) -> Floats:
    """Coefficients (R, S, p): intercepts as estimated, slopes as far as their errors say."""
    slopes = effects.covariance[:, 1:, 1:]
    root = np.linalg.cholesky(slopes + 1e-12 * np.eye(slopes.shape[-1]))
    normal = rng.standard_normal((copies, *effects.coefficient[:, 1:].shape))
    moved = effects.coefficient[:, 1:] + np.einsum("spq,rsq->rsp", root, normal)
    fixed = np.broadcast_to(effects.coefficient[:, :1], (copies, *effects.coefficient[:, :1].shape))
    return np.concatenate([fixed, moved], axis=2)
