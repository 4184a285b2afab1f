"""Estimates of logged campaigns without a log, and a plan made of them."""

from datetime import date

import numpy as np

from gaelp.config import load_settings
from gaelp.market.build import load_market_spec
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.pilot.local_account import synthesized
from gaelp.pilot.local_campaigns import local_campaigns
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.sandbox.history_specs import history_specs
from gaelp.sandbox.incumbent import incumbent_products
from gaelp.sandbox.topics import TOPICS, keywords_for

MODEL = "ab" * 32
ACCOUNT = "local-run-1"


def settings_of(home, *overrides):
    """Settings of a pilot on the local ad platform with two campaigns of three."""
    given = [
        f"home={home}",
        "pilot.local=true",
        "pilot.campaigns=2",
        "pilot.days=7",
        "pilot.daily_micros=25000000",
        "history.synthesize.weeks=4",
        "history.synthesize.campaigns=3",
        *overrides,
    ]
    return load_settings("quick-test", overrides=given, environ={}).settings


def estimates_of(names, segments=None, *, click_errors=None):
    """Estimates with the same figures for every campaign; `click_errors` has one error a campaign."""
    segments = segments or tuple(keywords_for(topic, 1)[0] for topic in range(TOPICS))
    count, width = len(names), len(segments)
    pair = (count, width)
    errors = np.ones(count) if click_errors is None else np.array(click_errors, float)
    return SegmentEstimates(
        source="a log",
        campaign_names=tuple(names),
        segment_names=(tuple(segments),) * count,
        row=np.arange(count * width).reshape(pair),
        per_hour=np.full(pair, 4.0),
        per_hour_error=np.full(pair, 0.1),
        level_log=np.full(pair, np.log(50_000.0)),
        level_error=np.full(pair, 0.1),
        bid_scale=np.full(pair, 0.05),
        bid_scale_error=np.full(pair, 0.1),
        volume_scale_correlation=np.zeros(pair),
        landscape=np.zeros(pair, np.int64),
        landscapes=load_market_spec("shop").landscapes,
        click_rate=np.full(pair, 0.05),
        click_error=np.tile(errors[:, None], (1, width)),
        conversion_rate=np.full(pair, 0.06),
        conversion_error=np.full(pair, 0.2),
        conversion_value_micros=np.full(count, 23_456_789.4),
        value_error=np.full(count, 0.1),
        usual_bid_micros=np.tile(1_000_000.0 + 12_345.0 * np.arange(width), (count, 1)),
        daily_budget_micros=np.full(count, 40_000_000.0),
        delivery=1.0,
        overdelivery=1.5,
        week=np.ones((count, 168)),
    )


def history_names(settings):
    """The campaigns of the history that the settings describe."""
    return tuple(incumbent_products(*history_specs(synthesized(settings), settings.run.seed)))


def plan_of(settings, *, first_day=date(2026, 10, 6), days=7, account=ACCOUNT):
    """A plan for the campaigns of the settings."""
    campaigns = local_campaigns(
        "run-1", settings.pilot, synthesized(settings), settings.run.seed, estimates_of(history_names(settings))
    )
    return PilotPlan(
        name="run-1",
        account=account,
        currency="USD",
        time_zone="America/New_York",
        model_hash=MODEL,
        campaigns=campaigns,
        first_day=first_day,
        days=days,
        settle_days=1,
        reach=1.5,
        bid_ceiling_micros=5_000_000,
        loss_cap_micros=50_000_000,
    )
