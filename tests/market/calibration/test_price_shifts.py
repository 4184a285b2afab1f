import numpy as np
import pytest

from gaelp.market.calibration.price_levels import price_levels
from gaelp.market.calibration.price_shifts import HourlyPrices, shifted_levels


def hourly_rows(seed, *, lost, gap=1.6, sd=0.3, hours=200, auctions=60):
    """One segment whose level moves by 0.2 from hour to hour, and the rows of its auctions."""
    rng = np.random.default_rng(seed)
    level = 7 + 0.2 * rng.normal(size=hours)
    hour = np.repeat(np.arange(hours), auctions)
    price = level[hour] + gap * ((rng.random(len(hour)) < 0.4) - 0.4) + sd * rng.normal(size=len(hour))
    bid = 7.2 + 0.5 * rng.normal(size=len(hour)) if lost else np.full(len(hour), 50.0)
    known = price <= bid
    rows = HourlyPrices(np.where(known, price, bid), known, bid, np.zeros(len(hour), np.int64), hour)
    return level, rows


def first_levels(rows, hours):
    levels = price_levels(rows.value, rows.known, rows.hour, hours)
    return levels.level[None], levels.precision[None]


@pytest.mark.parametrize(("gap", "sd"), [(1.6, 0.3), (0.0, 0.8)])
@pytest.mark.parametrize("lost", [False, True])
def test_levels_follow_the_truth_at_its_own_pace_with_honest_precision(lost, gap, sd):
    level, rows = hourly_rows(1, lost=lost, gap=gap, sd=sd)
    found, precision = (part[0] for part in shifted_levels(rows, *first_levels(rows, len(level))))
    pace = np.polyfit(level, found, 1)[0]
    error = (found - level - (found - level).mean()) * np.sqrt(precision)
    assert pace == pytest.approx(1, abs=0.1)
    assert error.std() == pytest.approx(1, abs=0.2)
    assert (found - level).mean() == pytest.approx(0, abs=0.08)


def test_a_censored_normal_follows_two_modes_too_slowly():
    level, rows = hourly_rows(2, lost=True)
    first, precision = first_levels(rows, len(level))
    found, sharper = shifted_levels(rows, first, precision)
    assert np.polyfit(level, first[0], 1)[0] < 0.9
    assert np.polyfit(level, found[0], 1)[0] > 0.93
    assert sharper.mean() > 2 * precision.mean()  # modes say where the level is


def test_hours_without_auctions_have_no_precision():
    level, rows = hourly_rows(3, lost=False, hours=50)
    kept = rows.hour != 7
    part = HourlyPrices(rows.value[kept], rows.known[kept], rows.log_bid[kept], rows.segment[kept], rows.hour[kept])
    _, precision = shifted_levels(part, *first_levels(part, len(level)))
    assert np.flatnonzero(precision[0] == 0).tolist() == [7]


def test_too_few_prices_for_a_shape_keep_the_first_levels():
    level, rows = hourly_rows(4, lost=False, hours=5, auctions=20)
    first = first_levels(rows, len(level))
    assert np.array_equal(shifted_levels(rows, *first), first)


def test_small_segments_share_a_shape():
    level, rows = hourly_rows(5, lost=False, hours=40, auctions=40)
    segment = rows.hour % 10  # ten segments with 160 prices each: too few for a shape of their own
    shared = HourlyPrices(rows.value, rows.known, rows.log_bid, segment, rows.hour)
    hours = len(level)
    levels = price_levels(rows.value, rows.known, segment * hours + rows.hour, 10 * hours)
    found, precision = shifted_levels(shared, levels.level.reshape(10, hours), levels.precision.reshape(10, hours))
    seen = precision > 0
    assert seen.sum() == hours
    assert np.abs(found[seen] - level[np.nonzero(seen)[1]]).std() < 0.06
