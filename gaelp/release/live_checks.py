"""What is checked of each row that comes back from live campaigns: one function a kind of problem, True where bad.

Each takes a data frame with the columns of the stored table and returns one flag a row, (R,).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field, PositiveFloat, PositiveInt

from gaelp.arrays import Bools, Ints
from gaelp.checks.robust_score import robust_z
from gaelp.config.base import Frozen
from gaelp.history.weights import normal_log_density

__all__ = [
    "LiveLimits",
    "SeenRanges",
    "dominating",
    "impossible",
    "outside_seen",
    "repeated",
    "seen_ranges",
    "value_jumps",
    "wrong_density",
]

_COUNTS = ("impressions", "clicks", "conversions", "spend_micros", "value_micros")
_DENSITY_LOG_ERROR = 1e-6


class LiveLimits(Frozen):
    """How far live data may be from what is known before they are set aside, or all of them refused."""

    range_factor: PositiveFloat = Field(default=3.0, ge=1, description="beyond the ranges of trusted data, up and down")
    bid_factor: PositiveFloat = Field(default=2.0, ge=1, description="cost of a click over the bid: bids change")
    clicks_min: PositiveInt = Field(default=30, description="of a campaign-day: fewer say nothing about its click rate")
    jump_z: PositiveFloat = Field(default=6.0, description="robust standard deviations of a campaign's sale value")
    jump_days_min: PositiveInt = Field(default=5, description="earlier days with sales that a jump is measured from")
    share_factor: PositiveFloat = Field(default=3.0, ge=1, description="of clicks, over the usual one")
    set_aside_share_max: float = Field(default=0.1, ge=0, lt=1, description="of all rows; beyond, all are refused")


class SeenRanges(Frozen):
    """What trusted data had, by campaign-day: the bounds that live data are held against."""

    click_rate: tuple[float, float]
    click_cost_micros: tuple[float, float]
    sale_value_micros: tuple[float, float]
    click_share: dict[str, float] = Field(description="share of all clicks, by campaign")


class _Daily(NamedTuple):
    """Figures of campaign-days, and which of them each row belongs to."""

    frame: pd.DataFrame  # one row a campaign-day, in the order of days
    of_row: Ints


def impossible(rows: pd.DataFrame, limits: LiveLimits) -> Bools:
    """Figures that no campaign can have: negative or not finite ones, more clicks than views, value without a sale."""
    counts = rows[list(_COUNTS)].astype(float).fillna(0.0)
    wrong = (counts < 0).any(axis=1) | ~np.isfinite(counts).all(axis=1)
    wrong |= counts["clicks"] > counts["impressions"]
    wrong |= (counts["value_micros"] > 0) & (counts["conversions"] <= 0)
    wrong |= (counts["spend_micros"] > 0) & (counts["impressions"] <= 0)
    bid = rows["bid_micros"].astype(float)
    wrong |= bid.notna() & (counts["spend_micros"] > limits.bid_factor * bid.fillna(0.0) * counts["clicks"])
    wrong |= rows["reported_at"] < rows["at"]
    return np.asarray(wrong, bool)


def repeated(rows: pd.DataFrame, key: list[str]) -> Bools:
    """Every row whose key is there more than once: nobody can tell which of them is true."""
    return np.asarray(rows.duplicated(key, keep=False), bool)


def wrong_density(rows: pd.DataFrame, action_log_sd: Mapping[str, float | None]) -> Bools:
    """Densities that the recorded policy cannot have had for the action; by policy its spread, None: deterministic."""
    density = rows["density"].astype(float).to_numpy()
    sd = np.array([action_log_sd.get(policy) or np.nan for policy in rows["policy"]], float)
    drawn = np.isfinite(sd)
    expected = normal_log_density(rows["action"].astype(float).to_numpy(), 0.0, np.where(drawn, sd, 1.0))
    logged = np.log(np.where(density > 0, density, np.nan))
    differs = ~(np.abs(logged - expected) <= _DENSITY_LOG_ERROR)  # NaN differs
    return np.where(drawn, differs, np.isfinite(density))


def seen_ranges(trusted: pd.DataFrame) -> SeenRanges:
    """The ranges of hour reports that are trusted: those that the agent was trained or judged on."""
    days = _by_day(trusted).frame
    clicked, sold = days[days["clicks"] > 0], days[days["conversions"] > 0]
    clicks = trusted.groupby("campaign", observed=True)["clicks"].sum()
    return SeenRanges(
        click_rate=_ends(clicked["clicks"] / clicked["impressions"]),
        click_cost_micros=_ends(clicked["spend_micros"] / clicked["clicks"]),
        sale_value_micros=_ends(sold["value_micros"] / sold["conversions"]),
        click_share={str(name): float(share) for name, share in (clicks / max(clicks.sum(), 1)).items()},
    )


def outside_seen(rows: pd.DataFrame, usual: SeenRanges, limits: LiveLimits) -> Bools:
    """All rows of a campaign-day whose click rate, cost of a click or value of a sale is far outside what was seen."""
    days = _by_day(rows)
    frame, factor = days.frame, limits.range_factor
    enough, sold = frame["clicks"] >= limits.clicks_min, frame["conversions"] > 0
    clicks = np.maximum(frame["clicks"], 1)
    outside = enough & _beyond(frame["clicks"] / np.maximum(frame["impressions"], 1), usual.click_rate, factor)
    outside |= enough & _beyond(frame["spend_micros"] / clicks, usual.click_cost_micros, factor)
    value = frame["value_micros"] / np.where(sold, frame["conversions"], 1.0)
    outside |= sold & _beyond(value, usual.sale_value_micros, factor)
    return _of_rows(outside, days)


def value_jumps(rows: pd.DataFrame, trusted: pd.DataFrame, limits: LiveLimits) -> Bools:
    """All rows of a campaign-day whose sales are suddenly worth far more, or less, than the campaign's before."""
    days, jumped = _by_day(rows), []
    before: dict[str, list[float]] = {}
    for day in _by_day(trusted).frame.itertuples():
        if day.conversions > 0 and day.value_micros > 0:
            before.setdefault(str(day.campaign), []).append(float(np.log(day.value_micros / day.conversions)))
    for day in days.frame.itertuples():
        earlier = before.setdefault(str(day.campaign), [])
        z = None
        if day.conversions > 0 and day.value_micros > 0:
            value_log = float(np.log(day.value_micros / day.conversions))
            z = robust_z(earlier, value_log, minimum_count=limits.jump_days_min, scale_floor=0.1)
            if z is None or abs(z) <= limits.jump_z:
                earlier.append(value_log)  # a jump is no measure for the next one
        jumped.append(z is not None and abs(z) > limits.jump_z)
    return _of_rows(jumped, days)


def dominating(rows: pd.DataFrame, usual: SeenRanges, limits: LiveLimits) -> Bools:
    """All rows of a campaign that has far more of the clicks than it used to have, and than an equal share."""
    clicks = rows.groupby("campaign", observed=True)["clicks"].sum()
    share = clicks / max(float(clicks.sum()), 1.0)
    equal = 1.0 / max(len(clicks), 1)
    expected = np.array([max(usual.click_share.get(str(name), 0.0), equal) for name in clicks.index])
    suspects = set(clicks.index[share > limits.share_factor * expected])
    return np.asarray(rows["campaign"].isin(suspects), bool)


def _of_rows(flags: Sequence[bool] | pd.Series, days: _Daily) -> Bools:
    """The flag of its campaign-day for each row."""
    return np.asarray(np.asarray(flags, bool)[days.of_row], bool)


def _by_day(rows: pd.DataFrame) -> _Daily:
    """Sums of campaign-days, days of UTC in order."""
    frame = rows[["campaign", *_COUNTS]].assign(day=rows["at"].dt.floor("D")).astype(dict.fromkeys(_COUNTS, float))
    groups = frame.groupby(["day", "campaign"], sort=True, observed=True)
    return _Daily(groups[list(_COUNTS)].sum().reset_index(), groups.ngroup().to_numpy())


def _ends(values: pd.Series) -> tuple[float, float]:
    """The least and the largest; everything is possible where nothing was seen."""
    return (float(values.min()), float(values.max())) if len(values) else (0.0, float("inf"))


def _beyond(values: pd.Series, ends: tuple[float, float], factor: float) -> pd.Series:
    return (values < ends[0] / factor) | (values > ends[1] * factor)
