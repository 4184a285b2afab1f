"""Win-rate curves from bid simulator points alone."""

from dataclasses import fields, replace

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.calibration.point_curves import curves_from_points, point_grid
from gaelp.market.calibration.report_frame import BidPoints

FACTORS = np.array([0.5, 0.7, 1.0, 1.4, 2.0])


def test_points_alone_give_curves_click_rates_and_prices(known_reports, first_weeks):
    curves = curves_from_points(first_weeks.points, first_weeks.campaign)
    bids = known_reports.usual_bid_micros[:, None] * FACTORS
    truth, (low, high) = known_reports.share(bids), curves.win.interval(bids)
    assert ((low <= truth) & (truth <= high)).mean() >= 0.9
    assert np.abs(curves.win.share(bids) - truth).mean() < 0.05
    ratio = np.exp(curves.click.coefficient[:, 0]) / known_reports.click_rate
    assert np.median(ratio) == pytest.approx(1.0, abs=0.1)


def test_bids_rise_within_a_period_and_each_period_begins_again(first_weeks):
    grid = point_grid(first_weeks.points, first_weeks.segments)
    steps = np.diff(grid.bid_micros, axis=1)
    assert (steps[~grid.first[:, 1:] & grid.used[:, 1:]] > 0).all()
    assert (grid.first.sum(axis=1) == grid.period.max(axis=1) + 1).all()


def test_a_segment_with_too_few_points_is_named_with_what_is_needed(first_weeks):
    points = first_weeks.points
    dropped = np.flatnonzero(points.segment == 2)[2:]
    few = replace(points, **{part.name: np.delete(getattr(points, part.name), dropped) for part in fields(points)})
    with pytest.raises(DataError, match="segment 2 has 2 bid simulator points; allowed: at least 3"):
        point_grid(few, first_weeks.segments)


# The highest bids win nothing more. Such segments once got curves that are flat at half of twice the volume.
_SATURATED = np.array(
    [
        [255.0, 549, 778, 793, 793],
        [321, 411, 413, 413, 413],
        [464, 589, 843, 1009, 1014],
        [1624, 3013, 4642, 4921, 4923],
    ]
)
_BIDS_MICROS = np.array([400_000.0, 650_000, 1_000_000, 1_600_000, 2_800_000])


def test_bids_above_which_nothing_more_is_won_win_all_there_is():
    segments, points = _SATURATED.shape
    every = _SATURATED.ravel()
    grid = BidPoints(
        segment=np.repeat(np.arange(segments), points),
        end_day=np.zeros(segments * points, np.int64),
        days=np.full(segments * points, 7.0),
        bid_micros=np.tile(_BIDS_MICROS, segments),
        impressions=every,
        clicks=np.round(every * 0.05),
        spend_micros=np.round(every * 0.05) * 1_000_000,
    )
    win = curves_from_points(grid, np.zeros(segments, np.int64)).win
    top = win.share(np.tile(_BIDS_MICROS, (segments, 1)))
    assert (top[:, -1] > 0.98).all()
    assert top == pytest.approx(_SATURATED / _SATURATED[:, -1:], abs=0.03)
    assert (win.interval(np.tile(_BIDS_MICROS, (segments, 1)))[1][:, -1] > 0.995).all()
