"""Logged decisions as hours x campaigns x segments, in the layout of a market, and back to rows."""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.errors import DataError
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.market.calibration.segment_estimates import SegmentEstimates

__all__ = ["LoggedGrid", "logged_grid"]

_HOUR_US = 3_600_000_000
_WEEK_HOURS = 168


@dataclass(frozen=True, slots=True)
class LoggedGrid:
    """Where each of R rows is among T hours, N campaigns and S segments of the estimates."""

    shape: tuple[int, int, int]
    hour: Ints  # (R,) since the first
    campaign: Ints  # (R,) in the order of the estimates
    segment: Ints  # (R,) within its campaign

    def laid_out(self, rows: Floats | Ints, empty: float) -> Floats:
        """A figure of the rows as (T, N, S), `empty` where there is no row."""
        grid = np.full(self.shape, empty, np.float64)
        grid[self.hour, self.campaign, self.segment] = rows
        return grid

    def picked(self, grid: np.ndarray) -> np.ndarray:
        """The entry of a grid (T, N, S) for each row, (R,)."""
        return np.asarray(grid[self.hour, self.campaign, self.segment])


def logged_grid(logged: LoggedDecisions, estimates: SegmentEstimates) -> LoggedGrid:
    """Find the place of every row; DataError names a campaign or segment that the estimates do not have."""
    places = {
        (campaign, segment): (n, s)
        for n, (campaign, segments) in enumerate(zip(estimates.campaign_names, estimates.segment_names, strict=True))
        for s, segment in enumerate(segments)
        if segment
    }
    pairs, of_pair = np.unique(np.stack([logged.campaign, logged.segment]), axis=1, return_inverse=True)
    names = [(logged.campaign_names[campaign], logged.segment_names[segment]) for campaign, segment in pairs.T.tolist()]
    unknown = [name for name in names if name not in places]
    if unknown:
        raise DataError(
            f"{len(unknown)} segments such as {'/'.join(unknown[0])} are in the sealed window and not in the"
            " calibration window: an agent cannot be asked about segments that nobody knew. Leave their campaigns out"
        )
    place = np.array([places[name] for name in names], np.int64)[of_pair.reshape(-1)]
    hour = logged.hour_start.astype(np.int64) // _HOUR_US
    first = int(hour.min())
    hours = int(hour.max()) - first + 1
    shape = (hours, len(estimates.campaign_names), estimates.row.shape[1])
    return LoggedGrid(shape, hour - first, place[:, 0], place[:, 1])
