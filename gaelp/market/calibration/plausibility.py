"""Doubts about a log that was read without an error: too few auctions, another unit of money, repeated rows."""

import numpy as np
import pandas as pd

from gaelp.market.calibration.log_frame import BidLog
from gaelp.market.number_text import counted

__all__ = ["AUCTIONS_FEW", "PRICE_FACTOR_MAX", "REPEATED_SHARE_MAX", "log_warnings"]

AUCTIONS_FEW = 1000
PRICE_FACTOR_MAX = 100.0  # how far the typical price may be from the base market's, as a factor
REPEATED_SHARE_MAX = 0.2  # of the rows; a real log repeats some where times are coarse


def log_warnings(log: BidLog, base_level_micros: float) -> tuple[str, ...]:
    """Each doubt as a sentence with the figures seen and what to do; `base_level_micros` is the base market's price."""
    doubts = (_few_auctions(log), _unusual_unit(log, base_level_micros), _repeated_rows(log))
    return tuple(doubt for doubt in doubts if doubt)


def _few_auctions(log: BidLog) -> str:
    if log.rows >= AUCTIONS_FEW:
        return ""
    return (
        f"{counted(log.rows, 'auction')} in {counted(len(log.covered_hours), 'hour')} are few: with fewer than"
        f" {AUCTIONS_FEW:,}, most values stay those of the base market. Export a longer period."
    )


def _unusual_unit(log: BidLog, base_level_micros: float) -> str:
    prices = log.price_micros[log.price_known & (log.price_micros > 0)]
    if len(prices) == 0:
        return ""
    median = float(np.median(prices))
    factor = median / base_level_micros
    if 1 / PRICE_FACTOR_MAX <= factor <= PRICE_FACTOR_MAX:
        return ""
    times = f"{factor:,.0f} times" if factor > 1 else f"1/{1 / factor:,.0f} of"
    return (
        f"the median price is {median:,.0f} micros an impression (a CPM of {median / 1000:,.2f}), {times} the"
        f" base market's {base_level_micros:,.0f}. Check the unit: a CPM of 2.50 is 2500 micros."
    )


def _repeated_rows(log: BidLog) -> str:
    columns = (log.time_hours, log.segment, log.bid_micros, log.price_micros, log.won, log.click, log.conversion)
    rows = pd.DataFrame({number: column for number, column in enumerate(columns) if column is not None})
    repeated = int(rows.duplicated().sum())
    if repeated <= REPEATED_SHARE_MAX * log.rows:
        return ""
    return (
        f"{repeated:,} of {log.rows:,} rows ({repeated / log.rows:.0%}) repeat an earlier row in every column. If the"
        " export has rows twice, remove them: volumes would be too high and intervals too narrow."
    )
