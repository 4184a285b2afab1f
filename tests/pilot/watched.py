"""A platform whose campaigns are run by the market itself: what shadow days read where nothing is skewed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from gaelp.config.objective import Objective
from gaelp.history.fidelity import FittedAccount
from gaelp.history.twin_market import posterior_draws
from gaelp.market.baselines.tuned import load_tuned_file
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.from_reports.bids import BidRules
from gaelp.pilot.shadow_check import watched_campaigns
from gaelp.pilot.twin_shadow import play_bids
from gaelp.platforms.platform import CampaignHour
from gaelp.platforms.running_campaigns import RunningReport

LAG, DAYS = 3, 2
BEGINS = datetime(2026, 10, 6, tzinfo=UTC)  # a Tuesday
COUNTS = ("impressions", "clicks", "conversions", "cost_micros", "value_micros")


class MarketPlatform:
    """Reports of campaigns that bid as usual; `harm` changes each report."""

    def __init__(self, watched, personas, seed, harm=lambda report: report):
        self.plan, self.harm, self.now = watched.plan, harm, 0
        estimates = watched.estimates
        draws = posterior_draws(estimates, 1, np.random.default_rng([seed, 1]))
        bids = np.broadcast_to(watched.reference_bid_micros, (watched.plan.hours, *estimates.row.shape))
        self.days = play_bids(watched.account.spec, personas, estimates, draws, bids, start_hour_of_week=24, seed=seed)
        self.bids = {
            (name, target): int(watched.reference_bid_micros[row, place])
            for row, name in enumerate(self.plan.campaigns)
            for place, target in enumerate(self.plan.targets[row])
        }

    def wait_until(self, instant):
        self.now = max(self.now, (instant - BEGINS) // timedelta(hours=1))
        return True

    def read_running(self, campaigns, since):
        figures = self.days.figures(self.now, LAG)
        hours = [
            CampaignHour(
                campaign=self.plan.campaigns[row],
                start=since + timedelta(hours=int(hour)),
                target=self.plan.targets[row][place],
                **{name: int(getattr(figures, name)[hour, row, place]) for name in COUNTS},
            )
            for hour, row, place in np.argwhere(figures.impressions > 0).tolist()
        ]
        read_at = BEGINS + timedelta(hours=self.now)
        report = RunningReport(read_at, read_at - timedelta(hours=LAG), tuple(hours), self.bids)
        return self.harm(report)


def shop(estimates):
    """Campaigns of the market `shop` that are watched, the personas there, and a rule that decides."""
    personas, spec = load_persona_table("personas"), load_market_spec("shop")
    market = build_market(spec, personas, Objective(kind="profit"))
    week = 1 + 0.7 * np.sin(2 * np.pi * (np.arange(168) % 24 - 9) / 24)  # busy in the afternoon, quiet at night
    week = np.tile(week / week.mean(), (len(estimates.campaign_names), 1))
    rng = np.random.default_rng(5)
    unlike = np.exp(0.6 * rng.standard_normal(estimates.row.shape))
    own = replace(estimates, week=week, per_hour=12.0 * unlike, click_rate=np.clip(0.06 / unlike, 0.02, 0.2))
    account = FittedAccount(spec=spec, estimates=own, curves=None, conversions=100.0, bid_variation=0.4)
    watched = watched_campaigns(
        own.campaign_names, market, account, BidRules(), begins=BEGINS, days=DAYS, time_zone="UTC"
    )
    return watched, personas, load_tuned_file("shop-profit").build("mpc")
