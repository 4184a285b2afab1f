"""Markets that are wrong on purpose, and whether fidelity refuses them and names what was planted."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gaelp.history.fidelity import FittedAccount, fit_account, measure_fidelity
from gaelp.history.fidelity_report import FidelityReport, FidelityScore, Gap
from gaelp.history.gap_ranking import PRICE_LEVEL
from gaelp.market.build import load_market_spec, load_persona_table
from gaelp.market.calibration.report_check import split_reports
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import HourReports, hour_reports
from gaelp.market.spec import DelaySpec, MarketSpec
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.synthesis import synthesize
from gaelp.sandbox.synthesis_rows import history_tables
from gaelp.storage.schema import TableName

__all__ = ["BARS", "HARMS", "Harm", "bar_failures", "fitted_history", "history_rows", "wrong_market_trial"]

WEEKS, CALIBRATED_WEEKS = 6, 4
BARS = {"simulator_match": 0.95, "prediction_accuracy": 0.85, "correlation_with_actuals": 0.80}
_TABLES = (
    TableName.HOUR_REPORTS,
    TableName.IMPRESSION_SHARES,
    TableName.CONVERSIONS,
    TableName.DECISIONS,
)
_WRONG_SHARE = 0.2
_DELAY = DelaySpec(mean_hours=24.0, window_hours=720)


@dataclass(frozen=True, slots=True)
class Harm:
    """One number of a market that was made wrong, and how the ranked list has to name it."""

    name: str
    account: FittedAccount
    statistic: str
    scope: str
    place: str

    def is_named_by(self, gap: Gap) -> bool:
        """Whether a gap is the planted one."""
        return (gap.statistic, gap.scope, gap.place) == (self.statistic, self.scope, self.place)


def _dearer(account: FittedAccount, _: np.random.Generator) -> Harm:
    estimates = account.estimates
    wrong = replace(estimates, level_log=estimates.level_log + math.log1p(_WRONG_SHARE))
    return Harm("prices +20%", replace(account, estimates=wrong), PRICE_LEVEL, "everywhere", "")


def _fewer_clicks(account: FittedAccount, _: np.random.Generator) -> Harm:
    wrong = replace(account.estimates, click_rate=account.estimates.click_rate * (1 - _WRONG_SHARE))
    return Harm("CTR -20%", replace(account, estimates=wrong), "clicks per impression", "everywhere", "")


def _no_delay(account: FittedAccount, _: np.random.Generator) -> Harm:
    values = account.spec.model_dump() | {"delay": DelaySpec(window_hours=account.spec.delay.window_hours)}
    wrong = replace(account, spec=MarketSpec.model_validate(values))
    return Harm("delay removed", wrong, "delay of conversions", "everywhere", "")


def _twice_the_volume(account: FittedAccount, rng: np.random.Generator) -> Harm:
    """Of one segment, any of them."""
    estimates = account.estimates
    campaign, segment = rng.choice(np.argwhere(estimates.present)).tolist()
    per_hour = estimates.per_hour.copy()
    per_hour[campaign, segment] *= 2
    wrong = replace(account, estimates=replace(estimates, per_hour=per_hour))
    place = f"{estimates.campaign_names[campaign]}/{estimates.segment_names[campaign][segment]}"
    return Harm("one segment's volume x2", wrong, "possible impressions a day", "segment", place)


HARMS: tuple[Callable[[FittedAccount, np.random.Generator], Harm], ...] = (
    _dearer,
    _fewer_clicks,
    _no_delay,
    _twice_the_volume,
)


def history_rows(
    world: SandboxSpec, seed: int, cache: Path | None, *, campaigns: int = 12
) -> dict[TableName, pa.Table]:
    """The rows of a six-week history that calibration reads; kept in `cache`, one folder a seed."""
    folder = None if cache is None else cache / f"seed-{seed}-{campaigns}-campaigns"
    if folder is not None and folder.exists():
        return {name: pq.read_table(folder / f"{name.value}.parquet") for name in _TABLES}
    spec = SynthesisSpec(weeks=WEEKS, campaigns=campaigns, seed=seed)
    history = synthesize(spec, world.model_copy(update={"seed": seed}), simulator_points=False)
    everything = history_tables(history)
    tables = {name: everything[name] for name in _TABLES}
    if folder is not None:
        folder.mkdir(parents=True)
        for name, table in tables.items():
            pq.write_table(table, folder / f"{name.value}.parquet")
    return tables


def fitted_history(tables: Mapping[TableName, pa.Table]) -> tuple[FittedAccount, HourReports]:
    """Calibrate on the first four weeks as they were known then; returns the account and the two weeks held out."""
    everything = hour_reports(tables, source="synthesized")
    first, held_out = split_reports(tables, everything, 7 * CALIBRATED_WEEKS)
    base = load_market_spec("search").model_copy(update={"delay": _DELAY})
    fit = fit_reports(first, base)
    market = calibrate_reports(first, name="calibrated", base=base, fit=fit)
    return fit_account(first, fit, market.spec), held_out


def bar_failures(report: FidelityReport) -> list[str]:
    """The rules of gate 2 that these scores miss, and the gaps beyond their interval."""
    compared = report.metrics
    figures = {
        "simulator_match": compared["simulator_match"],
        "prediction_accuracy": compared["prediction_accuracy_lower_95"],
        "correlation_with_actuals": compared["correlation_with_actuals_lower_95"],
    }
    missed = [f"{name} {value:.3f} < {BARS[name]}" for name, value in figures.items() if value < BARS[name]]
    return missed + [f"gap: {gap.words}" for gap in report.gaps_beyond_chance[:3]]


def wrong_market_trial(world: SandboxSpec, seed: int, cache: Path | None, *, campaigns: int = 12) -> dict[str, object]:
    """The unharmed market and each wrong one on one history."""
    account, held_out = fitted_history(history_rows(world, seed, cache, campaigns=campaigns))
    personas = load_persona_table("personas")
    unharmed = measure_fidelity(account, held_out, personas, seed=seed)
    results: dict[str, object] = {"seed": seed, "unharmed": _summary(unharmed)}
    rng = np.random.default_rng([seed, 23])
    for plant in HARMS:
        harm = plant(account, rng)
        report = measure_fidelity(harm.account, held_out, personas, seed=seed)
        named = [number for number, gap in enumerate(report.gaps) if harm.is_named_by(gap)]
        results[harm.name] = _summary(report) | {
            "fails": bool(bar_failures(report)),
            "named_first": bool(named and named[0] == 0),
            "rank": named[0] + 1 if named else None,
            "beyond_its_interval": bool(named and report.gaps[named[0]].beyond_chance),
        }
    return results


def _summary(report: FidelityReport) -> dict[str, object]:
    def ends(score: FidelityScore) -> list[float]:
        return [round(score.value, 4), round(score.lower_95, 4), round(score.upper_95, 4)]

    figures = {
        each.figure: {
            "total_error": round(each.total_error, 4),
            "wape": round(each.wape, 4),
            "noise_wape": round(each.noise_wape, 4),
        }
        for each in report.figures
    }
    return {
        "simulator_match": ends(report.simulator_match),
        "prediction_accuracy": ends(report.prediction_accuracy),
        "correlation_with_actuals": ends(report.correlation_with_actuals),
        "plain_accuracy": ends(report.plain_accuracy),
        "plain_correlation": ends(report.plain_correlation),
        "failures": bar_failures(report),
        "gaps_beyond_chance": len(report.gaps_beyond_chance),
        "first": [f"{gap.standard_errors:.1f} {gap.words}" for gap in report.gaps[:3]],
        "figures": figures,
    }
