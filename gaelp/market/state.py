"""What a market holds while episodes run: tables that all campaigns share, and one state that changes hour by hour."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints8, Ints32

__all__ = ["MarketState", "MarketTables", "empty_state"]


class MarketTables(NamedTuple):
    """What all campaigns of a market share."""

    win: Floats32  # (K + 1, grid)
    cost: Floats32  # (K + 1, grid)
    price_at_win_rate: Floats32  # (cells + 1,) log ratio at which the pooled landscape reaches a win rate
    price_profile_log: Floats32  # (24,)
    affinity: Floats32  # (P, C) factor on the click rate
    tiring: bool  # whether fatigue is on at all
    delay_share: Floats  # (K,) of the parts of a conversion delay
    delay_length: Floats  # (K,) mean of each part over the mean of all
    window_hours: int  # conversions that take longer are not attributed


class MarketState(NamedTuple):
    """All that changes while episodes run; saved and restored as it is."""

    left_micros: Ints  # (N,)
    day_left_micros: Ints  # (N,)
    opportunities: Ints32  # (N, S) this and the next ones: the last hour
    impressions: Ints32
    clicks: Ints32
    conversions: Ints32
    cost_micros: Ints
    value_micros: Floats  # (N, S) expected value won in the last hour
    in_market: Floats32  # (N,)
    total_impressions: Ints32  # (N, S) this and the next ones: since launch
    total_clicks: Ints32
    total_conversions: Ints32
    total_cost_micros: Ints
    maturing_clicks: Floats32
    exposure: Floats32
    price_level_log: Floats32
    price_signal_log: Floats32
    bid_log: Floats32
    pace: Floats32  # (N,)
    creative: Ints8  # (N, S)
    creative_impressions: Ints32  # (N, S, C)
    creative_clicks: Ints32  # (N, S, C)
    arriving: npt.NDArray[np.int16]  # (hours, N, S) conversions by the hour they will be reported
    pending: Ints32  # (N, S) conversions that happened and are not reported yet, some of them after the flight
    lost_to_window: Ints32  # (N, S) conversions too late to be attributed
    maturing_parts: Floats32  # (K, N, S) maturing clicks by part of the delay; empty where there is one part


def empty_state(
    campaigns: int, segments: int, creatives: int, *, waiting_hours: int, delay_parts: int = 1
) -> MarketState:
    """The state before launch; budgets and price estimates are set by the market.

    `waiting_hours` is the longest time from click to report that can still be seen.
    """
    pair = (campaigns, segments)
    shapes: dict[str, tuple[int, ...]] = {
        "creative_impressions": (*pair, creatives),
        "creative_clicks": (*pair, creatives),
    }
    shapes["arriving"] = (waiting_hours + 1, *pair)
    shapes["maturing_parts"] = (delay_parts if delay_parts > 1 else 0, *pair)
    kinds = {Ints: np.int64, Ints32: np.int32, Floats32: np.float32}
    special = {"value_micros": np.float64, "creative": np.int8, "arriving": np.int16}
    single = {"left_micros", "day_left_micros", "in_market", "pace"}
    arrays = {
        name: np.zeros((campaigns,) if name in single else shapes.get(name, pair), special.get(name) or kinds[hint])
        for name, hint in MarketState.__annotations__.items()
    }
    return MarketState(**arrays)
