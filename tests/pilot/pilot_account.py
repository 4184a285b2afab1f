"""A pilot's account on the sandbox, in a process of its own: books, limits, a signed mandate and a plan."""

import json
from contextlib import closing
from datetime import timedelta

from gaelp.approvals import ApprovalStore, approvals_place, load_policy, trusted_approvers, unsigned
from gaelp.authority.mandates import find_mandate, propose_mandate, sign_mandate
from gaelp.authority.signatures import Signer
from gaelp.bootstrap import kill_switch
from gaelp.budget.ledger import AdAccount, Cap, CapKind, set_limit
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import SystemClock
from gaelp.config import load_settings
from gaelp.content import Creative
from gaelp.content.creative import Audience
from gaelp.guard_bootstrap import create_books
from gaelp.money import Money
from gaelp.pilot.pilot_plan import PilotCampaign, PilotPlan, pilot_mandate
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.platform_clock import ledger_clock
from gaelp.sandbox.sandbox_process import StartOptions
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.topics import TOPICS, keywords_for

TERMS = load_platform_terms().of("google-ads")
ACCOUNT, ZONE, MODEL = "1000000001", "UTC", "ab" * 32
ADVERT = Creative(
    id="advert",
    advertiser="demo-shop",
    headline="Fresh Bread Daily",
    description="Baked every morning. Delivered before eight.",
    call_to_action="Order today",
    display_url="www.shop.example",
    landing_url="https://www.shop.example/offers",
    landing_text="Fresh bread daily, baked every morning and delivered before eight. Order today.",
    language="en",
    audience=Audience(min_age=18),
)
TARGETS = tuple(keywords_for(topic, 1)[0] for topic in range(TOPICS))


def sandbox_options(seed=1, **changes):
    """The world as shipped, in UTC, with a Google front alone."""
    spec = load_sandbox_spec().model_copy(update={"time_zone": ZONE, "seed": seed, **changes})
    return StartOptions(spec=spec, fronts=("google",))


def settings_of(home, handle, **more):
    """Settings of a home whose platform is this sandbox."""
    google = {
        "customer_id": ACCOUNT,
        "endpoint": f"localhost:{handle.ports['google']}",
        "certificate": str(handle.certificate_path),
        "calls_per_second": 1000,
        "deadline_seconds": 60,
    }
    values = {
        "home": str(home),
        "platform": {"name": "google-ads", "account": ACCOUNT, "google_ads": google},
        "budget": {"conversion_value_micros": 20_000_000, "loss_cap_micros": 10_000_000_000},
        **more,
    }
    home.mkdir(parents=True, exist_ok=True)
    path = home / "pilot.yaml"
    path.write_text(json.dumps(values))
    return load_settings(path, environ={}).settings


def plan_of(first_day, *, campaigns=3, days=7, settle_days=1, daily_micros=25_000_000, name="pilot-1"):
    """A plan of campaigns for different products, with equal bids."""
    made = tuple(
        PilotCampaign(
            name=f"shop-{number:03d}",
            logged_as=f"logged-{number:03d}",
            daily_micros=daily_micros,
            conversion_value_micros=20_000_000,
            targets=TARGETS,
            reference_bids_micros=(1_200_000,) * len(TARGETS),
            creative=ADVERT.model_copy(
                update={
                    "id": f"advert-{number:03d}",
                    "landing_url": f"https://www.shop.example/offers-{number:03d}",
                }
            ),
        )
        for number in range(campaigns)
    )
    return PilotPlan(
        name=name,
        account=ACCOUNT,
        currency="USD",
        time_zone=ZONE,
        model_hash=MODEL,
        campaigns=made,
        first_day=first_day,
        days=days,
        settle_days=settle_days,
        reach=1.5,
        bid_ceiling_micros=3_000_000,
        loss_cap_micros=10_000_000_000,
    )


def open_account(settings, plan):
    """Create books and limits, and sign the plan's mandate; returns its id."""
    platform, wall = connect_platform(settings), SystemClock()
    account = AdAccount(ACCOUNT, plan.currency, ZONE)
    with closing(create_books(settings, account, ledger_clock(platform, wall))) as ledger:
        worst = plan.day_worst_micros(TERMS)
        total = worst * (plan.days + 1)
        limits = {Cap(CapKind.ACCOUNT_DAY, ACCOUNT): worst, Cap(CapKind.ACCOUNT, ACCOUNT): total}
        for campaign in plan.campaigns:
            limits[Cap(CapKind.CAMPAIGN_DAY, campaign.name)] = 2 * campaign.daily_micros
            limits[Cap(CapKind.CAMPAIGN, campaign.name)] = 2 * campaign.daily_micros * plan.days
        for cap, micros in limits.items():
            set_limit(ledger, cap, Money(micros, plan.currency), account_id=ACCOUNT)
        set_limit(ledger, Cap(CapKind.TOTAL, "all"), Money(total, plan.currency))
        store = ApprovalStore(approvals_place(settings), wall)
        trust = trusted_approvers(settings)
        mandate_id, _ = propose_mandate(settings, ledger, store, pilot_mandate(plan, TERMS), "sandbox", trust)
        action, _ = find_mandate(store, mandate_id)
        terms = {"decision": "approve", "reason": "as planned", "at": wall.now(), "valid_for": timedelta(hours=1)}
        store.submit(unsigned(action, "cyd", **terms), load_policy("sandbox"), trust)
        signer = Signer(trust, None, "as planned")
        sign_mandate(settings, ledger, store, mandate_id, signer, stop=kill_switch(settings).state())
    return mandate_id


def next_midnight(handle):
    """The next midnight of the account, in UTC."""
    return (handle.now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
