"""The sandbox with its Meta front in this process, and connectors to fresh accounts of it over HTTPS."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gaelp.config.meta_ads_settings import MetaAdsSettings
from gaelp.platforms.meta_ads import MetaAds
from gaelp.platforms.meta_ads.connection import GraphConnection
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import Fault, FaultInjector, FaultPlan
from gaelp.sandbox.meta.server import start_meta_front
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world

LAG = timedelta(hours=3)
ACCOUNTS = tuple(str(5_000_000_000 + number) for number in range(100))


@dataclass
class MetaServer:
    world: object
    certificate: object
    faults: FaultInjector
    port: int
    free: list = field(default_factory=lambda: list(ACCOUNTS))

    def settings(self, account=None, **changes):
        values = {
            "account_id": account or self.free.pop(),
            "page_id": "1",
            "endpoint": f"localhost:{self.port}",
            "certificate": self.certificate.path,
            "calls_per_second": 1000,
            "deadline_seconds": 60,
        }
        return MetaAdsSettings(**values | changes)

    def connect(self, account=None, **changes):
        """A connector to an account that nobody has used, unless one is named."""
        return MetaAds(GraphConnection(self.settings(account, **changes), sleep=lambda _: None), report_lag=LAG)

    def advance(self, **duration):
        return self.world.advance(self.world.now() + timedelta(**duration))

    def fail(self, *effects, method="POST *", **more):
        faults = [Fault(front="meta", effect=each, method=method, **more) for each in effects]
        self.faults.replace(FaultPlan(faults=faults))


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("meta")
    spec = load_sandbox_spec().model_copy(update={"meta_account_ids": ACCOUNTS, "time_zone": "UTC"})
    world = open_world(folder, spec)
    certificate = folder_certificate(folder, datetime.now(UTC))
    faults = FaultInjector()
    front = start_meta_front(world, certificate, faults, 0)
    yield MetaServer(world, certificate, faults, front.port)
    front.stop()
    world.close()


@pytest.fixture
def sandbox(served):
    served.faults.replace(FaultPlan())
    yield served
    served.faults.replace(FaultPlan())


@pytest.fixture
def platform(sandbox):
    return sandbox.connect()
