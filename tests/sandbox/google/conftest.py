"""A sandbox with the Google front, and the official client: only endpoint and certificate differ from production."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from google.ads.googleads.client import GoogleAdsClient
from google.oauth2.credentials import Credentials

from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.google.server import start_google_front
from gaelp.sandbox.spec import SandboxSpec, load_sandbox_spec
from gaelp.sandbox.topics import keywords_for
from gaelp.sandbox.world import SandboxWorld, open_world

ACCOUNTS = tuple(str(3_000_000_000 + number) for number in range(60))


@dataclass
class Sandbox:
    world: SandboxWorld
    spec: SandboxSpec
    faults: FaultInjector
    port: int
    free: list[str] = field(default_factory=lambda: list(ACCOUNTS))

    def client(self, **settings: Any) -> GoogleAdsClient:
        values = {
            "credentials": Credentials("sandbox-token"),
            "developer_token": "any",
            "use_proto_plus": True,
            **settings,
        }
        return GoogleAdsClient(endpoint=f"localhost:{self.port}", version="v26", **values)

    def advance(self, **time: float) -> datetime:
        return self.world.advance(self.world.now() + timedelta(**time))

    def today(self):
        return self.world.now().astimezone(self.spec.zone).date()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("sandbox")
    spec = load_sandbox_spec().model_copy(update={"customer_ids": ACCOUNTS})
    world = open_world(folder, spec)
    certificate = folder_certificate(folder, datetime.now(UTC))
    faults = FaultInjector()
    front = start_google_front(world, certificate, faults, 0)
    # gRPC reads GRPC_DEFAULT_SSL_ROOTS_FILE_PATH once a process, so tests in one process give the certificate here.
    with pytest.MonkeyPatch.context() as patch:
        roots = grpc.ssl_channel_credentials(root_certificates=certificate.pem)
        trusting = functools.partial(grpc.composite_channel_credentials, roots)
        patch.setattr(grpc, "compute_engine_channel_credentials", trusting)
        yield Sandbox(world, spec, faults, front.port)
    front.stop()
    world.close()


@pytest.fixture(scope="module")
def client(sandbox) -> GoogleAdsClient:
    """The client; a service that was used before keeps its connection."""
    client = sandbox.client()
    client.get_service = functools.cache(client.get_service)
    return client


@pytest.fixture
def account(sandbox) -> str:
    """A customer of this test alone."""
    return sandbox.free.pop()


@dataclass(frozen=True)
class Script:
    """What a user of the official client writes again and again, in Google's own way."""

    client: GoogleAdsClient
    account: str

    def rows(self, query: str) -> list[Any]:
        service = self.client.get_service("GoogleAdsService")
        return [row for batch in service.search_stream(customer_id=self.account, query=query) for row in batch.results]

    def add_budget(self, name: str = "Budget", micros: int = 50_000_000, *, shared: bool = False) -> str:
        operation = self.client.get_type("CampaignBudgetOperation")
        operation.create.name = name
        operation.create.amount_micros = micros
        operation.create.explicitly_shared = shared
        operation.create.delivery_method = self.client.enums.BudgetDeliveryMethodEnum.STANDARD
        service = self.client.get_service("CampaignBudgetService")
        return (
            service.mutate_campaign_budgets(customer_id=self.account, operations=[operation]).results[0].resource_name
        )

    def campaign_operation(
        self, budget: str, name: str = "Campaign", bidding: Callable[[Any], None] | None = None
    ) -> Any:
        operation = self.client.get_type("CampaignOperation")
        campaign = operation.create
        campaign.name = name
        campaign.campaign_budget = budget
        campaign.status = self.client.enums.CampaignStatusEnum.ENABLED
        campaign.advertising_channel_type = self.client.enums.AdvertisingChannelTypeEnum.SEARCH
        campaign.contains_eu_political_advertising = (
            self.client.enums.EuPoliticalAdvertisingStatusEnum.DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING
        )
        if bidding is None:
            campaign.manual_cpc = self.client.get_type("ManualCpc")
        else:
            bidding(campaign)
        return operation

    def add_campaign(self, budget: str, name: str = "Campaign", bidding: Callable[[Any], None] | None = None) -> str:
        service = self.client.get_service("CampaignService")
        operation = self.campaign_operation(budget, name, bidding)
        return service.mutate_campaigns(customer_id=self.account, operations=[operation]).results[0].resource_name

    def add_ad_group(self, campaign: str, name: str = "Group", bid_micros: int = 2_000_000) -> str:
        operation = self.client.get_type("AdGroupOperation")
        operation.create.name = name
        operation.create.campaign = campaign
        operation.create.status = self.client.enums.AdGroupStatusEnum.ENABLED
        operation.create.cpc_bid_micros = bid_micros
        service = self.client.get_service("AdGroupService")
        return service.mutate_ad_groups(customer_id=self.account, operations=[operation]).results[0].resource_name

    def add_ad(self, group: str, url: str = "") -> str:
        operation = self.client.get_type("AdGroupAdOperation")
        operation.create.ad_group = group
        operation.create.status = self.client.enums.AdGroupAdStatusEnum.ENABLED
        operation.create.ad.final_urls.append(
            url or f"https://www.example.com/{self.account}/?from=ad"
        )  # a product of its own
        for field_name, texts in {
            "headlines": ["Running shoes", "Free delivery", "Order today"],
            "descriptions": ["Shoes for every road.", "Return them within 60 days."],
        }.items():
            for text in texts:
                asset = self.client.get_type("AdTextAsset")
                asset.text = text
                getattr(operation.create.ad.responsive_search_ad, field_name).append(asset)
        service = self.client.get_service("AdGroupAdService")
        return service.mutate_ad_group_ads(customer_id=self.account, operations=[operation]).results[0].resource_name

    def add_keywords(self, group: str, *texts: str) -> list[str]:
        operations = []
        for text in texts or [text for topic in range(8) for text in keywords_for(topic, 1)]:
            operation = self.client.get_type("AdGroupCriterionOperation")
            operation.create.ad_group = group
            operation.create.keyword.text = text
            operation.create.keyword.match_type = self.client.enums.KeywordMatchTypeEnum.PHRASE
            operations.append(operation)
        service = self.client.get_service("AdGroupCriterionService")
        answer = service.mutate_ad_group_criteria(customer_id=self.account, operations=operations)
        return [result.resource_name for result in answer.results]

    def add_serving_campaign(
        self, name: str = "Campaign", bidding: Callable[[Any], None] | None = None
    ) -> tuple[str, str]:
        """A campaign and its ad group that serve once the advert is reviewed."""
        campaign = self.add_campaign(self.add_budget(f"Budget of {name}"), name, bidding)
        group = self.add_ad_group(campaign)
        self.add_ad(group)
        self.add_keywords(group)
        return campaign, group


@pytest.fixture
def script(client, account) -> Script:
    return Script(client, account)
