"""Value per dollar of a target policy from logged decisions, and its lift: what gate 2 compares.

**Why this quantity.** Hourly bids are coupled by the day's budget. A policy that bids lower in the morning still has
money in the evening, in hours that the log shows as exhausted. Weights of single decisions keep the logged hours as
they were, so weighted value *per day* misses that and can have the wrong sign. Weights of whole days would be right,
but multiply 24 x segments factors and leave a handful of effective days.

**Why it is identified.** Let a decision be one segment-hour with context x, bid a, spend S and value V. Assume
(1) the log has the density of its action, positive wherever the target's is;
(2) given x and a, what an auction costs and brings does not depend on bids of other hours, and an exhausted budget
scales the hour's spend and value alike (a throttled hour has less of both, an hour without money has none of either);
(3) the hours that the target's saved money would buy are as good as those served in the log.
By (1), weighted sums of V and S are those of the target's bids over the log's decisions, throttled as in the log. By
(2) throttling cancels in their ratio. By (3) the ratio holds for the hours served in addition. So

    value per dollar of the target = E[sum of w V] / E[sum of w S].

Assumption (3) can be relaxed by computing it within hours of the day. Sums run over all decisions; clusters (campaigns
or campaign-days) are given to the intervals.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from gaelp.arrays import Floats
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.array_checks import checked_codes, checked_columns, checked_weights
from gaelp.history.intervals import cluster_sums
from gaelp.history.policy_value import RATIO, RATIO_LIFT, PolicyValue

__all__ = [
    "BidEffect",
    "DollarColumns",
    "bid_effect_on_click_value",
    "lift_of",
    "logged_dollars",
    "realised_dollars",
    "recalibrated_dollars",
    "value_per_dollar",
]


@dataclass(frozen=True, slots=True)
class DollarColumns:
    """What each decision adds to the value and to the spend of one policy; both of shape (n,), in one currency unit."""

    name: str
    value: Floats
    spend: Floats


class BidEffect(Frozen):
    """Whether clicks of one cell are worth the same at every bid, which the recalibrated estimate assumes."""

    share_of_value: float  # by which the estimate without the assumption exceeds the one with it
    standard_error: float
    p_value: float


def logged_dollars(value: npt.ArrayLike, spend: npt.ArrayLike) -> DollarColumns:
    """The logging policy itself: every weight is 1."""
    values, costs = _money(value, spend)
    return DollarColumns("logging", values, costs)


def realised_dollars(value: npt.ArrayLike, spend: npt.ArrayLike, weight: npt.ArrayLike) -> DollarColumns:
    """w V and w S from realised value: no model and no assumption beyond the module's, but conversions are rare."""
    values, costs = _money(value, spend)
    weights = _weights(weight, values)
    return DollarColumns("realised", weights * values, weights * costs)


def recalibrated_dollars(
    value: npt.ArrayLike,
    spend: npt.ArrayLike,
    weight: npt.ArrayLike,
    *,
    clicks: npt.ArrayLike,
    predicted_value_per_click: npt.ArrayLike,
    cells: npt.ArrayLike,
) -> DollarColumns:
    """Doubly robust: a predicted value per click v as control variate, corrected by realised value in each cell.

    A cell k is the finest group in which the target shifts bids, such as campaign x segment. With the residual
    e_i = V_i - c_i v_i of a decision with c_i clicks,

        sum of w V  is estimated by  sum over i of  w_i c_i v_i + rho_k e_i,   rho_k = sum_k w c / sum_k c.

    Multiplying e_i by w_i instead would give back the realised estimate, model or not. rho_k is the mean of w over the
    clicks of the cell (Saito and Joachims 2022, "Off-policy evaluation for large action spaces via embeddings": weights
    marginalised over what the outcome depends on). It has a fraction of the variance of w, and is right where clicks of
    one cell are worth the same whatever was bid; `bid_effect_on_click_value` tests that. An error of the model that is
    common to a cell is corrected exactly, so a policy cannot gain by moving to cells that the model overrates. With
    every decision in its own cell this is `realised_dollars`.

    Each row carries the linearised form rho_k e_i + r_k (w_i - rho_k) c_i with r_k = sum_k e / sum_k c, whose sum is
    the same and whose spread over clusters includes the error of rho_k (delta method). It is computed as V_i plus what
    weights other than 1 change, so that a copy of the logging policy has exactly its value, without rounding: a gate
    that asks for more than 0 would pass a copy with a lift of 1e-17.
    """
    values, costs = _money(value, spend)
    weights = _weights(weight, values)
    counts, model = _clicks(clicks, predicted_value_per_click, values)
    rho, residual, per_click = _cell_figures(values, weights, counts, model, cells)
    corrected = values + (weights - 1) * counts * model + (rho - 1) * residual + per_click * (weights - rho) * counts
    return DollarColumns("recalibrated", corrected, weights * costs)


def value_per_dollar(columns: DollarColumns) -> PolicyValue:
    """Sum of value / sum of spend."""
    return PolicyValue(f"{columns.name} value per dollar", np.column_stack((columns.value, columns.spend)), RATIO)


def lift_of(target: DollarColumns, reference: DollarColumns) -> PolicyValue:
    """Value per dollar of the target / of the reference - 1, both from the same decisions, so common luck cancels.

    The reference is the logging policy (`logged_dollars`) or another target, such as the champion. A target that takes
    the logging policy's actions with the same densities has a lift of exactly 0 in every resample.
    """
    if len(target.value) != len(reference.value):
        raise DataError(
            f"{target.name} has {len(target.value)} decisions and {reference.name} {len(reference.value)}:"
            " a lift compares two policies on the same decisions"
        )
    columns = np.column_stack((target.value, target.spend, reference.value, reference.spend))
    if reference.value.sum() <= 0:
        raise DataError(f"the value of {reference.name} is 0: a lift needs a reference with some value; use more days")
    return PolicyValue(f"{target.name} lift over {reference.name}", columns, RATIO_LIFT)


def bid_effect_on_click_value(
    value: npt.ArrayLike,
    weight: npt.ArrayLike,
    *,
    clicks: npt.ArrayLike,
    predicted_value_per_click: npt.ArrayLike,
    cells: npt.ArrayLike,
    clusters: npt.ArrayLike | None,
) -> BidEffect:
    """Test that within a cell a click's value does not depend on the bid (after Hausman 1978, "Specification tests").

    The difference between the realised and the recalibrated estimate is sum of (w_i - rho_k) (e_i - r_k c_i). It is 0
    on average if the assumption holds; its standard error comes from the spread over clusters. A small p-value says: do
    not use the recalibrated estimate, or make cells finer. A large one proves nothing where clicks are few.
    """
    values, weights = checked_columns(value=value, weight=weight)
    counts, model = _clicks(clicks, predicted_value_per_click, values)
    rho, residual, per_click = _cell_figures(values, weights, counts, model, cells)
    difference = (weights - rho) * (residual - per_click * counts)
    totals = cluster_sums(difference[:, None], clusters)[:, 0]
    scale = float(np.sum(weights * values))
    error = float(np.sqrt(np.sum(totals**2)))
    if scale <= 0:
        raise DataError("the weighted value is 0: with no conversion in reach nothing can be said about their value")
    statistic = float(totals.sum()) / error if error > 0 else 0.0
    p_value = float(2 * stats.t.sf(abs(statistic), max(len(totals) - 1, 1)))
    return BidEffect(share_of_value=float(totals.sum()) / scale, standard_error=error / scale, p_value=p_value)


def _cell_figures(
    value: Floats, weight: Floats, clicks: Floats, model: Floats, cells: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """For each decision: its cell's rho, its own residual, its cell's residual per click (0 without clicks)."""
    numbers, count = checked_codes(cells, len(value), "cells")
    residual = value - clicks * model
    total = np.bincount(numbers, weights=clicks, minlength=count)
    stray = (total[numbers] == 0) & (value != 0)
    if stray.any():
        raise DataError(f"{int(stray.sum())} decisions have value in cells without a single click: check attribution")
    divisor = np.where(total > 0, total, 1)
    rho = np.bincount(numbers, weights=weight * clicks, minlength=count) / divisor
    per_click = np.bincount(numbers, weights=residual, minlength=count) / divisor
    return rho[numbers], residual, per_click[numbers]


def _money(value: npt.ArrayLike, spend: npt.ArrayLike) -> tuple[Floats, Floats]:
    values, costs = checked_columns(value=value, spend=spend)
    negative = int(np.count_nonzero(costs < 0))
    if negative:
        raise DataError(f"spend is below 0 for {negative} decisions: book credits against the hours that they refund")
    if not costs.any():
        raise DataError("spend is 0 for every decision: value per dollar needs logged spend")
    return values, costs


def _weights(weight: npt.ArrayLike, like: Floats) -> Floats:
    weights, _ = checked_columns(weight=weight, value=like)
    return checked_weights(weights)


def _clicks(clicks: npt.ArrayLike, predicted: npt.ArrayLike, like: Floats) -> tuple[Floats, Floats]:
    counts, model, _ = checked_columns(clicks=clicks, predicted_value_per_click=predicted, value=like)
    negative = int(np.count_nonzero(counts < 0))
    if negative:
        raise DataError(
            f"clicks are below 0 for {negative} decisions: use the figures after invalid clicks were removed"
        )
    return counts, model
