"""What the market gets wrong, the surest first: every statistic everywhere, by campaign, by segment and by hours.

The size of a gap is counted in standard errors. The log's part of the error comes from how days (everywhere: campaigns
and weeks) differ, and is at least that of the counts behind it. The market's part is the spread over its copies, each
of which has a draw of its own of what the calibration window leaves unknown; the chance of counts is taken out of it,
so that chance is not counted twice. Gaps are compared as logarithms.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gaelp.arrays import Floats, Ints
from gaelp.history.fidelity_report import Gap, Scope
from gaelp.history.gap_statistics import BLOCK_HOURS, Ratio, block_ratios, segment_ratios
from gaelp.history.gap_words import describe_gap
from gaelp.history.twin_play import PlayedHours
from gaelp.history.window_figures import WindowFigures

__all__ = ["PRICE_LEVEL", "rank_gaps"]

PRICE_LEVEL = "price level"
_EVIDENCE_MIN = 10.0  # with fewer clicks or conversions a place says nothing
_FAMILY_ERROR = 0.05
_TINY = 1e-12
_LEAST_RATIO, _LARGEST_LOG = 1e-6, 50.0
_LEAST_ELASTICITY = 0.02
_FOLLOW_PRICES = ("price of an impression", "share of possible impressions won")

Grouping = Callable[[Floats], Floats]  # (..., D) arrays to (..., places, clusters)


@dataclass(frozen=True, slots=True)
class _Measured:
    """A statistic at one place: both values, and the variance of the log of their ratio."""

    statistic: str
    unit: str
    scope: Scope
    place: str
    logged: float
    market: float
    variance: float
    elasticity: float = 0.0  # how much it follows the level of prices, in logarithms

    @property
    def gap_log(self) -> float:
        return math.log(max(self.market / self.logged, _LEAST_RATIO))

    @property
    def error(self) -> float:
        return math.sqrt(max(self.variance, _TINY))

    @property
    def standard_errors(self) -> float:
        return self.gap_log / self.error


def rank_gaps(window: WindowFigures, played: PlayedHours, dearer: PlayedHours, dearer_log: float) -> tuple[Gap, ...]:
    """All gaps; `dearer` is the same play with all price levels raised by `dearer_log`, to tell prices apart."""
    moved = {(each.statistic, each.scope, each.place): each.market for each in _all(window, dearer)}
    measured = [_with_elasticity(each, moved, dearer_log) for each in _all(window, played)]
    measured += _price_levels(measured)
    measured += [*_delays(window, played), *_day_spread(window, played)]
    limit = -float(ndtri(_FAMILY_ERROR / 2 / len(measured)))
    general = {
        each.statistic: each for each in measured if each.scope == "everywhere" and abs(each.standard_errors) > limit
    }
    gaps = (_gap(each, limit, _explained(each, general)) for each in measured)
    return tuple(sorted(gaps, key=lambda gap: -abs(gap.standard_errors)))


def _explained(measured: _Measured, general: dict[str, _Measured]) -> tuple[float, float]:
    """How much of a gap's logarithm something that is wrong everywhere explains, and the error of that.

    Prices that are wrong everywhere explain what is won and paid at each place, unless one of these is surer itself.
    """
    price, own = general.get(PRICE_LEVEL), general.get(measured.statistic)
    surer = own is None or (price is not None and abs(price.standard_errors) >= abs(own.standard_errors))
    if measured.elasticity and price is not None and surer:
        return measured.elasticity * price.gap_log, abs(measured.elasticity) * price.error
    if own is not None and measured.scope != "everywhere":
        return own.gap_log, own.error
    return 0.0, 0.0


def _gap(measured: _Measured, limit: float, explained: tuple[float, float]) -> Gap:
    """Only what is left of a gap counts."""
    gap_log, error = measured.gap_log - explained[0], math.hypot(measured.error, explained[1])
    words = describe_gap(
        measured.statistic, measured.unit, measured.place, measured.logged, measured.market, measured.scope
    )
    if explained[0]:
        words += f" Beyond what is wrong everywhere: {math.expm1(gap_log):+.0%}."
    half = limit * error
    return Gap(
        statistic=measured.statistic,
        scope=measured.scope,
        place=measured.place,
        logged=measured.logged,
        market=measured.market,
        gap=math.expm1(measured.gap_log),
        left=math.expm1(gap_log),
        lower_95=math.expm1(gap_log - half),
        upper_95=math.expm1(min(gap_log + half, _LARGEST_LOG)),
        standard_errors=gap_log / error,
        words=words,
    )


def _all(window: WindowFigures, played: PlayedHours) -> Iterator[_Measured]:
    """Every ratio at every place where the log has enough to say."""
    weeks = window.cluster % max(int(window.cluster[0].max()) + 1, 1)
    for ratio in segment_ratios(window, played):
        yield from _measure(ratio, "everywhere", [""], lambda part: _by_cluster(part.sum(axis=-2), weeks))
        yield from _measure(ratio, "campaign", window.campaign_names, lambda part: part.sum(axis=-2))
        names = [
            f"{campaign}/{segment}"
            for campaign, segments in zip(window.campaign_names, window.segment_names, strict=True)
            for segment in segments
        ]
        yield from _measure(ratio, "segment", names, lambda part: part.reshape(*part.shape[:-3], -1, part.shape[-1]))
    for ratio in block_ratios(window, played):
        hours = [f"{start:02d}-{start + BLOCK_HOURS:02d}h" for start in range(0, 24, BLOCK_HOURS)]
        yield from _measure(ratio, "hours", hours, lambda part: _by_cluster_of_blocks(part, weeks))


def _by_cluster(part: Floats, weeks: Ints) -> Floats:
    """(..., N, D) summed by campaign and week: (..., 1, clusters)."""
    count = int(weeks.max()) + 1
    summed = np.stack([part[..., weeks[0] == week].sum(axis=-1) for week in range(count)], axis=-1)
    return summed.reshape(*summed.shape[:-2], 1, -1)


def _by_cluster_of_blocks(part: Floats, weeks: Ints) -> Floats:
    return _by_cluster(part, weeks)[..., 0, :]


def _variance_of_known(copies: Floats) -> Floats:
    """Variance over copies that have a figure, NaN where fewer than two have one."""
    known = np.isfinite(copies)
    count = known.sum(axis=0)
    centred = np.where(known, copies - np.where(known, copies, 0.0).sum(axis=0) / np.maximum(count, 1), 0.0)
    return np.where(count > 1, (centred**2).sum(axis=0) / np.maximum(count - 1, 1), np.nan)


def _measure(ratio: Ratio, scope: Scope, places: Sequence[str], grouped: Grouping) -> Iterator[_Measured]:
    """`grouped` turns (..., D) arrays into (..., places, clusters)."""
    top, bottom = (grouped(part) for part in ratio.logged)
    expected = tuple(grouped(part).mean(axis=0) for part in ratio.market)
    top_market, bottom_market = (grouped(part).sum(axis=-1) for part in ratio.market)
    evidence = grouped(ratio.evidence).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logged = top.sum(axis=-1) / bottom.sum(axis=-1)
        copies = top_market / bottom_market
        market = top_market.mean(axis=0) / bottom_market.mean(axis=0)
        apart = _apart(top, expected[0]) - _apart(bottom, expected[1])
        clusters = max(top.shape[-1], 2)
        own = clusters / (clusters - 1) * (apart**2).sum(axis=-1)
        spread = _variance_of_known(copies) / market**2
        chance = 1 / top_market.mean(axis=0) if ratio.is_count else 0.0
    variance = np.maximum(own, 1 / np.maximum(evidence, 1.0)) + np.maximum(spread - chance, 0.0)
    for number, place in enumerate(places):
        known = evidence[number] >= _EVIDENCE_MIN and market[number] > 0 and logged[number] > 0
        if known and np.isfinite(variance[number]):
            yield _Measured(
                ratio.statistic,
                ratio.unit,
                scope,
                place,
                float(logged[number]),
                float(market[number]),
                float(variance[number]),
            )


def _apart(logged: Floats, expected: Floats) -> Floats:
    """How far clusters are from their part of the total, as a share of it; places differ as the market expects."""
    total = logged.sum(axis=-1, keepdims=True)
    return np.asarray(logged / total - expected / expected.sum(axis=-1, keepdims=True))


def _with_elasticity(measured: _Measured, moved: dict[tuple[str, Scope, str], float], moved_log: float) -> _Measured:
    """How much a statistic follows the level of prices is read off the play with dearer prices."""
    dear = moved.get((measured.statistic, measured.scope, measured.place))
    if measured.statistic not in _FOLLOW_PRICES or dear is None:
        return measured
    return replace(measured, elasticity=math.log(dear / measured.market) / moved_log)


def _price_levels(measured: list[_Measured]) -> Iterator[_Measured]:
    """The move of all prices that would explain both what is won and what an impression costs, by least squares."""
    places: dict[tuple[Scope, str], list[_Measured]] = {}
    for each in measured:
        if each.scope != "hours" and each.elasticity:
            places.setdefault((each.scope, each.place), []).append(each)
    for (scope, place), parts in places.items():
        weight = sum(each.elasticity**2 / each.variance for each in parts)
        if weight < _LEAST_ELASTICITY**2 / max(each.variance for each in parts):
            continue
        level_log = sum(each.elasticity * each.gap_log / each.variance for each in parts) / weight
        yield _Measured(PRICE_LEVEL, "index", scope, place, 1.0, math.exp(level_log), 1 / weight)


def _delays(window: WindowFigures, played: PlayedHours) -> Iterator[_Measured]:
    """Mean time from click to report of the conversions that are known; both sides are cut off at the same time."""
    logged = window.delay_hours
    if len(logged) < _EVIDENCE_MIN:
        return
    centre = float(logged.mean())
    market = float(played.delay_hours.mean()) if len(played.delay_hours) else 0.0
    # The copies' own chance is that of the log's conversions, so it is in the log's part already.
    variance = float(logged.var(ddof=1)) / len(logged) / centre**2
    yield _Measured("delay of conversions", "hours", "everywhere", "", centre, market, variance)


def _day_spread(window: WindowFigures, played: PlayedHours) -> Iterator[_Measured]:
    """How much days of a campaign differ in clicks, each over its campaign's mean."""
    logged = window.by_day(window.clicks).sum(axis=1)
    market = window.by_day(np.asarray(played.clicks, float)).sum(axis=2)
    whole = window.by_day(window.compared.astype(float)).min(axis=(0, 1)) > 0
    enough = logged.mean(axis=1) >= 1
    if whole.sum() < 3 or not enough.any():
        return
    of_log = _spread(logged[enough][:, whole])
    of_market = _spread(market[:, enough][:, :, whole])
    own = float(of_log.var(ddof=1)) / len(of_log) if len(of_log) > 1 else float(of_log[0]) ** 2
    copies = of_market.mean(axis=1)
    centre = float(of_log.mean())
    variance = (own + float(copies.var(ddof=1))) / centre**2
    yield _Measured("day-to-day variation of clicks", "share", "everywhere", "", centre, float(copies.mean()), variance)


def _spread(days: Floats) -> Floats:
    return np.asarray(days.std(axis=-1, ddof=1) / np.maximum(days.mean(axis=-1), _TINY))
