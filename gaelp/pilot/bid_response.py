"""What an impression costs and how often it is clicked, by the bid: curves of the reports, for draws of an account.

The training market has one place on a page: a lower bid wins less often and pays the same for what it wins. On a
platform with several places a lower bid is shown further down, is clicked less often and pays less for a click. Hourly
reports show both, so money is counted by their curves and only what is won comes from the market.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.segment_effects import SegmentEffects
from gaelp.market.calibration.segment_estimates import SegmentEstimates

__all__ = ["BidResponse", "bid_response"]


@dataclass(frozen=True, slots=True)
class BidResponse:
    """Of R draws x N campaigns with S segments, in rows r x N + n; padded segments have rates of some other one."""

    usual_bid_micros: Floats  # (N, S) for a click
    click: Floats  # (N, S, p) log clicks an impression, by powers of the log bid over the usual one
    price: Floats  # (N, S, q) log micros a click, likewise
    click_factor: Floats  # (R x N, S) of a draw over the estimate
    cost_factor: Floats  # (R x N, S) likewise, of an impression
    worth_micros: Floats  # (R x N, S) expected value of a click

    def clicks(self, click_bid_micros: Floats) -> Floats:
        """Clicks an impression at bids for a click, (R x N, S) both."""
        return np.exp(self._log_rate(self.click, click_bid_micros)) * self.click_factor

    def cost_micros(self, click_bid_micros: Floats) -> Floats:
        """What an impression costs at these bids."""
        logs = self._log_rate(self.click, click_bid_micros) + self._log_rate(self.price, click_bid_micros)
        return np.exp(logs) * self.cost_factor

    def _log_rate(self, coefficient: Floats, click_bid_micros: Floats) -> Floats:
        campaigns, segments, powers = coefficient.shape
        bids = click_bid_micros.reshape(-1, campaigns, segments)
        x = np.log(np.maximum(bids, 1.0) / self.usual_bid_micros)
        return np.asarray(sum(coefficient[..., power] * x**power for power in range(powers))).reshape(-1, segments)


def bid_response(curves: ReportCurves, estimates: SegmentEstimates, draws: Sequence[SegmentEstimates]) -> BidResponse:
    """From the curves that the estimates were made of; the draws are of these estimates."""
    row = np.maximum(estimates.row, 0)

    def laid_out(effects: SegmentEffects) -> Floats:
        return effects.coefficient[row]

    worth = [draw.conversion_rate * draw.conversion_value_micros[:, None] for draw in draws]
    return BidResponse(
        usual_bid_micros=np.maximum(curves.win.usual_bid_micros[row], 1.0),
        click=laid_out(curves.click),
        price=laid_out(curves.price),
        click_factor=np.concatenate([draw.click_rate / estimates.click_rate for draw in draws]),
        cost_factor=np.concatenate([np.exp(draw.level_log - estimates.level_log) for draw in draws]),
        worth_micros=np.concatenate(worth),
    )
