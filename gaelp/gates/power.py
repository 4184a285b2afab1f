"""What the rules of a gate can see: how large an effect, with which power, and how many observations, days and dollars.

A rule that compares a bound passes an agent at the threshold with a chance of 2.5% or alpha, so an agent must be better
than the threshold by what this module states. Power is the chance that a true figure `truth` is distinguished from
`against`, which is the threshold unless stated otherwise. Every answer rests on the assumptions.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # loads scipy.stats when it is first used: `gaelp gate list` need not wait for it
from pydantic import Field, PositiveFloat, PositiveInt
from scipy.special import ndtr, ndtri

from gaelp.arrays import Bools, Floats, Ints
from gaelp.config.base import Frozen
from gaelp.gates.criteria import Criterion, Gate
from gaelp.gates.lift_test import first_look, lift_plan
from gaelp.gates.metrics import RANGES

__all__ = ["POWERS", "PowerAssumptions", "PowerRow", "RulePower", "gate_power"]

POWERS = (0.8, 0.95)
_Z = float(ndtri(0.975))  # of the bounds lower_95 and upper_95 that are not sequential
_RUNS, _PAIRS_MAX, _SEED = 200, 10_000, 40  # of the simulated lifts
_SAMPLE_MAX = 1_000_000
_SAMPLES = np.unique(np.geomspace(1, _SAMPLE_MAX, 1000).astype(np.int64))  # within 1.5% of each other

_ROI_SD = {7: 0.60, 14: 0.47, 28: 0.40}
_SHARES = ("share of the episodes", "share of the campaigns")
_DAYS_BY_PAIR = {"paired_observations": 2, "transfer_observations": 1}  # each takes the money of two campaign-days
_NO_MODEL = "the value is compared and its sampling error is not modelled: state it yourself before relying on it"


class PowerAssumptions(Frozen):
    """What is assumed about campaigns; the defaults were measured on an event-level sandbox of search campaigns."""

    spend_per_day: PositiveFloat = Field(default=25.0, description="dollars of one campaign, treatment or control")
    campaigns: PositiveInt = Field(default=20, description="campaigns (or pairs of them) that run at once")
    flight_days: PositiveInt = Field(default=14, description="length of a campaign")
    spread: PositiveFloat = Field(default=1.6, description="sd of a campaign-day's value, as a share of its mean")
    span_conversions: PositiveFloat = Field(default=100.0, description="expected in each span of a streak")
    sale_spread: PositiveFloat = Field(default=0.35, description="sd of the value of a sale, as a share of its mean")
    flight_dollars: PositiveFloat = Field(
        default=500.0, description="what an agent spends in a flight at gate 4: 25 conversions of about $20"
    )
    gain: PositiveFloat = Field(default=0.3, description="lift at the source, of which another product keeps a share")
    sd: dict[str, PositiveFloat] = Field(default_factory=dict, description="sd of one observation, by metric")

    def sd_of(self, metric: str) -> float | None:
        """Return the standard deviation of one observation; None if nothing is assumed about the metric."""
        pair = math.sqrt(2) * self.spread
        assumed = {
            "lead_over_best_rule": 0.09,
            "lead_over_constant": 0.09,
            "lift_over_incumbent": pair,
            "lift_over_logging": pair,
            "prediction_accuracy": 0.2,
            "reward": 0.09,
            "shifted_lead_over_best_rule": 0.09,
            "transfer_gain_share": pair / self.gain,
        }
        return self.sd.get(metric, assumed.get(metric))

    def roi_sd(self, days: int | None = None) -> float:
        """Return the standard deviation of a campaign's ROI, by its days; between those measured it is interpolated."""
        return self.sd.get("roi") or float(np.interp(days or self.flight_days, list(_ROI_SD), list(_ROI_SD.values())))


class PowerRow(NamedTuple):
    """One answer: so many observations distinguish `truth` from `against` with this power; None: out of reach."""

    truth: float
    against: float
    power: float
    sample: int | None
    days: int | None = None  # none: takes no time in the market
    dollars: float | None = None


class RulePower(NamedTuple):
    """What one rule can see."""

    figure: str
    asked: str
    sample_metric: str
    false_alarms: float | None  # chance that an agent exactly at the threshold passes; none: not modelled
    rows: tuple[PowerRow, ...]
    notes: tuple[str, ...]


def gate_power(gate: Gate, assumed: PowerAssumptions) -> tuple[RulePower, ...]:
    """Return what every rule of a gate can see, in the order of its file."""
    return tuple(_rule_power(gate, rule, assumed) for rule in gate.criteria)


def _rule_power(gate: Gate, rule: Criterion, assumed: PowerAssumptions) -> RulePower:
    false_alarms, rows, notes = _model(gate, rule, assumed)
    asked = f"{rule.limit.sign} {rule.threshold:g}"
    small = f"fewer than {rule.minimum_sample:,} {rule.sample_metric} are inconclusive"
    return RulePower(rule.figure, asked, rule.sample_metric, false_alarms, tuple(rows), (*notes, small))


class _Model(NamedTuple):
    false_alarms: float | None
    rows: list[PowerRow]
    notes: tuple[str, ...]


def _lift_rows(gate: Gate, rule: Criterion, assumed: PowerAssumptions) -> _Model:
    """Simulate the test that the gate configures, on lognormal campaign-days."""
    plan = lift_plan(gate, rule)
    rng = np.random.default_rng(_SEED)
    log_sd = math.sqrt(math.log1p(assumed.spread**2))
    treatment, control = (rng.lognormal(-(log_sd**2) / 2, log_sd, (_RUNS, _PAIRS_MAX)) for _ in range(2))
    asked = [
        (-0.3, 0.0),
        (-0.05, 0.0),
        (0.15, 0.0),
        *((rule.threshold + beyond, rule.threshold) for beyond in (0.05, 0.15, 0.35)),
    ]
    rows = []
    for truth, against in asked:
        looks = first_look(
            treatment * (1 + truth), control, plan, lift=against, finds="better" if truth > against else "worse"
        )
        rows += [_row(rule, assumed, truth, against, power, _quantile(looks, power)) for power in POWERS]
    notes = (
        f"compared with 0: rollback (worse) and any improvement; promotion asks for more than {rule.threshold:g}",
        f"out of reach: more than {_PAIRS_MAX:,} pairs",
    )
    if plan.clip_at is None:
        return _Model(None, rows, ("without clip_at false alarms exceed alpha where spreads differ", *notes))
    kept = (
        f"false alarms hold over all looks, whatever the spreads, if values are below clip_at={plan.clip_at:g} dollars"
        " per dollar of budget; if more than 5% of a side lies beyond, nothing is concluded"
    )
    return _Model(plan.alpha, rows, (kept, *notes))


def _quantile(looks: Ints, power: float) -> int | None:
    """Return after how many pairs this share of the runs has decided."""
    decided = np.sort(looks[looks > 0])
    needed = math.ceil(power * len(looks))
    return int(decided[needed - 1]) if len(decided) >= needed else None


def _streak_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    """Only the latest spans count, so more of them do not help; sales of a span are Poisson, each of random value."""
    length = int(rule.threshold)
    spread = math.sqrt((1 + assumed.sale_spread**2) / assumed.span_conversions)  # of a span's value, over its mean
    rows = [
        _row(rule, assumed, roi, 0.0, float(ndtr(roi / ((1 + roi) * spread))) ** length, length)
        for roi in (0.15, 0.3, 0.6)
    ]
    notes = (
        f"truth is the ROI, power the chance that {length} spans in a row have a positive return",
        (
            f"a span has {assumed.span_conversions:g} expected conversions, whose value differs by"
            f" {assumed.sale_spread:g} of its mean, assumed; more spans do not raise the power, larger ones do"
        ),
        "`gaelp pilot plan` has the power of all rules together for a plan, by simulated pilots",
    )
    return _Model(0.5**length, rows, notes)


def _correlation_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    rows = []
    for truth in (0.85, 0.9, 0.95):
        if (distance := math.atanh(truth) - math.atanh(rule.threshold)) > 0:
            sizes = [math.ceil(((_Z + float(ndtri(power))) / distance) ** 2 + 3) for power in POWERS]
            rows += [_row(rule, assumed, truth, None, power, size) for power, size in zip(POWERS, sizes, strict=True)]
    return _Model(0.025, rows, ("Fisher's interval of a correlation",))


def _roi_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    rows = [
        _row(rule, assumed, truth, None, power, _campaigns_for(rule, truth, power, assumed.roi_sd()))
        for truth in (rule.threshold + beyond for beyond in (0.1, 0.25, 0.45))
        for power in POWERS
    ]
    notes = [f"sd of the ROI of one campaign of {assumed.flight_days} days: {assumed.roi_sd():.3g}, assumed"]
    if "roi" not in assumed.sd:
        truth, power = rule.threshold + 0.25, POWERS[0]
        sizes = {days: _campaigns_for(rule, truth, power, assumed.roi_sd(days)) for days in _ROI_SD}
        lengths = ", ".join(
            f"{size} of {days} days (${size * days * assumed.spend_per_day:,.0f})" for days, size in sizes.items()
        )
        notes.append(f"campaigns for a power of {power:.0%} at a true ROI of {truth:.0%}: {lengths}")
    notes.append("returns that arrive after the measurement are not seen: wait about 7 days")
    return _Model(0.025, rows, tuple(notes))


def _campaigns_for(rule: Criterion, truth: float, power: float, sd: float) -> int:
    needed = ((_Z + float(ndtri(power))) * sd / (truth - rule.threshold)) ** 2
    return max(math.ceil(needed), rule.minimum_sample)


def _share_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    """Binomial: the share itself, or Wilson's bound of it, against the threshold."""
    threshold, more = rule.threshold, rule.limit.asks_for_more
    far = 1.0 if more else 0.0
    truths = [threshold + (far - threshold) * step for step in (0.1, 0.25, 0.5, 0.75)]
    passing = _passing_counts(rule)
    rows = []
    for truth in truths:
        chance = (
            scipy.stats.binom.sf(passing - 1, _SAMPLES, truth)
            if more
            else scipy.stats.binom.cdf(passing, _SAMPLES, truth)
        )
        rows += [_row(rule, assumed, truth, threshold, power, _first_size(rule, chance >= power)) for power in POWERS]
    at_threshold = 0.5 if rule.compare == "value" else 0.025
    sizes = {size: 1 - 0.05 ** (1 / size) for size in _sizes(rule)}
    faults = ", ".join(f"{share:.2%} with {size:,}" for size, share in sizes.items())
    note = f"a fault occurs at least once, with a chance of 95%, if its share of the {rule.sample_metric} is {faults}"
    return _Model(at_threshold, rows, (note,))


def _passing_counts(rule: Criterion) -> Floats:
    """Return the count, for each sample size, from which on (or up to which) the rule holds."""
    n, threshold = _SAMPLES.astype(np.float64), rule.threshold
    more = rule.limit.asks_for_more
    if rule.compare == "value":
        return np.ceil(n * threshold - 1e-9) if more else np.floor(n * threshold + 1e-9)
    # Wilson's bound equals the threshold where the share differs from it by this much.
    away = _Z * np.sqrt(n * threshold * (1 - threshold))
    return np.ceil(n * threshold + away - 1e-9) if more else np.floor(n * threshold - away + 1e-9)


def _first_size(rule: Criterion, enough: Bools) -> int | None:
    """Return the sample size from which on all are enough; sizes below the rule's minimum do not count."""
    short = np.flatnonzero(~enough)
    first = short[-1] + 1 if len(short) else 0
    return max(int(_SAMPLES[first]), rule.minimum_sample) if first < len(_SAMPLES) else None


def _rare_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    rows = []
    for truth in (0.2, 0.05, 0.01):
        sizes = [math.ceil(math.log(1 - power) / math.log(1 - truth)) for power in POWERS]
        rows += [_row(rule, assumed, truth, 0.0, power, size) for power, size in zip(POWERS, sizes, strict=True)]
    note = f"truth is the chance of a violation in one of the {rule.sample_metric}, the power that of seeing it at all"
    return _Model(None, rows, (note,))


def _mean_rows(rule: Criterion, assumed: PowerAssumptions) -> _Model:
    """A mean with a normal interval: which truth a number of observations distinguishes from the threshold."""
    sd = assumed.sd_of(rule.metric)
    if sd is None or rule.compare == "value":
        return _Model(None, [], (_NO_MODEL,))
    sign = 1 if rule.limit.asks_for_more else -1
    rows = [
        _row(
            rule, assumed, rule.threshold + sign * (_Z + float(ndtri(power))) * sd / math.sqrt(size), None, power, size
        )
        for size in _sizes(rule)
        for power in POWERS
    ]
    notes = [f"sd of one of the {rule.sample_metric}: {sd:.3g}, assumed"]
    if rule.metric == "transfer_gain_share" and rows[0].truth > 1:
        notes.append("where truth is above 1, an agent that keeps its whole gain fails: measure it in simulation first")
    return _Model(0.025, rows, tuple(notes))


def _sizes(rule: Criterion) -> list[int]:
    return [rule.minimum_sample * times for times in (1, 10, 100)]


def _row(
    rule: Criterion, assumed: PowerAssumptions, truth: float, against: float | None, power: float, sample: int | None
) -> PowerRow:
    """Add time and money: a pair is a block of two days of one campaign, a campaign lasts `flight_days`.

    Days of flights at gate 4 are those with all campaigns at 100%. All else costs nothing.
    """
    row = PowerRow(truth, rule.threshold if against is None else against, power, sample)
    if sample is None:
        return row
    batches = -(-sample // assumed.campaigns)
    if rule.sample_metric in _DAYS_BY_PAIR:
        days = _DAYS_BY_PAIR[rule.sample_metric] * batches
        return row._replace(days=days, dollars=2 * sample * assumed.spend_per_day)
    if rule.sample_metric == "campaign_flights":
        dollars = sample * assumed.flight_dollars
        return row._replace(days=math.ceil(dollars / assumed.campaigns / assumed.spend_per_day), dollars=dollars)
    if rule.sample_metric == "campaigns":
        days = assumed.flight_days
        return row._replace(days=batches * days, dollars=sample * days * assumed.spend_per_day)
    return row


_BY_METRIC: dict[str, Callable[[Criterion, PowerAssumptions], _Model]] = {
    "budget_efficiency": lambda *_: _Model(0.0, [], ("accounting has no sampling error",)),
    "correlation_with_actuals": _correlation_rows,
    "positive_roi_streak": _streak_rows,
    "roi": _roi_rows,
}


def _model(gate: Gate, rule: Criterion, assumed: PowerAssumptions) -> _Model:
    """Choose the model of a rule: by its name where the metric is special, otherwise by its kind."""
    if rule.sequential:
        return _lift_rows(gate, rule, assumed)
    if special := _BY_METRIC.get(rule.metric):
        return special(rule, assumed)
    if RANGES[rule.metric].unit.startswith(_SHARES):
        return _share_rows(rule, assumed)
    if RANGES[rule.metric].whole and rule.bound == "at_most" and rule.threshold == 0:
        return _rare_rows(rule, assumed)
    return _mean_rows(rule, assumed)
