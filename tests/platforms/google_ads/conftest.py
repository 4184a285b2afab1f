"""The sandbox with its Google front in this process, and connectors to fresh accounts of it over TLS gRPC."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.platforms.google_ads import GoogleAds
from gaelp.platforms.google_ads.connection import AdsConnection
from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import Fault, FaultInjector, FaultPlan
from gaelp.sandbox.google.server import start_google_front
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world

LAG = timedelta(hours=3)
ACCOUNTS = tuple(str(4_000_000_000 + number) for number in range(900))


@dataclass
class Sandbox:
    world: object
    certificate: object
    faults: FaultInjector
    port: int
    free: list = field(default_factory=lambda: list(ACCOUNTS))

    def settings(self, customer=None, **changes):
        values = {
            "customer_id": customer or self.free.pop(),
            "endpoint": f"localhost:{self.port}",
            "certificate": self.certificate.path,
            "calls_per_second": 1000,
            "deadline_seconds": 60,
        }
        return GoogleAdsSettings(**values | changes)

    def connect(self, customer=None, **changes):
        """A connector to an account that nobody has used, unless one is named."""
        return GoogleAds(AdsConnection(self.settings(customer, **changes), sleep=lambda _: None), report_lag=LAG)

    def advance(self, **duration):
        return self.world.advance(self.world.now() + timedelta(**duration))

    def fail(self, *effects, method="*.Mutate*", **more):
        self.faults.replace(
            FaultPlan(faults=[Fault(front="google", effect=each, method=method, **more) for each in effects])
        )


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("google")
    spec = load_sandbox_spec().model_copy(update={"customer_ids": ACCOUNTS, "time_zone": "UTC"})
    world = open_world(folder, spec)
    certificate = folder_certificate(folder, datetime.now(UTC))
    faults = FaultInjector()
    front = start_google_front(world, certificate, faults, 0)
    yield Sandbox(world, certificate, faults, front.port)
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
