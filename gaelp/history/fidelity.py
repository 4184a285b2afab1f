"""Does the market reproduce what happened? Play the logged bids of a held-out window in the twin, and compare."""

from dataclasses import dataclass, replace

import numpy as np

from gaelp.errors import DataError
from gaelp.history.distribution_gaps import distribution_gaps
from gaelp.history.fidelity_report import FidelityReport
from gaelp.history.fidelity_scores import CampaignDays, score_days
from gaelp.history.gap_ranking import rank_gaps
from gaelp.history.noise_floor import measure_noise_floor
from gaelp.history.twin_market import posterior_draws
from gaelp.history.twin_play import PlayedHours, play_logged_bids
from gaelp.history.window_figures import WindowFigures, window_figures
from gaelp.market.calibration.report_curves import ReportCurves
from gaelp.market.calibration.report_fit import ReportFit
from gaelp.market.calibration.report_frame import HourReports
from gaelp.market.calibration.segment_estimates import SegmentEstimates, estimate_segments
from gaelp.market.personas import PersonaTable
from gaelp.market.spec import MarketSpec

__all__ = ["AccountPlay", "FittedAccount", "compare_play", "fit_account", "measure_fidelity", "play_account"]

COPIES, COPIES_MIN = 40, 4
DEARER_LOG = 0.1  # by how much price levels are raised to see what follows them


@dataclass(frozen=True, slots=True)
class FittedAccount:
    """Everything that comes from the calibration window."""

    spec: MarketSpec  # the calibrated market
    estimates: SegmentEstimates
    curves: ReportCurves
    conversions: float  # seen in the calibration window
    bid_variation: float  # there: standard deviation of the log bid, of the median segment


@dataclass(frozen=True, slots=True)
class AccountPlay:
    """A held-out window, and what the market makes of its bids."""

    window: WindowFigures
    played: PlayedHours
    dearer: PlayedHours  # the same with all price levels raised by DEARER_LOG


def fit_account(reports: HourReports, fit: ReportFit, spec: MarketSpec) -> FittedAccount:
    """Estimates from the reports that `fit` and the market `spec` were fitted to."""
    return FittedAccount(
        spec=spec,
        estimates=estimate_segments(reports, fit, spec),
        curves=fit.curves,
        conversions=float(reports.conversions.sum()),
        bid_variation=_bid_variation(reports),
    )


def play_account(
    account: FittedAccount, held_out: HourReports, personas: PersonaTable, *, seed: int, copies: int = COPIES
) -> AccountPlay:
    """Play the logged bids of a window that nothing was fitted to, as often as `copies` says."""
    if copies < COPIES_MIN:
        raise DataError(f"saw copies={copies}; allowed: {COPIES_MIN} or more, {COPIES} by default.")
    window = window_figures(held_out, account.estimates)
    _check_enough(window, held_out.source)
    draws = posterior_draws(account.estimates, copies, np.random.default_rng([seed, 17]))
    dear = [_dearer(draw) for draw in draws]
    played, dearer = (
        play_logged_bids(window, account.spec, personas, account.estimates, each, seed=seed) for each in (draws, dear)
    )
    return AccountPlay(window, played, dearer)


def compare_play(account: FittedAccount, held_out: HourReports, play: AccountPlay, *, seed: int) -> FidelityReport:
    """Scores, gaps and distributions of what was played."""
    window, played = play.window, play.played
    rng = np.random.default_rng([seed, 18])
    days = _campaign_days(window, played, account.conversions)
    scores = score_days(days, measure_noise_floor(held_out, account.curves), rng)
    return FidelityReport(
        source=held_out.source,
        campaign_days=int((window.by_day(window.compared.astype(float)).sum(axis=1) > 0).sum()),
        copies=played.copies,
        simulator_match=scores.simulator_match,
        prediction_accuracy=scores.prediction_accuracy,
        correlation_with_actuals=scores.correlation_with_actuals,
        plain_accuracy=scores.plain_accuracy,
        plain_correlation=scores.plain_correlation,
        figures=scores.figures,
        gaps=rank_gaps(window, played, play.dearer, DEARER_LOG),
        distributions=distribution_gaps(window, played, rng),
    )


def measure_fidelity(
    account: FittedAccount, held_out: HourReports, personas: PersonaTable, *, seed: int, copies: int = COPIES
) -> FidelityReport:
    """Play and compare; the same arguments give the same report."""
    play = play_account(account, held_out, personas, seed=seed, copies=copies)
    return compare_play(account, held_out, play, seed=seed)


def _bid_variation(reports: HourReports) -> float:
    """Where bids never moved, curves say nothing about other bids, however well they fit."""
    log_bid = np.where(reports.has_row, np.log(np.maximum(reports.bid_micros, 1.0)), np.nan)
    bidding = reports.has_row.sum(axis=1) > 1
    return float(np.median(np.nanstd(log_bid[bidding], axis=1))) if bidding.any() else 0.0


def _check_enough(window: WindowFigures, source: str) -> None:
    if window.clicks.sum() < 1 or window.spend_micros.sum() < 1:
        raise DataError(f"the held-out window of {source} has no click: there is nothing to compare. Use a longer one.")


def _dearer(estimates: SegmentEstimates) -> SegmentEstimates:
    return replace(estimates, level_log=estimates.level_log + DEARER_LOG)


def _campaign_days(window: WindowFigures, played: PlayedHours, calibrated_conversions: float) -> CampaignDays:
    names = {"spend": "spend_micros", "clicks": "clicks", "conversions": "conversions", "value": "value_micros"}
    logged = {name: window.by_day(getattr(window, field)).sum(axis=1) for name, field in names.items()}
    market = {
        name: window.by_day(np.asarray(getattr(played, field), float)).sum(axis=2).mean(axis=0)
        for name, field in names.items()
    }
    return CampaignDays(logged, market, window.cluster, _counted(window, calibrated_conversions))


def _counted(window: WindowFigures, calibrated_conversions: float) -> dict[str, float]:
    """1 / variance of the log of a sparse total by chance: of this window, and of the one that rates come from."""
    conversions = max(float(window.conversions.sum()), 1.0)
    values = window.value_micros[window.value_micros > 0]
    dispersion = 1.0
    if len(values) > 1:
        dispersion = float((values**2).sum() / values.sum() ** 2 * conversions)
    both = 1 / conversions + 1 / max(calibrated_conversions, 1.0)
    return {"conversions": 1 / both, "value": 1 / (both * max(dispersion, 1.0))}
