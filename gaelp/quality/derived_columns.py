"""Figures between columns that expectations can name: money above what was bid, times in the wrong order."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pandas as pd

from gaelp.storage.schema import TableName

__all__ = ["DERIVED", "with_derived"]

_Derive = Callable[[pd.DataFrame], pd.Series]


def _over_bid(count: str) -> _Derive:
    """Spend above bid x count; null where the log lacks one of the three."""

    def derive(frame: pd.DataFrame) -> pd.Series:
        return frame["spend_micros"].astype(float) - frame["bid_micros"].astype(float) * frame[count].astype(float)

    return derive


def _price_over_bid(frame: pd.DataFrame) -> pd.Series:
    over = frame["price_micros"].astype(float) - frame["bid_micros"].astype(float)
    return over.where(frame["won"].astype(bool))


def _reward_for_value(frame: pd.DataFrame) -> pd.Series:
    """The reward where the objective is value or not recorded; null for other objectives."""
    return frame["reward"].where(frame["objective"].isna() | (frame["objective"] == "value"))


def _seconds(later: str, earlier: str) -> _Derive:
    def derive(frame: pd.DataFrame) -> pd.Series:
        return (frame[later] - frame[earlier]).dt.total_seconds()

    return derive


def _seconds_since_last_step(frame: pd.DataFrame) -> pd.Series:
    """Seconds since the earlier step of the same episode and segment, in the order of the steps; null for the first."""
    ordered = frame.sort_values(["episode", "segment", "step"], kind="stable")
    return ordered.groupby(["episode", "segment"], sort=False)["at"].diff().dt.total_seconds().reindex(frame.index)


DERIVED: Mapping[TableName, Mapping[str, _Derive]] = MappingProxyType(
    {
        TableName.EPISODES: {
            "seconds_from_start_to_end": _seconds("ended_at", "started_at"),
            "reward_for_value": _reward_for_value,
        },
        TableName.DECISIONS: {
            "spend_over_bid_micros": _over_bid("impressions"),  # a bid is for an impression
            "seconds_since_last_step": _seconds_since_last_step,
        },
        TableName.AUCTIONS: {
            "price_over_bid_micros": _price_over_bid,
            "seconds_to_conversion": _seconds("converted_at", "at"),
        },
        TableName.CONVERSIONS: {
            "seconds_from_click": _seconds("at", "click_at"),
            "seconds_to_report": _seconds("reported_at", "at"),
        },
        TableName.SPEND_EVENTS: {"seconds_to_report": _seconds("reported_at", "at")},
        TableName.HOUR_REPORTS: {
            "spend_over_bid_micros": _over_bid("clicks"),  # a bid is for a click
            "seconds_to_report": _seconds("reported_at", "at"),
        },
        TableName.DAY_REPORTS: {"seconds_to_report": _seconds("reported_at", "at")},  # a bid may change in a day
        TableName.IMPRESSION_SHARES: {"seconds_to_report": _seconds("reported_at", "at")},
        TableName.BID_SIMULATIONS: {
            "spend_over_bid_micros": _over_bid("clicks"),
            "seconds_to_report": _seconds("reported_at", "at"),
        },
    }
)


def with_derived(table: TableName, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the derived columns of its table."""
    return frame.assign(**{name: derive(frame) for name, derive in DERIVED.get(table, {}).items()})
