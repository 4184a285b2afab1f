"""Campaigns with drawn reports, and a controller that is driven along them."""

from dataclasses import replace

import numpy as np

from gaelp.history.logged_bidders import KnownSegments
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.campaign_rows import take
from gaelp.market.from_reports import BidRules, brief_from_estimates
from gaelp.pilot.controller import CampaignHours, Controller
from gaelp.pilot.known_hours import HourFigures
from gaelp.types import SegmentBelief
from tests.market.from_reports.market_reports import build_policy

SEGMENTS, LAG = 4, 3
COUNTS = ("impressions", "clicks", "conversions", "cost_micros", "value_micros")


def small_market():
    """The market of the policies; its flights are three days long."""
    return build_market(load_market_spec("cal"), load_persona_table("personas"))


def known_campaigns(market, campaigns, flight_hours=48):
    """What is known of campaigns that differ in volume, price, budget and value."""
    rng = np.random.default_rng(7)
    shape = (campaigns, SEGMENTS)
    brief = brief_from_estimates(
        market,
        volume_per_hour=rng.uniform(40, 160, shape),
        price_level_log=np.log(rng.uniform(10_000, 40_000, shape)),
        conversion_value_micros=rng.integers(20_000_000, 40_000_000, campaigns),
        daily_budget_micros=rng.integers(20_000_000, 200_000_000, campaigns),
        start_hour_of_week=np.full(campaigns, 24),
        report_lag_hours=LAG,
    )
    brief = replace(brief, hours=np.full(campaigns, flight_hours), budget_micros=brief.daily_cap_micros * 2)
    belief = SegmentBelief(rng.normal(np.log(60_000), 0.5, shape), rng.uniform(0.1, 1, shape))
    return KnownSegments(brief, belief, rng.uniform(0.02, 0.06, shape), rng.uniform(0.8, 1.2, shape))


def some_of(known, rows):
    """The same knowledge of some campaigns."""
    belief = SegmentBelief(known.belief.value_log[rows], known.belief.value_log_sd[rows])
    return KnownSegments(take(known.brief, rows), belief, known.click_rate[rows], known.paid_factor[rows])


class DrawnReports:
    """Figures of hours that are reported late, and revised at random afterwards."""

    def __init__(self, seed, hours, campaigns, runs=None):
        rng = np.random.default_rng(seed)
        shape = (hours, campaigns, SEGMENTS)
        self.bid_micros = (rng.lognormal(0, 0.4, shape) * 600_000).astype(np.int64)
        self.impressions = rng.poisson(30, shape)
        self.clicks = rng.binomial(self.impressions, 0.04)
        self.cost_micros = self.clicks * 400_000
        self.conversions = rng.binomial(self.clicks, 0.1).astype(float)
        self.value_micros = (self.conversions * 30_000_000).astype(np.int64)
        self.delay_hours = rng.integers(1, 60, shape)  # after the first report: of conversions, one click taken back
        self.back = (rng.random(shape) < 0.1) & (self.clicks > 0)
        runs = runs or CampaignHours.same(campaigns, hours)
        outside = ~np.stack([runs.running(hour) for hour in range(hours)])
        for name in (*COUNTS, "back"):
            getattr(self, name)[outside] = 0

    def known(self, now, first=0):
        """Figures of the hours from `first` on that are reported at the start of hour `now`."""
        until = max(now - LAG, 0)
        first = min(first, until)
        hours = np.arange(first, until)[:, None, None]
        late = hours + 1 + LAG + self.delay_hours[first:until] <= now
        back = late & self.back[first:until]
        figures = {name: getattr(self, name)[first:until] for name in COUNTS}
        figures["conversions"] = figures["conversions"] * late
        figures["value_micros"] = figures["value_micros"] * late
        figures["clicks"] = figures["clicks"] - back
        figures["cost_micros"] = figures["cost_micros"] - back * 400_000
        return HourFigures(first, **figures)

    def only(self, rows):
        """The reports of some campaigns."""
        other = object.__new__(DrawnReports)
        names = ("bid_micros", *COUNTS, "delay_hours", "back")
        for name in names:
            setattr(other, name, getattr(self, name)[:, rows])
        return other


def controller_of(market, known, runs, *, policy="learned", **options):
    reference = np.full(known.brief.persona.shape, 600_000)
    rules = BidRules(reference_factor=1.5)
    return Controller(build_policy(policy), known, reference, market, rules, runs=runs, **options)


def one_hour(controller, reports):
    """Report, decide and pass the coming hour; returns the decision."""
    hour = controller.hour
    controller.report(reports.known(hour))
    decision = controller.decide()
    controller.pass_hour(reports.bid_micros[hour])
    return decision


def bids_of(decision, campaigns):
    """Bids of all campaigns, 0 where one does not run."""
    bids = np.zeros((campaigns, SEGMENTS), np.int64)
    bids[decision.rows] = decision.bids.bid_micros
    return bids
