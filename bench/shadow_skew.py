"""How often shadow days find a skew that is not there, and whether they find planted ones.

Each seed makes a history, fits the market to it, and lets the agent watch the advertiser's own campaigns for two days
on the local ad platform. The reports are then read again with a fault planted in them. Thresholds were chosen on seed
301; `--seeds` takes others.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.history.fidelity import fit_account
from gaelp.market.baselines.bids import Bidder
from gaelp.market.build import build_market, configured_personas, load_market_spec
from gaelp.market.calibration.report_fit import fit_reports
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.personas import PersonaTable
from gaelp.phases.history_source import provide_history
from gaelp.phases.history_windows import fix_windows, read_windows
from gaelp.phases.simulation import plan_simulation
from gaelp.pilot.local_account import running_local_account, synthesized
from gaelp.pilot.local_campaigns import local_campaigns, own_campaigns
from gaelp.pilot.own_campaigns import pause_own_campaigns, provide_own_campaigns
from gaelp.pilot.shadow import run_shadow_days
from gaelp.pilot.shadow_check import WatchedCampaigns, watched_campaigns
from gaelp.pilot.shadow_record import ShadowFolder
from gaelp.pilot.skew import SkewReport
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.platforms.running_campaigns import ReadsRunning, RunningReport
from gaelp.sandbox.history_specs import history_end, history_specs

LAG_HOURS, SHADOW_DAYS = 3, 2
Harm = Callable[[RunningReport], RunningReport]
Parts = tuple[Bidder, PersonaTable]


def _hours(change: Callable[..., dict[str, object]]) -> Harm:
    return lambda report: replace(report, hours=tuple(replace(hour, **change(hour)) for hour in report.hours))


def _time_zone(report: RunningReport) -> RunningReport:
    """The account's clock read as if it were UTC."""
    zone = ZoneInfo("America/New_York")

    def moved(start: datetime) -> datetime:
        return start + (start.astimezone(zone).utcoffset() or timedelta(0))

    return replace(report, hours=tuple(replace(hour, start=moved(hour.start)) for hour in report.hours))


def _swapped(report: RunningReport) -> RunningReport:
    """Each ad group gets the rows of the next one."""
    targets = sorted({target for _, target in report.bids_micros})
    following = dict(zip(targets, targets[1:] + targets[:1], strict=True))
    return replace(report, hours=tuple(replace(hour, target=following[hour.target]) for hour in report.hours))


PLANTED: dict[str, Harm] = {
    "none": lambda report: report,
    "cost in units instead of micros": _hours(lambda hour: {"cost_micros": hour.cost_micros // 1_000_000}),
    "value in units instead of micros": _hours(lambda hour: {"value_micros": hour.value_micros // 1_000_000}),
    "click rate as percent": _hours(lambda hour: {"clicks": hour.clicks * 100}),
    "impressions in thousands": _hours(lambda hour: {"impressions": hour.impressions // 1000}),
    "every row twice": lambda report: replace(report, hours=report.hours * 2),
    "hours off by the time zone": _time_zone,
    "bids in cents instead of micros": lambda report: replace(
        report, bids_micros={key: micros // 10_000 for key, micros in report.bids_micros.items()}
    ),
    "hours reported before they are complete": lambda report: replace(report, as_of=report.read_at),
    "ad groups mixed up": _swapped,
}


@dataclass
class Recorder:
    """Reads from a platform and keeps every report."""

    platform: ReadsRunning
    reports: list[RunningReport]

    def read_running(self, campaigns: Sequence[str], since: datetime) -> RunningReport:
        """As the platform."""
        self.reports.append(self.platform.read_running(campaigns, since))
        return self.reports[-1]


@dataclass
class Replayed:
    """Gives kept reports again, with a fault in each."""

    reports: list[RunningReport]
    harm: Harm
    read: int = 0

    def read_running(self, campaigns: Sequence[str], since: datetime) -> RunningReport:
        """The next report; it is about all campaigns from the beginning on."""
        del campaigns, since
        self.read += 1
        return self.harm(self.reports[self.read - 1])


def watch(seed: int, folder: Path, campaigns: int, weeks: int) -> tuple[WatchedCampaigns, list[RunningReport], Parts]:
    """Two shadow days on the local ad platform: what was watched, and every report."""
    given = [
        f"home={folder / 'home'}",
        f"run.seed={seed}",
        f"history.synthesize.weeks={weeks}",
        f"history.synthesize.campaigns={campaigns}",
        "history.synthesize.world=default",
        "market.name=shop",
        "pilot.local=true",
        f"pilot.campaigns={campaigns}",
    ]
    settings = load_settings("quick-test", overrides=given, environ={}).settings
    splits = fix_windows(settings, provide_history(settings, lambda _: None), SystemClock())
    calibration = read_windows(settings, splits).calibration
    personas = configured_personas(settings)
    spec = load_market_spec(settings.market.name)
    account = fit_account(calibration, fit_reports(calibration, spec), spec)
    market = build_market(spec, personas, settings.objective)
    chosen = local_campaigns("bench", settings.pilot, synthesized(settings), seed, account.estimates)
    own = own_campaigns(chosen, account.estimates)
    history, world = history_specs(synthesized(settings), seed)
    begins = history_end(history, world) + timedelta(days=1)  # adverts are reviewed on the day before
    names = tuple(campaign.logged_as for campaign in chosen)
    rules = BidRules(reference_factor=settings.history.reach)
    watched = watched_campaigns(
        names, market, account, rules, begins=begins, days=SHADOW_DAYS, time_zone=world.time_zone
    )
    policy = plan_simulation(settings).tuned.build("mpc")
    with running_local_account(settings, folder / "platform", pilot="bench") as local:
        connection = AdsConnection(local.settings.platform.google_ads)
        provide_own_campaigns(connection, own)
        recorder = Recorder(connect_platform(local.settings), [])

        def wait_until(instant: datetime) -> bool:
            if local.platform.now() < instant:
                local.platform.advance(instant)
            return True

        run_shadow_days(recorder, watched.controller(policy), watched.plan, ShadowFolder(folder / "shadow"), wait_until)
        pause_own_campaigns(connection, own)
    return watched, recorder.reports, (policy, personas)


def judge(
    watched: WatchedCampaigns, reports: list[RunningReport], parts: Parts, name: str, folder: Path, seed: int
) -> SkewReport:
    """The report on skew with a fault planted."""
    policy, personas = parts
    record = run_shadow_days(
        Replayed(reports, PLANTED[name]),
        watched.controller(policy),
        watched.plan,
        ShadowFolder(folder / name.replace(" ", "-")),
        lambda _instant: True,
    )
    return watched.judge(policy, record, personas, lag_hours=LAG_HOURS, seed=seed)


def main() -> None:
    """Print one JSON object a seed and fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[9001])
    parser.add_argument("--campaigns", type=int, default=12)
    parser.add_argument("--weeks", type=int, default=6)
    parser.add_argument("--planted", nargs="+", choices=PLANTED, default=list(PLANTED))
    given = parser.parse_args()
    for seed in given.seeds:
        with tempfile.TemporaryDirectory(prefix="gaelp-shadow-") as name:
            folder, began = Path(name), time.monotonic()
            watched, reports, parts = watch(seed, folder, given.campaigns, given.weeks)
            seconds = round(time.monotonic() - began, 1)
            for planted in given.planted:
                report = judge(watched, reports, parts, planted, folder, seed)
                row = {"seed": seed, "planted": planted, "skewed_features": len(report.skewed), "seconds": seconds}
                row["names"] = [f"{each.name} {each.where} {each.size:g}" for each in report.skewed[:8]]
                print(json.dumps(row), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
