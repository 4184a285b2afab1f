"""What the exchange reports of the ticks it has run: hour totals, clicks, conversions, credits, as structured arrays.

All instants are ticks since the start of the world. A conversion, its report, its refund and the credit of an invalid
click are decided when the click happens, so their rows come with the click and carry ticks of the future: whoever
shows them to an advertiser has to wait for those. Hour totals are what the advance added: an hour that two advances
share has a row from each, to be summed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "CLICK",
    "CONVERSION",
    "CREDIT",
    "HOUR_TOTAL",
    "MEASURES",
    "NEVER",
    "ExchangeEvents",
    "ExchangeRecord",
    "Rows",
    "join_events",
]

Rows: TypeAlias = npt.NDArray[Any]  # of one of the record types below
ExchangeRecord: TypeAlias = Any  # one of them, as compiled code sees it: its fields are attributes

NEVER = -1  # the refunded_tick of a sale that is kept
MEASURES = ("eligible", "impressions", "clicks", "cost_micros", "hides", "complaints")

# hour_tick: when the hour of the account began, maybe before the world; device: index in DEVICES
HOUR_TOTAL = np.dtype(
    [(name, np.int64) for name in ("hour_tick", "campaign", "group", "device")]
    + [(name, np.int64) for name in MEASURES]
)
CLICK = np.dtype([(name, np.int64) for name in ("tick", "id", "campaign", "group", "device", "cost_micros")])
CONVERSION = np.dtype(
    [
        (name, np.int64)
        for name in (
            "click_tick",
            "id",
            "click",
            "campaign",
            "group",
            "device",
            "tick",
            "reported_tick",
            "refunded_tick",
            "value_micros",
        )
    ]
)
CREDIT = np.dtype(
    [(name, np.int64) for name in ("click_tick", "click", "campaign", "group", "device", "tick", "cost_micros")]
)


@dataclass(frozen=True, slots=True)
class ExchangeEvents:
    """The rows of one advance, each ordered by its first two fields (hour totals by their first four)."""

    hours: Rows  # of HOUR_TOTAL
    clicks: Rows  # of CLICK
    conversions: Rows  # of CONVERSION
    credits: Rows  # of CREDIT


def join_events(parts: Sequence[ExchangeEvents]) -> ExchangeEvents:
    """One advance out of those of several products or stretches of time, in the order that does not tell them apart."""
    return ExchangeEvents(
        _sorted([part.hours for part in parts], HOUR_TOTAL, 4),
        _sorted([part.clicks for part in parts], CLICK, 2),
        _sorted([part.conversions for part in parts], CONVERSION, 2),
        _sorted([part.credits for part in parts], CREDIT, 2),
    )


def _sorted(parts: Sequence[Rows], kind: np.dtype[np.void], keys: int) -> Rows:
    rows = np.concatenate([np.empty(0, kind), *parts])
    names = kind.names or ()
    return rows[np.lexsort([rows[name] for name in reversed(names[:keys])])]
