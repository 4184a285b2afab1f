"""The metrics of gate 3: what a pilot returned, with intervals, from its figures and from what its plan expected.

ROI is pooled over campaigns: all value over all spend, less 1. Its interval takes campaigns as clusters (Student t,
symmetric in the logarithm of value over spend), and is widened by what is unknown about value still to come. Days of
which less than half is known yet do not count.
"""

import math
from datetime import date
from typing import Literal, NamedTuple

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant
from gaelp.errors import DataError
from gaelp.gates.evidence import Figure
from gaelp.history.intervals import student_interval
from gaelp.history.policy_value import RATIO, PolicyValue
from gaelp.pilot.expectation import PilotExpectation
from gaelp.pilot.late_value import LateValue
from gaelp.pilot.pilot_figures import PilotFigures

__all__ = [
    "SPAN_CONVERSIONS",
    "Holdout",
    "PilotMetrics",
    "RoiInterval",
    "RoiSpan",
    "cut_spans",
    "measure_pilot",
    "pooled_roi",
]

SPAN_CONVERSIONS = 100.0  # expected in a span: then a true ROI of +30% is positive in 98 of 100 spans
_LEAST_DEGREES = 1.0
_LEAST_KNOWN = 0.5  # of a day's value: with less, a few early sales would be multiplied into a return


class Holdout(Frozen):
    """Value that the adverts caused over value that is attributed to them, from users or regions that saw none."""

    caused_share: float
    lower_95: float
    upper_95: float


class RoiInterval(NamedTuple):
    """Pooled ROI; an infinite end means that nothing limits it."""

    value: float
    lower_95: float
    upper_95: float


class RoiSpan(Frozen):
    """Consecutive days of the whole account, long enough to be positive by merit."""

    first_day: date
    last_day: date
    expected_conversions: float  # by the plan
    conversions: float
    spend_micros: int
    roi: float  # value still to come included, at the cautious end

    @property
    def is_positive(self) -> bool:
        """Whether more came back than was spent."""
        return self.roi > 0


class PilotMetrics(Frozen):
    """What gate 3 reads, and what people see beside it."""

    label: Literal["attributed", "caused"]
    value_from: Literal["sales feed", "platform"]
    as_of: Instant
    campaigns: int  # that spent anything
    roi: Figure  # NaN as long as no day is old enough
    roi_lower_95: Figure
    roi_upper_95: Figure
    platform_roi: float  # as the platform counts, without what is still to come
    spend_micros: int
    value_micros: int  # known so far
    pending_micros: float  # still to come, refunds taken off; negative where those weigh more
    pending_lower_95_micros: float
    pending_upper_95_micros: float
    spans: tuple[RoiSpan, ...]
    positive_roi_streak: int
    wished_micros: float  # what the plan wanted to spend
    budget_efficiency: float
    safety_violations: int

    @property
    def metrics(self) -> dict[str, float]:
        """The figures that the gate reads."""
        return {
            "campaigns": float(self.campaigns),
            "roi": self.roi,
            "roi_lower_95": self.roi_lower_95,
            "roi_upper_95": self.roi_upper_95,
            "platform_roi": self.platform_roi,
            "roi_spans": float(len(self.spans)),
            "positive_roi_streak": float(self.positive_roi_streak),
            "budget_efficiency": self.budget_efficiency,
            "safety_violations": float(self.safety_violations),
        }


def measure_pilot(
    figures: PilotFigures,
    expected: PilotExpectation,
    late: LateValue,
    *,
    time_zone: str,
    safety_violations: int,
    holdout: Holdout | None = None,
) -> PilotMetrics:
    """Metrics as of the figures. Value is that of the sales feed where there is one, else the platform's count."""
    _check_same_campaigns(figures, expected)
    spend = figures.spend_micros.sum(axis=0).astype(float)
    if not spend.any():
        raise DataError(f"the pilot spent nothing until {figures.as_of:%Y-%m-%d %H:%M}: there is no return to measure")
    sold = _sold_micros(figures)
    final = _final_values(figures, late, time_zone)
    roi = _with_holdout(_roi(final, figures.spend_micros), holdout)
    spans = _spans(figures, expected, final)
    total = float(sold.sum())
    pending = sorted(float(each.sum() - sold[final.counted].sum()) for each in final.ends)
    return PilotMetrics(
        label="attributed" if holdout is None else "caused",
        value_from="platform" if figures.sale_value_micros is None else "sales feed",
        as_of=figures.as_of,
        campaigns=int((spend > 0).sum()),
        roi=roi.value,
        roi_lower_95=roi.lower_95,
        roi_upper_95=roi.upper_95,
        platform_roi=float(figures.value_micros.sum() / spend.sum()) - 1,
        spend_micros=int(spend.sum()),
        value_micros=int(total),
        pending_micros=pending[1],
        pending_lower_95_micros=pending[0],
        pending_upper_95_micros=pending[2],
        spans=spans,
        positive_roi_streak=_streak(spans),
        wished_micros=expected.wished_micros,
        budget_efficiency=float(spend.sum()) / max(expected.wished_micros, 1.0),
        safety_violations=safety_violations,
    )


def pooled_roi(value_micros: Floats, spend_micros: Floats) -> RoiInterval:
    """Of value and spend by campaign, (N,) each; campaigns that spent nothing do not count.

    Campaigns of very different size leave fewer degrees of freedom than their number: (sum of spend)^2 / sum of
    spend^2 - 1 of them.
    """
    spent = spend_micros > 0
    value, spend = value_micros[spent], spend_micros[spent]
    if value.sum() <= 0:
        return RoiInterval(-1.0, -1.0, math.inf)  # nothing was sold, which limits nothing from above
    if len(spend) < 2:  # one campaign says nothing about others
        return RoiInterval(float(value.sum() / spend.sum()) - 1, -1.0, math.inf)
    degrees = max(float(spend.sum() ** 2 / (spend**2).sum()) - 1, _LEAST_DEGREES)
    estimate = PolicyValue("value per money", np.column_stack((value, spend)), RATIO)
    interval = student_interval(estimate, log_offset=0.0, degrees=degrees)
    return RoiInterval(interval.value - 1, interval.lower - 1, interval.upper - 1)


def cut_spans(expected_conversions: Floats, least: float = SPAN_CONVERSIONS) -> list[range]:
    """Consecutive days, each span with at least so many conversions expected; what is left over joins the last."""
    spans, first, expected = [], 0, 0.0
    for day, conversions in enumerate(expected_conversions):
        expected += float(conversions)
        if expected >= least:
            spans.append(range(first, day + 1))
            first, expected = day + 1, 0.0
    if spans and first < len(expected_conversions):
        spans[-1] = range(spans[-1].start, len(expected_conversions))
    return spans


def _check_same_campaigns(figures: PilotFigures, expected: PilotExpectation) -> None:
    if figures.campaigns != expected.campaigns:
        raise DataError(
            f"the figures are of {len(figures.campaigns)} campaigns ({', '.join(figures.campaigns[:3])}, ...) and the"
            f" plan expects {len(expected.campaigns)} ({', '.join(expected.campaigns[:3])}, ...): use those of one plan"
        )


class _FinalValues(NamedTuple):
    """What the value of the clicks will be in the end, of K days that count x N campaigns, in micros."""

    counted: Ints  # (K,) rows of the figures
    value: Floats
    least: Floats
    most: Floats

    @property
    def ends(self) -> tuple[Floats, Floats, Floats]:
        """The least, the estimate and the most."""
        return self.least, self.value, self.most


def _sold_micros(figures: PilotFigures) -> Floats:
    sold = figures.value_micros if figures.sale_value_micros is None else figures.sale_value_micros
    return sold.astype(float)


def _final_values(figures: PilotFigures, late: LateValue, time_zone: str) -> _FinalValues:
    """The platform never learns of refunds, so none are expected where its count is all there is."""
    model = late if figures.sale_value_micros is not None else late.model_copy(update={"refunds": None})
    known = model.known(figures.days, figures.as_of, time_zone)
    counted = np.flatnonzero(known.low >= _LEAST_KNOWN)
    sold = _sold_micros(figures)[counted]
    value, most, least = (sold / share[counted, None] for share in known)
    return _FinalValues(counted, value, least, most)


def _roi(final: _FinalValues, spend_micros: Ints) -> RoiInterval:
    """Each end with the value still to come at that end of its interval."""
    spend = spend_micros[final.counted].sum(axis=0).astype(float)
    if not spend.any():
        return RoiInterval(math.nan, math.nan, math.nan)  # nothing is old enough to be judged
    least, value, most = (pooled_roi(each.sum(axis=0), spend) for each in final.ends)
    return RoiInterval(value.value, least.lower_95, most.upper_95)


def _with_holdout(roi: RoiInterval, holdout: Holdout | None) -> RoiInterval:
    if holdout is None:
        return roi
    shares = (holdout.caused_share, holdout.lower_95, holdout.upper_95)
    return RoiInterval(*(max((1 + end) * share, 0.0) - 1 for end, share in zip(roi, shares, strict=True)))


def _spans(figures: PilotFigures, expected: PilotExpectation, final: _FinalValues) -> tuple[RoiSpan, ...]:
    """Spans of the plan whose days all count; days after the plan, on which only late clicks cost, join the last."""
    spans, cut = [], cut_spans(expected.day_conversions)
    days = [figures.days[place] for place in final.counted]
    sales = figures.conversions if figures.sales is None else figures.sales
    for number, span in enumerate(cut):
        first, last = expected.days[span.start], expected.days[span.stop - 1]
        if not days or last > days[-1]:
            break
        until = days[-1] if number == len(cut) - 1 else last
        places = [place for place, day in enumerate(days) if first <= day <= until]
        rows = final.counted[places]
        spend = int(figures.spend_micros[rows].sum())
        spans.append(
            RoiSpan(
                first_day=first,
                last_day=last,
                expected_conversions=float(expected.day_conversions[span.start : span.stop].sum()),
                conversions=float(sales[rows].sum()),
                spend_micros=spend,
                roi=float(final.least[places].sum()) / spend - 1 if spend else -1.0,
            )
        )
    return tuple(spans)


def _streak(spans: tuple[RoiSpan, ...]) -> int:
    """How many of the latest spans in a row are positive."""
    length = 0
    for span in reversed(spans):
        if not span.is_positive:
            break
        length += 1
    return length
