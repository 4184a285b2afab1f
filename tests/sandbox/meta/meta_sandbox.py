"""A world with its Meta front on a free port, and the official client; loaded by path, as tests are no package."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from facebook_business.adobjects.adaccount import AdAccount
from facebook_business.adobjects.adset import AdSet
from facebook_business.api import FacebookAdsApi
from facebook_business.session import FacebookSession

from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector, FaultPlan
from gaelp.sandbox.meta.server import start_meta_front
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world

PAGE = "https://shop.example/bread"
STORY = {"page_id": "1", "link_data": {"link": PAGE, "message": "Fresh every morning"}}
CAMPAIGN = {
    "name": "spring",
    "objective": "OUTCOME_TRAFFIC",
    "status": "ACTIVE",
    "special_ad_categories": [],
    "daily_budget": 3000,
    "bid_strategy": "LOWEST_COST_WITH_BID_CAP",
}
AD_SET = {
    "name": "bakers",
    "billing_event": "IMPRESSIONS",
    "optimization_goal": "LINK_CLICKS",
    "bid_amount": 150,
    "targeting": {"geo_locations": {"countries": ["US"]}},
    "status": "ACTIVE",
}


@contextmanager
def running_sandbox(folder, **options):
    """World and front; `fresh` empties the world and returns its ad account, `disable` disables that or enables it."""
    world = open_world(folder, load_sandbox_spec())
    certificate, faults = folder_certificate(folder, datetime.now(UTC)), FaultInjector()
    front = start_meta_front(world, certificate, faults, 0, **options)

    def fresh(**changes):
        world.reset(world.spec.model_copy(update=changes) if changes else load_sandbox_spec())
        faults.replace(FaultPlan())
        return AdAccount(f"act_{world.spec.meta_account_ids[0]}", api=client(front.port, certificate.path))

    def disable(disabled):
        front.suspend(world.spec.meta_account_ids[0], disabled)

    yield SimpleNamespace(
        disable=disable, world=world, front=front, certificate=certificate, faults=faults, fresh=fresh
    )
    front.stop()
    world.close()


def client(port, certificate, token=None):
    """The official client; nothing but the address and the certificate differs from a real account's."""
    session_type = type("LocalSession", (FacebookSession,), {"GRAPH": f"https://127.0.0.1:{port}"})
    session = session_type(
        "1", "secret", "a-token-for-tests" if token is None else token, timeout=120
    )  # the exchange is compiled during the first call
    session.requests.verify = str(certificate)
    session.requests.trust_env = False  # otherwise REQUESTS_CA_BUNDLE would replace the certificate
    return FacebookAdsApi(session)


def add_ad_set(account, campaign, **changes):
    made = account.create_ad_set(params={**AD_SET, "campaign_id": campaign["id"], **changes})
    return AdSet(made["id"], api=account.get_api())  # the client itself returns an object without methods


def add_ad(account, ad_set, **changes):
    creative = account.create_ad_creative(params={"name": "loaf", "object_story_spec": STORY})
    params = {"name": "ad", "adset_id": ad_set["id"], "creative": {"creative_id": creative["id"]}, "status": "ACTIVE"}
    return account.create_ad(params={**params, **changes})


def running_campaign(account, **changes):
    """A campaign with one ad set and one ad, all active."""
    campaign = account.create_campaign(params={**CAMPAIGN, **changes})
    ad_set = add_ad_set(account, campaign)
    return SimpleNamespace(campaign=campaign, ad_set=ad_set, ad=add_ad(account, ad_set))


def pass_days(sandbox, days):
    sandbox.world.advance(sandbox.world.now() + timedelta(days=days))
