"""For every rule of gate 2 something planted that only this rule refuses: a market, an agent, a champion, stored rows.

Everything is measured by the functions of phase 2. A market that ranks days wrongly needs an account whose campaigns
are much alike: where sizes differ more, it cannot do that without missing days by more than the other rules allow
(docs/history.md has the figures).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.gates import Evidence, Gate, Verdict, judge
from gaelp.history.fidelity import FittedAccount, fit_account
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.market.build import load_market_spec
from gaelp.market.calibration.report_fit import calibrate_reports, fit_reports
from gaelp.market.calibration.report_frame import HourReports, hour_reports, keep_days
from gaelp.market.spec import DelaySpec
from gaelp.phases.log_judgement import AGENT, CHAMPION
from gaelp.storage.schema import TableName

__all__ = [
    "AGENTS",
    "ALIKE",
    "BATCHES",
    "MARKETS",
    "VARIED",
    "KnownAccount",
    "PlantedMarket",
    "StoredBatch",
    "gate_2_verdict",
    "good_agent",
    "known_account",
]

CALIBRATED_DAYS, DAYS = 14, 28
_KNOWN = ReportTruth(campaigns=6, groups=1, days=DAYS, click_rate=0.3, conversion_rate=0.1)
VARIED = replace(_KNOWN, per_hour=100.0, overdispersion=0.03, day_log_sd=0.03, drift_sd=0.02)
ALIKE = replace(  # days differ by some 8%, by the campaign's size and by the day of the week
    _KNOWN,
    per_hour=300.0,
    overdispersion=0.01,
    volume_log_sd=0.06,
    click_log_sd=0.02,
    price_log_sd=0.02,
    day_log_sd=0.01,
    drift_sd=0.01,
    week=(1.04, 0.9),
)
_NOW = datetime(2026, 11, 18, tzinfo=UTC)
_DAYS_A_WEEK, _HOURS_A_DAY = 7, 24
_OVERRATED = 1.5

StoredBatch = dict[TableName, pa.Table]


@dataclass(frozen=True, slots=True)
class KnownAccount:
    """A market that fits an account with a known truth, and two weeks of the account that it was not fitted to."""

    account: FittedAccount
    held_out: HourReports


def known_account(truth: ReportTruth, seed: int) -> KnownAccount:
    """Draw four weeks of an account, and fit a market to the first two."""
    everything = hour_reports(draw_reports(truth, seed).tables, source="known")
    everything = replace(everything, as_of_hours=float(everything.covered_hours[-1] + 25))
    first, later = keep_days(everything, 0, CALIBRATED_DAYS), keep_days(everything, CALIBRATED_DAYS, DAYS)
    base = load_market_spec("search").model_copy(update={"delay": DelaySpec(mean_hours=20, window_hours=720)})
    fit = fit_reports(first, base)
    spec = calibrate_reports(first, name="known", base=base, fit=fit).spec
    return KnownAccount(fit_account(first, fit, spec), later)


def _overrated_sales(account: FittedAccount) -> FittedAccount:
    """Sales are worth half as much again as they are: spend, clicks and every day are right."""
    estimates = account.estimates
    values = estimates.conversion_value_micros * _OVERRATED
    return replace(account, estimates=replace(estimates, conversion_value_micros=values))


def _exaggerated_sizes(account: FittedAccount) -> FittedAccount:
    """Large campaigns are far too large, small ones too small: totals and ranks are right."""
    return _sizes_to_the_power(account, 1.6)


def _reversed_days(account: FittedAccount) -> FittedAccount:
    """Large campaigns and busy days are a little smaller than small ones: nothing is far from what it was."""
    power = -0.3
    estimates = account.estimates
    week = estimates.week.reshape(-1, _DAYS_A_WEEK, _HOURS_A_DAY)
    week = (week * week.mean(axis=2, keepdims=True) ** (power - 1)).reshape(estimates.week.shape)
    moved = replace(estimates, week=week / week.mean(axis=1, keepdims=True))
    return _sizes_to_the_power(replace(account, estimates=moved), power)


def _sizes_to_the_power(account: FittedAccount, power: float) -> FittedAccount:
    """Volumes of campaigns raised to a power of their share, with the same clicks in all."""
    estimates = account.estimates
    size = estimates.per_hour.sum(axis=1)
    moved = estimates.per_hour * ((size / size.mean()) ** (power - 1))[:, None]
    scale = (estimates.per_hour * estimates.click_rate).sum() / (moved * estimates.click_rate).sum()
    return replace(account, estimates=replace(estimates, per_hour=moved * scale))


@dataclass(frozen=True, slots=True)
class PlantedMarket:
    """An account, and what is made wrong in the market that fits it."""

    truth: ReportTruth
    plant: Callable[[FittedAccount], FittedAccount]


MARKETS: Mapping[str, PlantedMarket] = {
    "simulator_match": PlantedMarket(ALIKE, _overrated_sales),
    "prediction_accuracy": PlantedMarket(VARIED, _exaggerated_sizes),
    "correlation_with_actuals": PlantedMarket(ALIKE, _reversed_days),
}


def _policy(logged: LoggedDecisions, factor: float) -> LoggedPolicy:
    """Every bid of the incumbent times a factor."""
    return LoggedPolicy(f"bids x {factor:g}", np.full(len(logged), math.log(factor)), np.ones(len(logged), bool))


def good_agent(logged: LoggedDecisions) -> dict[str, LoggedPolicy]:
    """Better than the incumbent by some 15% in value per dollar, and in every campaign."""
    return {AGENT: _policy(logged, 0.813)}


def _a_copy(logged: LoggedDecisions) -> dict[str, LoggedPolicy]:
    return {AGENT: _policy(logged, 1.0)}


def _worse_than_the_champion(logged: LoggedDecisions) -> dict[str, LoggedPolicy]:
    """Better than the incumbent, but the champion is better by far."""
    return {AGENT: _policy(logged, 0.85), CHAMPION: _policy(logged, 1 / 1.5)}


def _bad_for_one_segment(logged: LoggedDecisions) -> dict[str, LoggedPolicy]:
    """Much better on the whole; in the segment with the most clicks it bids half as much again."""
    largest = int(np.argmax(np.bincount(logged.segment, logged.clicks)))
    shift = np.where(logged.segment == largest, math.log(1.5), math.log(1 / 1.5))
    return {AGENT: LoggedPolicy("bad for one segment", shift, np.ones(len(logged), bool))}


AGENTS: Mapping[str, Callable[[LoggedDecisions], dict[str, LoggedPolicy]]] = {
    "lift_over_logging": _a_copy,
    "lift_over_incumbent": _worse_than_the_champion,
    "harmed_groups": _bad_for_one_segment,
}


def _flight_that_ends_before_it_begins(tables: StoredBatch) -> StoredBatch:
    """In the one table that neither the market nor a lift is computed from."""
    episodes = tables[TableName.EPISODES]
    began = pc.add(episodes["ended_at"], timedelta(hours=1))
    return {**tables, TableName.EPISODES: _with_column(episodes, "started_at", began)}


def _budget_below_the_spend(tables: StoredBatch) -> StoredBatch:
    """The log says that campaigns had a tenth of the budgets they had."""
    decisions = tables[TableName.DECISIONS]
    left = pc.divide(decisions["budget_left_micros"], 10)
    return {**tables, TableName.DECISIONS: _with_column(decisions, "budget_left_micros", left)}


BATCHES: Mapping[str, Callable[[StoredBatch], StoredBatch]] = {
    "failed_expectations": _flight_that_ends_before_it_begins,
    "budget_breaches": _budget_below_the_spend,
}


def _with_column(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, table.schema.field(place), values.cast(table.schema.field(place).type))


def gate_2_verdict(gate: Gate, *metrics: Mapping[str, float]) -> Verdict:
    """Judge what was measured; later metrics take the place of earlier ones."""
    merged = {name: value for each in metrics for name, value in each.items()}
    evidence = Evidence(
        run_id="planted", agent="planted", learned=True, config_hash="planted", measured_at=_NOW, metrics=merged
    )
    return judge(gate, evidence, _NOW)
