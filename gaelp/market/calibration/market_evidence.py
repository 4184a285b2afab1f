"""Put fitted statistics into a market: which ones the data support, the market file, and what stays of its base."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import ValidationError

from gaelp.config.validation import validated
from gaelp.errors import DataError
from gaelp.market.calibration.evidence import weighed
from gaelp.market.calibration.fitted import Fitted, TooLittle
from gaelp.market.calibration.landscapes import LandscapeFit
from gaelp.market.calibration.report import KeptDefault
from gaelp.market.calibration.seasonality import HourFactors
from gaelp.market.spec import MarketSpec

__all__ = ["MarketEvidence", "Statistics", "kept_defaults", "market_spec", "weighed_statistics", "weighed_week"]

_OVERDISPERSION_MIN = 1e-4  # the market draws from a gamma distribution, which has no case 0
_PERSONAS_SWING = 0.4  # standard deviation of log volume over the week of a calm persona

Statistics = dict[str, Fitted | TooLittle]


@dataclass(frozen=True, slots=True)
class MarketEvidence:
    """What was found, each statistic under the path of its value in the market file and weighed against the base."""

    source: str
    size: str  # such as "35,000 auctions in 120 hours"
    statistics: Statistics
    landscapes: LandscapeFit | TooLittle
    factors: HourFactors | TooLittle

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is supported: the market would be the base market under another name."""
        parts = [*self.statistics.values(), self.landscapes, self.factors]
        return all(isinstance(part, TooLittle) for part in parts)


def weighed_statistics(statistics: Statistics, base: MarketSpec) -> Statistics:
    """Each estimate, or why it cannot overrule the base market."""
    return {
        path: _weighed(path, statistic, base) if isinstance(statistic, Fitted) else statistic
        for path, statistic in statistics.items()
    }


def weighed_week(factors: HourFactors | TooLittle, base: MarketSpec) -> HourFactors | TooLittle:
    """The same for the week, by how far its hours lie apart."""
    if isinstance(factors, TooLittle):
        return factors
    base_swing = float(np.log(base.hour_of_week).std()) if base.hour_of_week else _PERSONAS_SWING
    swing = weighed("hour_of_week", factors.swing, base_swing)
    return swing if isinstance(swing, TooLittle) else factors


def market_spec(base: MarketSpec, name: str, evidence: MarketEvidence) -> MarketSpec:
    """The base market with everything that the data support."""
    values: dict[str, Any] = base.model_dump(mode="json")
    values["name"] = name
    values["label"] = f"calibrated on {evidence.source}: {evidence.size}"
    for path, statistic in evidence.statistics.items():
        if isinstance(statistic, Fitted):
            section, key = path.split(".")
            values[section][key] = _allowed(path, statistic.value)
            # A range of the base market would be drawn over the fitted value.
            values["randomise"].pop(path, None)
    if isinstance(evidence.landscapes, LandscapeFit):
        values["landscapes"] = [landscape.model_dump(mode="json") for landscape in evidence.landscapes.specs]
        values["price"]["steepness"] = 1.0
    if isinstance(evidence.factors, HourFactors):
        values["hour_of_week"] = evidence.factors.factor.round(6).tolist()
    # Numbers that are fine one by one can be too large together.
    return validated(MarketSpec, values, lambda _: f"the market fitted to {evidence.source}", error=DataError)


def kept_defaults(base: MarketSpec, evidence: MarketEvidence) -> tuple[KeptDefault, ...]:
    """What stays as in the base market, and why."""
    whole: dict[str, object] = {"landscapes": evidence.landscapes, "hour_of_week": evidence.factors}
    kept = {path: part for path, part in (evidence.statistics | whole).items() if isinstance(part, TooLittle)}
    return tuple(_kept(base, path, statistic) for path, statistic in kept.items())


def _weighed(path: str, estimate: Fitted, base: MarketSpec) -> Fitted | TooLittle:
    section, key = path.split(".")
    part = getattr(base, section)
    try:
        type(part).model_validate({**part.model_dump(), key: _allowed(path, estimate.value)})
    except ValidationError as problem:
        reason = f"{estimate.value:.3g} is beyond what a market computes with: {problem.errors()[0]['msg'].lower()}"
        return TooLittle(observations=estimate.observations, reason=reason, estimate=estimate)
    return weighed(path, estimate, _base_value(base, path))


def _base_value(base: MarketSpec, path: str) -> float:
    section, key = path.split(".")
    return float(getattr(getattr(base, section), key))


def _allowed(path: str, value: float) -> float | int:
    if path == "price.level_micros":
        return max(round(value), 1)
    if path == "volume.overdispersion":
        value = max(value, _OVERDISPERSION_MIN)
    return float(f"{value:.6g}")


def _kept(base: MarketSpec, path: str, statistic: TooLittle) -> KeptDefault:
    return KeptDefault(
        statistic=path,
        default=_base_value(base, path) if "." in path else None,
        observations=statistic.observations,
        reason=statistic.reason,
        estimate=statistic.estimate,
    )
