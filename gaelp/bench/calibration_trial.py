"""How often calibration's 95% intervals hold the truth, over many logs whose true numbers are known."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gaelp.bench.known_logs import LogTruth, draw_columns, true_values
from gaelp.market.calibration import BidLog, calibrate
from gaelp.market.calibration.log_frame import make_log
from gaelp.market.spec import MarketSpec

__all__ = ["COVERAGE_HIGHEST", "COVERAGE_LOWEST", "KINDS", "SMALL_LOG", "coverage_trial", "known_log", "not_covered"]

COVERAGE_LOWEST, COVERAGE_HIGHEST = 0.90, 0.98
SMALL_LOG = LogTruth(segments=8, days=5, per_hour=30.0, click_rate=0.04, conversion_log_sd=0.4)
KINDS: Mapping[str, LogTruth] = {
    "one_mode_all_won": SMALL_LOG,
    "one_mode_bids_lost": replace(SMALL_LOG, bid_log_offset=0.3),
    "two_modes_all_won": replace(SMALL_LOG, mode_gap=1.6, within_log_sd=0.3),
    "two_modes_bids_lost": replace(SMALL_LOG, mode_gap=1.6, within_log_sd=0.3, bid_log_offset=0.3),
}
_BASE = MarketSpec.model_validate({"name": "base", "rivals": {"depth": 0.0}})


def known_log(truth: LogTruth, seed: int) -> BidLog:
    """A log drawn from a known truth, ready for calibration."""
    columns = draw_columns(truth, seed)
    return make_log(
        source="simulated",
        time_hours=columns["time_hours"],
        bid_micros=columns["bid_micros"],
        price_micros=columns["price_micros"],
        won=columns["won"],
        segment=columns["segment"],
        click=columns["click"],
        conversion=columns["conversion"],
        conversion_time_hours=columns["conversion_time_hours"],
    )


def coverage_trial(seeds: Iterable[int], kinds: Mapping[str, LogTruth] = KINDS) -> dict[str, dict[str, object]]:
    """For each statistic the share of logs whose interval holds the truth; kinds alternate over the seeds.

    Intervals that were not taken over count too: those that exclude 0 alone would not be a fair sample.
    """
    names = list(kinds)
    hits: dict[str, dict[str, list[bool]]] = {}
    errors: dict[str, list[float]] = {}
    for index, seed in enumerate(seeds):
        kind = names[index % len(names)]
        truth = kinds[kind]
        estimates = calibrate(known_log(truth, seed), name="trial", base=_BASE).report.estimates
        for path, value in true_values(truth).items():
            estimate = estimates.get(path)
            if estimate is not None:
                inside = estimate.interval_low <= value <= estimate.interval_high
                hits.setdefault(path, {}).setdefault(kind, []).append(inside)
                errors.setdefault(path, []).append(estimate.value / value - 1)
    return {path: _summary(by_kind, errors[path]) for path, by_kind in hits.items()}


def not_covered(results: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The statistics whose intervals hold the truth too rarely or too often."""
    return [
        f"{path}: {result['coverage']:.3f} of {result['logs']} logs; allowed: {COVERAGE_LOWEST} to {COVERAGE_HIGHEST}"
        for path, result in results.items()
        if not COVERAGE_LOWEST <= float(str(result["coverage"])) <= COVERAGE_HIGHEST
    ]


def _summary(by_kind: Mapping[str, list[bool]], errors: list[float]) -> dict[str, object]:
    inside = [hit for hits in by_kind.values() for hit in hits]
    share = sum(inside) / len(inside)
    return {
        "logs": len(inside),
        "coverage": round(share, 4),
        "binomial_std_error": round(math.sqrt(max(share * (1 - share), 0.0) / len(inside)), 4),
        "mean_relative_error": round(sum(errors) / len(errors), 4),
        "by_kind": {kind: round(sum(hits) / len(hits), 3) for kind, hits in by_kind.items()},
    }
