"""What a market holds while episodes run: tables that all campaigns share, and one state that changes hour by hour."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["State", "Tables", "empty_state"]

Singles = npt.NDArray[np.float32]
Counts = npt.NDArray[np.int32]
Money = npt.NDArray[np.int64]


class Tables(NamedTuple):
    """What all campaigns of a market share."""

    win: Singles  # (K + 1, grid)
    cost: Singles  # (K + 1, grid)
    price_at_win_rate: Singles  # (cells + 1,) log ratio at which the pooled landscape reaches a win rate
    price_profile_log: Singles  # (24,)
    affinity: Singles  # (P, C) factor on the click rate
    fatigue: Singles  # (P,) sensitivity
    tiring: bool  # whether fatigue is on at all


class State(NamedTuple):
    """All that changes while episodes run; saved and restored as it is."""

    left_micros: Money  # (N,)
    day_left_micros: Money  # (N,)
    opportunities: Counts  # (N, S) this and the next ones: the last hour
    impressions: Counts
    clicks: Counts
    conversions: Counts
    cost_micros: Money
    value_micros: npt.NDArray[np.float64]  # (N, S) expected value won in the last hour
    in_market: Singles  # (N,)
    total_impressions: Counts  # (N, S) this and the next ones: since launch
    total_clicks: Counts
    total_conversions: Counts
    total_cost_micros: Money
    maturing_clicks: Singles
    exposure: Singles
    price_level_log: Singles
    price_signal_log: Singles
    bid_log: Singles
    pace: Singles  # (N,)
    creative: npt.NDArray[np.int8]  # (N, S)
    creative_impressions: Counts  # (N, S, C)
    creative_clicks: Counts  # (N, S, C)
    arriving: npt.NDArray[np.int16]  # (window + 1, N, S) conversions by the hour they will be reported
    pending: Counts  # (N, S) conversions that happened and are not reported yet
    lost_to_window: Counts  # (N, S) conversions too late to be attributed


def empty_state(campaigns: int, segments: int, creatives: int, window_hours: int) -> State:
    """The state before launch; budgets and price estimates are set by the market."""
    pair = (campaigns, segments)
    shapes = {"creative_impressions": (*pair, creatives), "creative_clicks": (*pair, creatives)}
    shapes["arriving"] = (window_hours + 1, *pair)
    kinds = {Money: np.int64, Counts: np.int32, Singles: np.float32}
    special = {"value_micros": np.float64, "creative": np.int8, "arriving": np.int16}
    single = {"left_micros", "day_left_micros", "in_market", "pace"}
    arrays = {
        name: np.zeros((campaigns,) if name in single else shapes.get(name, pair), special.get(name) or kinds[hint])
        for name, hint in State.__annotations__.items()
    }
    return State(**arrays)
