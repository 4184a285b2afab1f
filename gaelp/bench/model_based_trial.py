"""Is a lift by the market alone right? A made history without its propensities, against running it again."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.config.settings import Settings
from gaelp.history.fidelity import FittedAccount, fit_account, measure_fidelity
from gaelp.history.log_checks import check_log
from gaelp.history.logged_bidders import bidders_on_log
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import LoggedPolicy
from gaelp.history.posterior_lift import lift_between
from gaelp.history.posterior_report import LOGGED_BIDS
from gaelp.history.sealed_window import alpha_of_look
from gaelp.history.split_windows import Splits
from gaelp.history.splits import window_rows
from gaelp.history.twin_bidders import play_bidders
from gaelp.market.build import configured_personas
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_truth import run_again
from gaelp.phases.history_windows import ReportWindows, fix_windows, read_windows
from gaelp.phases.log_judgement import ALPHA
from gaelp.phases.simulation import Plan, plan_simulation
from gaelp.storage.backends import build_store
from gaelp.storage.sealed_store import open_sealed

__all__ = ["MadeHistory", "model_based_trial", "without_propensities"]

_RULE = "mpc"
_SCALES = (0.75, 1.3)  # of the logged bids


@dataclass(frozen=True, slots=True)
class MadeHistory:
    """Of a made history; half of it is for calibration."""

    weeks: int = 7
    campaigns: int = 12
    bid_log_sd: float = 0.2


def without_propensities(logged: LoggedDecisions) -> LoggedDecisions:
    """The same decisions as most advertisers have them: bids, and nothing about how they were chosen."""
    nothing = np.full(len(logged), np.nan)
    return replace(logged, action=nothing, density=nothing, density_kind=np.zeros(len(logged), np.int8))


def model_based_trial(seed: int, size: MadeHistory, home: Path) -> dict[str, object]:
    """Fidelity, and for a rule and scaled bids the lift by the market with its interval beside the true one."""
    settings = _settings(seed, size, home)
    splits = fix_windows(settings, provide_history(settings, lambda _: None), SystemClock())
    plan, windows = plan_simulation(settings), read_windows(settings, splits)
    account = fit_account(windows.calibration, fit_reports(windows.calibration, plan.market.spec), plan.market.spec)
    with closing(build_store(settings)) as store:
        logged = without_propensities(window_rows(open_sealed(store), splits, splits.sealed, as_of=None))
    return {
        "seed": seed,
        "needs_model": check_log(logged, window=splits.sealed).needs_model,
        "fidelity": _fidelity(settings, account, windows),
        "lifts": _lifts(settings, splits, plan, account, logged),
    }


def _settings(seed: int, size: MadeHistory, home: Path) -> Settings:
    made = f"history.synthesize.seed={seed}", f"history.synthesize.bid_log_sd={size.bid_log_sd}"
    extent = f"history.synthesize.weeks={size.weeks}", f"history.synthesize.campaigns={size.campaigns}"
    windows = "history.splits.calibration_share=0.5", "history.splits.validation_share=0.28"
    world = "history.synthesize.world=default", "market.name=shop"
    overrides = [f"home={home}", *made, *extent, *windows, *world]
    return load_settings("quick-test", overrides=overrides, environ={}).settings


def _fidelity(settings: Settings, account: FittedAccount, windows: ReportWindows) -> dict[str, float]:
    report = measure_fidelity(account, windows.validation, configured_personas(settings), seed=settings.evaluation.seed)
    return {name: round(value, 3) for name, value in report.metrics.items()}


def _lifts(
    settings: Settings, splits: Splits, plan: Plan, account: FittedAccount, logged: LoggedDecisions
) -> dict[str, dict[str, float | bool]]:
    rule = {_RULE: plan.tuned.build(_RULE)}
    policies = bidders_on_log(rule, plan.market, account.estimates, logged, reach=settings.history.reach)
    for scale in _SCALES:
        name = f"{LOGGED_BIDS} x {scale:g}"
        policies[name] = LoggedPolicy(name, np.full(len(logged), np.log(scale)), np.ones(len(logged), bool))
    personas = configured_personas(settings)
    played = play_bidders(
        logged, policies, account, personas, draws=settings.history.draws, seed=settings.evaluation.seed
    )
    results: dict[str, dict[str, float | bool]] = {}
    for true in run_again(settings, splits, logged, policies):
        if true.is_automated:
            results[true.key] = {"true": round(true.lift, 4), "true_spend_share": round(true.spend_share, 3)}
            continue
        lift = lift_between(played[true.key], played[LOGGED_BIDS], 1 - alpha_of_look(ALPHA))
        market = played[true.key].own_value_per_dollar / played[LOGGED_BIDS].own_value_per_dollar - 1
        results[true.key] = {
            "true": round(true.lift, 4),
            "model": round(lift.lift, 4),
            "lower": round(lift.lift_lower, 4),
            "upper": round(lift.lift_upper, 4),
            "error": round(lift.lift - true.lift, 4),
            "covered": lift.lift_lower <= true.lift <= lift.lift_upper,
            "market_alone": round(market, 4),
            "true_spend_share": round(true.spend_share, 3),
        }
    return results
