"""Training-serving skew: does the policy see on the platform what the market of training shows it?

Copies of the watched campaigns are played in the market with the same bids at the same hours. An input of the policy is
skewed if it differs from theirs by more than chance can explain and by more than matters:

- its level, its level in one of six parts of the day, or its levels by segment, in robust standard deviations of the
  input among the copies;
- the share of its values outside of what the copies showed.

Campaigns are the clusters: hours of one campaign are not independent. The reported figures themselves are compared too
(`report_gaps.py`), because an hour that is off by a time zone hardly moves an input, and a day's rhythm a lot.
"""

from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Floats32
from gaelp.config.base import Frozen
from gaelp.pilot.report_gaps import FigureGap
from gaelp.pilot.shadow_record import ShadowRecord
from gaelp.pilot.twin_shadow import TwinInputs

__all__ = ["SkewReport", "SkewedFeature", "judge_skew"]

SIGMAS = 4.5  # some 400 comparisons: by chance one report in 300 has a skewed input
MATTERS = 0.5  # robust standard deviations
OUTSIDE_SHARE = 0.1  # of values beyond what the copies showed
PARTS = 6  # of the day
DAY_HOURS = 24
_LEAST_SCALE = 0.1  # inputs are of the order of 1: a smaller difference changes no bid
_RANGE_SHARES = (0.001, 0.999)


class SkewedFeature(Frozen):
    """An input or a reported figure that differs from what the market shows."""

    name: str
    where: str  # level, hours 4 to 7, segments or range
    size: float  # in the unit of `limit`
    limit: float
    sigmas: float  # how far beyond 0, in standard errors


class SkewReport(Frozen):
    """The skewed inputs, the largest first in each; every input is listed once."""

    skewed: tuple[SkewedFeature, ...]
    compared: int  # inputs and figures
    hours: int
    missed_hours: int

    @property
    def is_clean(self) -> bool:
        """Whether at least one hour was decided and nothing is skewed: only then may money be spent."""
        return self.hours > 0 and not self.skewed

    @property
    def metrics(self) -> dict[str, float]:
        """For the gate: how many inputs are skewed; without a single hour all of them are."""
        return {"skewed_features": float(self.compared if self.hours == 0 else len(self.skewed))}


@dataclass(frozen=True, slots=True)
class _Gap:
    """A difference of each input, (features,), with its standard error."""

    where: str
    size: Floats
    error: Floats


def judge_skew(
    record: ShadowRecord, twin: TwinInputs, names: tuple[str, ...], figures: tuple[FigureGap, ...]
) -> SkewReport:
    """Compare the inputs of the shadow days with those of the copies."""
    scale = _scale(twin.sample)
    differences = [
        *_skewed_inputs(record, twin, names, scale),
        *_outside(record, twin, names),
        *_skewed_figures(figures),
    ]
    worst: dict[str, SkewedFeature] = {}
    for each in differences:
        if each.name not in worst or each.size / each.limit > worst[each.name].size / worst[each.name].limit:
            worst[each.name] = each
    return SkewReport(
        skewed=tuple(sorted(worst.values(), key=lambda each: -each.size / each.limit)),
        compared=len(names) + len({gap.name for gap in figures}),
        hours=int(record.decided.sum()),
        missed_hours=int((~record.decided).sum()),
    )


def _scale(sample: Floats32) -> Floats:
    """Robust standard deviation of each input among the copies."""
    low, high = np.quantile(sample.astype(np.float64), [0.25, 0.75], axis=0)
    return np.asarray(np.maximum((high - low) / 1.349, _LEAST_SCALE))


def _skewed_inputs(
    record: ShadowRecord, twin: TwinInputs, names: tuple[str, ...], scale: Floats
) -> list[SkewedFeature]:
    if not record.decided.any():
        return []
    skewed = []
    for gap in (*_level_gaps(record, twin), _segment_gap(record, twin)):
        size, sigmas = np.abs(gap.size) / scale, np.abs(gap.size) / np.maximum(gap.error, 1e-9)
        skewed += [
            SkewedFeature(
                name=names[place],
                where=gap.where,
                size=round(float(size[place]), 4),
                limit=MATTERS,
                sigmas=round(float(sigmas[place]), 1),
            )
            for place in np.flatnonzero((size > MATTERS) & (sigmas > SIGMAS)).tolist()
        ]
    return skewed


def _level_gaps(record: ShadowRecord, twin: TwinInputs) -> list[_Gap]:
    there = record.bid_micros > 0
    weight = there / np.maximum(there.sum(axis=2, keepdims=True), 1)
    real = np.einsum("tnsf,tns->tnf", np.nan_to_num(record.inputs), weight)
    hour_of_day = np.arange(len(real)) % DAY_HOURS
    gaps = [_level_gap("level", real[record.decided], twin.by_hour[record.decided])]
    for part in range(PARTS):
        first = part * DAY_HOURS // PARTS
        inside = record.decided & (hour_of_day // (DAY_HOURS // PARTS) == part)
        if inside.any():
            where = f"hours {first} to {first + DAY_HOURS // PARTS - 1}"
            gaps.append(_level_gap(where, real[inside], twin.by_hour[inside]))
    return gaps


def _level_gap(where: str, real: Floats, twin: Floats32) -> _Gap:
    """Of hours x campaigns (x copies): the mean difference, with the spread of copies and of campaigns."""
    own, copies = real.mean(axis=0), twin.astype(np.float64).mean(axis=0)  # (N, F), (R, N, F)
    return _Gap(where, *_mean_and_error(own - copies.mean(axis=0), copies.mean(axis=1)))


def _segment_gap(record: ShadowRecord, twin: TwinInputs) -> _Gap:
    """How much further the campaigns' segments are from the mean copy than a copy is."""
    real = np.nan_to_num(record.inputs[record.decided]).mean(axis=0, dtype=np.float64)  # (N, S, F)
    there = (record.bid_micros > 0).any(axis=0)
    weight = there / np.maximum(there.sum(axis=1, keepdims=True), 1)
    copies = twin.by_segment.astype(np.float64)
    count = len(copies)
    others = (copies.sum(axis=0) - copies) / max(count - 1, 1)
    own = np.einsum("nsf,ns->nf", np.abs(real - copies.mean(axis=0)), weight)
    usual = np.einsum("rnsf,ns->rnf", np.abs(copies - others), weight)
    size, error = _mean_and_error(own - usual.mean(axis=0), usual.mean(axis=1))
    return _Gap("segments", np.maximum(size, 0.0), error)


def _mean_and_error(difference: Floats, copies: Floats) -> tuple[Floats, Floats]:
    """Mean over campaigns (N, F), and its error from campaigns and from copies (R, F)."""
    campaigns = len(difference)
    between = difference.std(axis=0, ddof=1) if campaigns > 1 else np.zeros(difference.shape[1])
    by_chance = copies.std(axis=0, ddof=1) if len(copies) > 1 else np.zeros(copies.shape[1])
    return difference.mean(axis=0), np.sqrt(between**2 / campaigns + by_chance**2)


def _outside(record: ShadowRecord, twin: TwinInputs, names: tuple[str, ...]) -> list[SkewedFeature]:
    """Inputs with many values beyond the range that nearly all values of the copies are in."""
    rows = record.inputs[record.decided][(record.bid_micros > 0)[record.decided]]
    if not len(rows):
        return []
    low, high = np.quantile(twin.sample.astype(np.float64), _RANGE_SHARES, axis=0)
    margin = 0.5 * _scale(twin.sample)
    share = ((rows < low - margin) | (rows > high + margin)).mean(axis=0)
    return [
        SkewedFeature(
            name=names[place], where="range", size=round(float(share[place]), 4), limit=OUTSIDE_SHARE, sigmas=SIGMAS
        )
        for place in np.flatnonzero(share > OUTSIDE_SHARE).tolist()
    ]


def _skewed_figures(figures: tuple[FigureGap, ...]) -> list[SkewedFeature]:
    return [
        SkewedFeature(
            name=gap.name,
            where=gap.where,
            size=round(abs(gap.log_ratio), 4),
            limit=gap.limit,
            sigmas=round(abs(gap.log_ratio) / max(gap.error, 1e-9), 1),
        )
        for gap in figures
        if abs(gap.log_ratio) > gap.limit and abs(gap.log_ratio) > SIGMAS * gap.error
    ]
