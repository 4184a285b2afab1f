"""Shadow days of some logged campaigns from end to end: what to watch, who decides, and the verdict on skew."""

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from gaelp.arrays import Ints
from gaelp.errors import BadInput
from gaelp.history.fidelity import FittedAccount
from gaelp.history.logged_bidders import KnownSegments, known_segments
from gaelp.history.twin_market import posterior_draws
from gaelp.market.baselines.bids import Bidder
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.market import Market
from gaelp.market.personas import PersonaTable
from gaelp.pilot.controller import CampaignHours, Controller
from gaelp.pilot.logged_segments import usual_bids_micros
from gaelp.pilot.policy_inputs import input_names
from gaelp.pilot.report_gaps import figure_gaps
from gaelp.pilot.shadow import ShadowPlan
from gaelp.pilot.shadow_record import ShadowRecord
from gaelp.pilot.skew import SkewReport, judge_skew
from gaelp.pilot.twin_shadow import play_bids, twin_inputs

__all__ = ["WatchedCampaigns", "watched_campaigns"]

COPIES = 12
_HOURS_OF_DAY = 24


@dataclass(frozen=True, slots=True)
class WatchedCampaigns:
    """The logged campaigns that are watched, with everything that a controller knows of them."""

    plan: ShadowPlan
    market: Market
    account: FittedAccount
    estimates: SegmentEstimates  # of the watched campaigns, in their order
    known: KnownSegments
    reference_bid_micros: Ints  # (N, S)
    start_hour_of_week: int
    rules: BidRules

    def controller(self, policy: Bidder) -> Controller:
        """Who decides in the shadow days, before the first hour."""
        runs = CampaignHours.same(len(self.plan.campaigns), self.plan.hours)
        return Controller(policy, self.known, self.reference_bid_micros, self.market, self.rules, runs=runs)

    def judge(
        self,
        policy: Bidder,
        record: ShadowRecord,
        personas: PersonaTable,
        *,
        lag_hours: int,
        seed: int,
        copies: int = COPIES,
    ) -> SkewReport:
        """Compare what the policy saw with what copies of the campaigns show it in the market fitted to the log."""
        draws = posterior_draws(self.estimates, copies, np.random.default_rng([seed, 31]))
        days = play_bids(
            self.account.spec,
            personas,
            self.estimates,
            draws,
            record.bid_micros,
            start_hour_of_week=self.start_hour_of_week,
            seed=seed,
        )
        twin = twin_inputs(
            policy,
            self.market,
            self.known,
            self.reference_bid_micros,
            self.rules,
            days,
            record.bid_micros,
            lag_hours=lag_hours,
        )
        figures = figure_gaps(record, days.figures(len(record.decided), lag_hours), copies)
        return judge_skew(record, twin, input_names(self.market.objective), figures)


def watched_campaigns(
    names: tuple[str, ...],
    market: Market,
    account: FittedAccount,
    rules: BidRules,
    *,
    begins: datetime,
    days: int,
    time_zone: str,
) -> WatchedCampaigns:
    """Logged campaigns whose counterparts run in the account from `begins` on, midnight of the account's clock."""
    local = begins.astimezone(ZoneInfo(time_zone))
    if (local.hour, local.minute) != (0, 0):
        raise BadInput(
            f"shadow days begin at {local:%Y-%m-%d %H:%M} of {time_zone}; allowed: midnight, because budgets are by day"
        )
    estimates = account.estimates.some(names)
    start_hour_of_week = local.weekday() * _HOURS_OF_DAY
    return WatchedCampaigns(
        plan=ShadowPlan(
            begins=begins,
            hours=days * _HOURS_OF_DAY,
            campaigns=names,
            targets=tuple(tuple(filter(None, segments)) for segments in estimates.segment_names),
            segments=estimates.row.shape[1],
        ),
        market=market,
        account=account,
        estimates=estimates,
        known=known_segments(market, estimates, start_hour_of_week),
        reference_bid_micros=usual_bids_micros(estimates),
        start_hour_of_week=start_hour_of_week,
        rules=rules,
    )
