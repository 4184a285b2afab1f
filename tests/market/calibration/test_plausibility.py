"""A log that can be read but is probably not what its owner meant is doubted, with the figures seen."""

from dataclasses import replace

import numpy as np
import pytest

from gaelp.market.calibration.plausibility import log_warnings

LEVEL = 2000.0


def test_an_ordinary_log_is_not_doubted(flat_log):
    assert log_warnings(flat_log(1), LEVEL) == ()


def test_forty_auctions_are_few(flat_log):
    [doubt] = log_warnings(flat_log(1, rows=40), LEVEL)
    assert doubt.startswith("40 auctions in ")
    assert "Export a longer period" in doubt


@pytest.mark.parametrize(("factor", "text"), [(1000, " times the base market's 2,000"), (0.001, "1/")])
def test_prices_in_another_unit_are_recognised(flat_log, factor, text):
    log = flat_log(1)
    prices = np.maximum(log.price_micros * factor, 1).round().astype(np.int64)
    [doubt] = log_warnings(replace(log, price_micros=prices), LEVEL)
    assert text in doubt
    assert "a CPM of 2.50 is 2500 micros" in doubt


def test_rows_that_are_there_twice_are_counted(flat_log):
    log = flat_log(1)
    names = ("time_hours", "segment", "bid_micros", "price_micros", "won", "click", "conversion", "delay_hours")
    doubled = replace(log, **{name: np.repeat(getattr(log, name), 2) for name in names})
    [doubt] = log_warnings(doubled, LEVEL)
    assert doubt.startswith("3,000 of 6,000 rows (50%) repeat an earlier row")
