"""Reported figures of the shadow days beside those of copies in the market: ratios, over the day and by part of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Bools, Floats, Ints
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.shadow_record import ShadowRecord

__all__ = ["FigureGap", "figure_gaps"]

PARTS, DAY_HOURS = 6, 24
LIMIT_LOG = float(np.log(1.6))  # the market is off by less where it was found to match the log
_LEAST_EVENTS = 8.0  # with fewer the error of a ratio is not known either
_NAMES = ("impressions", "clicks", "conversions", "cost_micros", "value_micros")


@dataclass(frozen=True, slots=True)
class FigureGap:
    """The log of a reported figure over that of the market, with its standard error."""

    name: str
    where: str
    log_ratio: float
    error: float
    limit: float = LIMIT_LOG


@dataclass(frozen=True, slots=True)
class _Ratio:
    """A figure as the sum of one column over that of another; an hour counts as 1."""

    name: str
    above: str
    below: str
    events: str  # the column whose number bounds what chance does


_RATIOS = (
    _Ratio("reported_impressions", "impressions", "hours", "impressions"),
    _Ratio("reported_click_rate", "clicks", "impressions", "clicks"),
    _Ratio("reported_cost_per_click", "cost_micros", "clicks", "clicks"),
    _Ratio("reported_conversion_rate", "conversions", "clicks", "conversions"),
    _Ratio("reported_value_of_a_conversion", "value_micros", "conversions", "conversions"),
)


def figure_gaps(record: ShadowRecord, figures: HourFigures, copies: int) -> tuple[FigureGap, ...]:
    """Of all hours that are reported; `figures` are those of the copies, in rows r x N + n."""
    hours = min(record.reported_hours, len(figures.impressions))
    campaigns = record.impressions.shape[1]
    real = {name: getattr(record, name)[:hours].sum(axis=2)[:, None].astype(float) for name in _NAMES}  # (H, 1, N)
    market = {
        name: getattr(figures, name)[:hours].sum(axis=2).reshape(hours, copies, campaigns).astype(float)
        for name in _NAMES
    }
    for columns in (real, market):
        columns["hours"] = np.ones_like(columns["clicks"])
    part = np.arange(hours, dtype=np.int64) % DAY_HOURS // (DAY_HOURS // PARTS)
    gaps = []
    for ratio in _RATIOS:
        for where, inside in _parts(part):
            gap = _gap(ratio, where, _sums(real, inside), _sums(market, inside))
            if gap is not None:
                gaps.append(gap)
    return tuple(gaps)


def _parts(part: Ints) -> list[tuple[str, Bools]]:
    length = DAY_HOURS // PARTS
    whole = [("level", np.ones(len(part), bool))]
    return whole + [(f"hours {n * length} to {n * length + length - 1}", part == n) for n in range(PARTS)]


def _sums(columns: Mapping[str, Floats], inside: Bools) -> Callable[[str], Floats]:
    """A column's sums over hours, by copy and campaign."""
    return lambda name: columns[name][inside].sum(axis=0)


def _gap(ratio: _Ratio, where: str, real: Callable[[str], Floats], market: Callable[[str], Floats]) -> FigureGap | None:
    """None where either side has too few events: a market without events is compared by its impressions."""
    events = real(ratio.events).sum(), market(ratio.events).sum(axis=1).mean()
    enough = max(events) if ratio.below == "hours" else min(events)
    if enough < _LEAST_EVENTS:
        return None
    own = _log_ratio(real(ratio.above).sum(), real(ratio.below).sum())
    copies = np.array(
        [
            _log_ratio(above, below)
            for above, below in zip(market(ratio.above).sum(axis=1), market(ratio.below).sum(axis=1), strict=True)
        ]
    )
    spread = float(copies.std(ddof=1)) if len(copies) > 1 else 0.0
    between = _jackknife_error(real(ratio.above)[0], real(ratio.below)[0])
    return FigureGap(ratio.name, where, own - float(copies.mean()), float(np.hypot(spread, between)))


def _jackknife_error(above: Floats, below: Floats) -> float:
    """Of the log ratio, leaving out one campaign at a time."""
    count = len(above)
    if count < 2:
        return 0.0
    without = np.array([_log_ratio(above.sum() - above[n], below.sum() - below[n]) for n in range(count)])
    return float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))


def _log_ratio(above: float, below: float) -> float:
    """With a small addition, so that nothing at all is a large difference and not an infinite one."""
    return float(np.log((above + 0.5) / (below + 0.5)))
