"""What a policy is worth on logged decisions: value per dollar and its lift, over all rows and by campaign and segment.

The judged policy keeps the log's random factor and shifts its centre: it bids exp(shift) times the logging policy's
usual bid, times the same factor. Weights are then ratios of two normal densities, and the pilot starts the same way.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history.diagnostics import SupportLimits
from gaelp.history.intervals import student_interval
from gaelp.history.lift_report import LiftReport, report_lift
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.value_per_click import (
    campaign_time_folds,
    cross_fitted_value_per_click,
    indicator_features,
)
from gaelp.history.value_per_dollar import (
    BidEffect,
    DollarColumns,
    bid_effect_on_click_value,
    lift_of,
    logged_dollars,
    realised_dollars,
    recalibrated_dollars,
)
from gaelp.history.weights import normal_log_density, shifted_normal_weights

__all__ = ["GroupLift", "LiftOptions", "LoggedPolicy", "PolicyLift", "group_lifts", "logging_sd", "policy_lift"]

_DENSITY_TOLERANCE = 0.02  # of the log density: what rounding leaves of recorded densities
_MICROS = 1e6
_GROUP_CLICKS_MIN = 100  # fewer say nothing about a campaign or a segment


@dataclass(frozen=True, slots=True)
class LoggedPolicy:
    """Where a policy would have centred its bids on logged decisions."""

    name: str
    shift: Floats  # (R,) log factor on the logging policy's usual bid, clipped to the log's support
    inside: Bools  # (R,) where it was not clipped


class LiftOptions(Frozen):
    """How sure an interval is, and how it is computed."""

    confidence: float = 0.95
    replicates: int = 1000
    limits: SupportLimits = SupportLimits(inside_support_share_min=0.0)


class PolicyLift(Frozen):
    """The lift of one policy over another on the same decisions, by two estimators.

    `recalibrated` has a model of the value of a click as control variate; `bid_effect` tests what it assumes.
    """

    policy: str
    reference: str
    realised: LiftReport
    recalibrated: LiftReport
    bid_effect: BidEffect | None
    inside_share: float  # of the decisions that lay within the log's support without being clipped

    @property
    def judged(self) -> LiftReport:
        """The estimate that a gate reads: recalibrated, unless the data contradict its assumption."""
        doubted = self.bid_effect is not None and self.bid_effect.p_value < 0.01
        return self.realised if doubted else self.recalibrated


class GroupLift(Frozen):
    """The lift on the decisions of one campaign or one segment; bounds hold for all groups together."""

    kind: str
    name: str
    clicks: int
    lift: float
    lower: float
    upper: float


def logging_sd(logged: LoggedDecisions) -> float:
    """Standard deviation of the log factors by their recorded densities; DataError if these are not normal around 0."""
    if not np.any(logged.action):
        raise DataError("every logged action is 0: bids did not vary at random, so no other bid can be judged")
    centre = int(np.argmin(np.abs(logged.action)))
    scale = float(np.exp(-logged.log_density[centre]) / math.sqrt(2 * math.pi))  # of the density at its highest
    gap = np.abs(normal_log_density(logged.action, 0.0, scale) - logged.log_density)
    if float(np.median(gap)) > _DENSITY_TOLERANCE:
        raise DataError(
            f"recorded densities differ from those of a normal factor with log deviation {scale:.3f} by"
            f" {np.median(gap):.3f} in logs; allowed: {_DENSITY_TOLERANCE}. Record the density of the log factor on the"
            " usual bid, drawn from a normal distribution around 0"
        )
    return scale


def policy_lift(
    logged: LoggedDecisions,
    policy: LoggedPolicy,
    rng: np.random.Generator,
    options: LiftOptions,
    reference: LoggedPolicy | None = None,
) -> PolicyLift:
    """Lift of a policy over the logging policy, or over another one; clusters are campaign-days."""
    scale = logging_sd(logged)
    value, spend = _dollars(logged)
    predicted = _value_per_click(logged)
    cells = logged.campaign * len(logged.segment_names) + logged.segment
    days = logged.campaign_day
    weight = shifted_normal_weights(logged.action, policy.shift, sd=scale)
    if reference is None:
        plain = recalibrated = logged_dollars(value, spend)
    else:
        plain, recalibrated = _columns(
            logged, shifted_normal_weights(logged.action, reference.shift, sd=scale), predicted
        )
    own_plain, own_recalibrated = _columns(logged, weight, predicted)
    reports = [
        report_lift(
            target,
            against,
            weight,
            days,
            rng,
            limits=options.limits,
            inside_support=policy.inside,
            confidence=options.confidence,
            replicates=options.replicates,
        )
        for target, against in ((own_plain, plain), (own_recalibrated, recalibrated))
    ]
    effect = bid_effect_on_click_value(
        value, weight, clicks=logged.clicks, predicted_value_per_click=predicted, cells=cells, clusters=days
    )
    return PolicyLift(
        policy=policy.name,
        reference="logging policy" if reference is None else reference.name,
        realised=reports[0],
        recalibrated=reports[1],
        bid_effect=effect,
        inside_share=float(policy.inside.mean()),
    )


def group_lifts(logged: LoggedDecisions, policy: LoggedPolicy, *, confidence: float) -> tuple[GroupLift, ...]:
    """Lift over the logging policy by campaign and by segment, each with enough clicks; intervals by Bonferroni."""
    weight = shifted_normal_weights(logged.action, policy.shift, sd=logging_sd(logged))
    _, target = _columns(logged, weight, _value_per_click(logged))
    value, spend = _dollars(logged)
    reference = logged_dollars(value, spend)
    groups = [group for group in _groups(logged) if logged.clicks[group[2]].sum() >= _GROUP_CLICKS_MIN]
    each = 1 - (1 - confidence) / max(len(groups), 1)
    days = logged.campaign_day
    lifts = []
    for kind, name, rows in groups:
        part = lift_of(_part(target, rows), _part(reference, rows))
        if reference.value[rows].sum() <= 0 or part.value <= -1:
            continue
        interval = student_interval(part, days[rows], confidence=each, log_offset=1.0)
        lifts.append(
            GroupLift(
                kind=kind,
                name=name,
                clicks=int(logged.clicks[rows].sum()),
                lift=part.value,
                lower=interval.lower,
                upper=interval.upper,
            )
        )
    return tuple(lifts)


def _groups(logged: LoggedDecisions) -> Iterator[tuple[str, str, Ints]]:
    for kind, names, codes in (
        ("campaign", logged.campaign_names, logged.campaign),
        ("segment", logged.segment_names, logged.segment),
    ):
        for place, name in enumerate(names):
            yield kind, name, np.flatnonzero(codes == place)


def _part(columns: DollarColumns, rows: Ints) -> DollarColumns:
    return DollarColumns(columns.name, columns.value[rows], columns.spend[rows])


def _columns(logged: LoggedDecisions, weight: Floats, predicted: Floats) -> tuple[DollarColumns, DollarColumns]:
    """By realised value, and recalibrated with a predicted value per click."""
    value, spend = _dollars(logged)
    recalibrated = recalibrated_dollars(
        value,
        spend,
        weight,
        clicks=logged.clicks,
        predicted_value_per_click=predicted,
        cells=logged.campaign * len(logged.segment_names) + logged.segment,
    )
    return realised_dollars(value, spend, weight), recalibrated


def _dollars(logged: LoggedDecisions) -> tuple[Floats, Floats]:
    return logged.value_micros / _MICROS, logged.spend_micros / _MICROS


def _value_per_click(logged: LoggedDecisions) -> Floats:
    """Predicted for every row by a model that was fitted on other weeks of the campaign."""
    value, _ = _dollars(logged)
    folds = campaign_time_folds(logged.campaign, logged.account_day, folds=2)
    features = indicator_features(logged.campaign, logged.segment)
    return cross_fitted_value_per_click(features, logged.clicks, value, folds)
