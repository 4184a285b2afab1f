"""How much of the final value is known at an age."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from gaelp.market.calibration.delay import DelayFit
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.spec import DelaySpec
from gaelp.pilot.late_value import fit_refunds, late_value

DELAY = DelaySpec(mean_hours=48.0, window_hours=720)
START = datetime(2026, 10, 1, tzinfo=UTC)


def fitted(value, low, high):
    return Fitted(value=value, interval_low=low, interval_high=high, observations=100, goodness=0.1, method="test")


def test_older_clicks_are_better_known_and_an_unsure_delay_gives_an_interval():
    late = late_value(DelayFit(fitted(48.0, 40.0, 60.0), fitted(0.0, 0.0, 0.1), DELAY))
    days = tuple(date(2026, 11, day) for day in (1, 5, 9))
    known = late.known(days, datetime(2026, 11, 10, 5, tzinfo=UTC), "America/New_York")
    assert (np.diff(known.value) < 0).all()
    assert (known.low < known.value).all()
    assert (known.value < known.high).all()
    assert known.value[0] == pytest.approx(1 - np.exp(-(9 * 24 - 12) / 48), abs=0.01)


def test_a_delay_that_was_not_measured_may_be_none_or_twice_as_long():
    nothing = TooLittle(observations=0, reason="none")
    late = late_value(DelayFit(nothing, nothing, DELAY))
    assert (late.shortest.mean_hours, late.longest.mean_hours) == (0, 96)
    one = late_value(DelayFit(fitted(48.0, 40.0, 60.0), nothing, DELAY))
    assert (one.shortest.mean_hours, one.longest.mean_hours) == (40, 60)


def sales_feed(sales, share, rng, mean_hours=240.0, watched_days=42):
    """A feed of sales over some weeks; some are returned later, each as known at the end."""
    end = START + timedelta(days=watched_days)
    sold = [START + timedelta(days=watched_days) * float(part) for part in rng.random(sales)]
    rows = [(f"s{number}", 0, at, 20_000_000) for number, at in enumerate(sold)]
    for number, at in enumerate(sold):
        back = at + timedelta(hours=float(rng.exponential(mean_hours)))
        if rng.random() < share and back <= end:
            rows.append((f"s{number}", 1, back, 0))
    names, revisions, times, values = zip(*rows, strict=True)
    columns = {"conversion": names, "revision": revisions, "reported_at": times, "value_micros": values}
    return pa.table({**columns, "reported_at": pa.array(times, pa.timestamp("us", tz="UTC"))}), end


def test_refunds_are_fitted_although_many_of_the_newest_are_still_to_come():
    feed, end = sales_feed(6000, 0.08, np.random.default_rng(3))
    refunds = fit_refunds(feed, end)
    seen = sum(1 for value in feed["value_micros"].to_pylist() if value == 0) / 6000
    assert seen < 0.07
    assert refunds.share_low < 0.08 < refunds.share_high
    assert refunds.share == pytest.approx(0.08, abs=0.012)
    assert refunds.delay.mean_hours == pytest.approx(240, rel=0.25)


def test_without_a_refund_some_may_still_exist_and_without_a_sale_nothing_is_said():
    feed, end = sales_feed(300, 0.0, np.random.default_rng(4))
    refunds = fit_refunds(feed, end)
    assert (refunds.share, refunds.share_high) == (0.0, 0.01)
    assert fit_refunds(feed, START - timedelta(days=1)) is None
