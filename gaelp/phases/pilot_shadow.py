"""The shadow days of a run's pilot: the agent watches running campaigns and sends nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import day_start
from gaelp.config.write import write_models
from gaelp.errors import BadInput, Refused
from gaelp.market.build import configured_personas
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.from_reports.bids import BidRules
from gaelp.phases.pilot_account import PilotAccount
from gaelp.phases.pilot_planning import PilotKnowledge
from gaelp.phases.run_folder import PhaseFolder
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.pilot.local_campaigns import own_campaigns, with_room
from gaelp.pilot.own_campaigns import pause_own_campaigns, provide_own_campaigns
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.shadow import run_shadow_days
from gaelp.pilot.shadow_check import watched_campaigns
from gaelp.pilot.shadow_record import ShadowFolder
from gaelp.pilot.skew import SkewReport
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.running_campaigns import ReadsRunning

__all__ = ["watch_before_spending"]

_LATEST = timedelta(hours=1)  # after the midnight with which the shadow days begin


def watch_before_spending(
    account: PilotAccount, known: PilotKnowledge, plan: PilotPlan, folder: PhaseFolder, on_report: OnReport
) -> SkewReport:
    """Watch the plan's logged campaigns on the days before its first one; a finished watch is not repeated."""
    file = folder.path / "skew.json"
    if file.exists():
        return SkewReport.model_validate_json(file.read_bytes())
    settings = account.settings
    platform = connect_platform(settings)
    if not isinstance(platform, ReadsRunning):
        raise BadInput(
            f"{platform.name} cannot be asked about campaigns that GAELP did not create, so there are no shadow days"
            " and gate 3 would refuse the pilot: use google-ads"
        )
    agent, days, fitted = known.agent, settings.pilot.shadow_days, known.fitted
    if settings.pilot.local:
        fitted = replace(fitted, estimates=with_room(fitted.estimates))
    begins = day_start(plan.first_day - timedelta(days=days), plan.time_zone)
    rules = BidRules(reference_factor=plan.reach, ceiling_micros=plan.bid_ceiling_micros)
    names = tuple(campaign.logged_as for campaign in plan.campaigns)
    watched = watched_campaigns(names, agent.market, fitted, rules, begins=begins, days=days, time_zone=plan.time_zone)
    shadow = ShadowFolder(folder.path / "shadow")
    if shadow.state() is None and account.timekeeper.now() > begins + _LATEST:
        raise Refused(
            f"the plan's shadow days began at {begins.isoformat()}, and it is {account.timekeeper.now().isoformat()}:"
            " it was signed too late for its days. Begin another run"
        )
    on_report(StageReport("shadow days", 0, watched.plan.hours, "hours"))
    with _running_campaigns(account, fitted.estimates, plan):
        record = run_shadow_days(
            platform,
            watched.controller(agent.policy),
            watched.plan,
            shadow,
            lambda instant: account.timekeeper.wait_until(instant, _never),
            lambda hour: on_report(StageReport("shadow days", hour + 1, watched.plan.hours, "hours")),
        )
    on_report(StageReport("comparing the shadow days with the market"))
    lag_hours = load_platform_terms().of(str(settings.platform.name)).report_lag_hours
    report = watched.judge(
        agent.policy, record, configured_personas(settings), lag_hours=lag_hours, seed=settings.evaluation.seed
    )
    write_models({file: report})
    return report


def _never() -> bool:
    return False


@contextmanager
def _running_campaigns(account: PilotAccount, estimates: SegmentEstimates, plan: PilotPlan) -> Iterator[None]:
    """On the local platform the advertiser's own campaigns run meanwhile; on a real one they run anyway."""
    settings = account.settings
    if not settings.pilot.local or settings.platform.google_ads is None:
        yield
        return
    connection = AdsConnection(settings.platform.google_ads)
    own = own_campaigns(plan.campaigns, estimates)
    provide_own_campaigns(connection, own)
    yield
    pause_own_campaigns(connection, own)
