"""A front of the sandbox in this process, and connectors to accounts of it that no other test has used."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gaelp.sandbox.certificate import folder_certificate
from gaelp.sandbox.faults import Fault, FaultInjector, FaultPlan
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.sandbox.world import open_world

LAG = timedelta(hours=3)


@dataclass(frozen=True)
class FrontKind:
    """What differs between the fronts."""

    name: str
    start: Callable
    settings: Callable  # from an account and what all connectors have
    connector: Callable  # from settings and how long reports take
    changes: str  # the methods that change something


@dataclass
class ServedFront:
    kind: FrontKind
    world: object
    certificate: object
    faults: FaultInjector
    port: int
    free: list

    def settings(self, account=None, **changes):
        values = {
            "endpoint": f"localhost:{self.port}",
            "certificate": self.certificate.path,
            "calls_per_second": 1000,
            "deadline_seconds": 60,
        }
        return self.kind.settings(account or self.free.pop(), **values | changes)

    def connect(self, account=None, **changes):
        """A connector to an account that nobody has used, unless one is named."""
        return self.kind.connector(self.settings(account, **changes), LAG)

    def advance(self, **duration):
        return self.world.advance(self.world.now() + timedelta(**duration))

    def fail(self, *effects, method=None, **more):
        faults = [
            Fault(front=self.kind.name, effect=each, method=method or self.kind.changes, **more) for each in effects
        ]
        self.faults.replace(FaultPlan(faults=faults))


@contextmanager
def serving(kind, folder, **accounts):
    """A front while inside; `accounts` is the field of the sandbox's spec that lists them."""
    ((_field, free),) = accounts.items()
    world = open_world(folder, load_sandbox_spec().model_copy(update={"time_zone": "UTC", **accounts}))
    certificate = folder_certificate(folder, datetime.now(UTC))
    faults = FaultInjector()
    front = kind.start(world, certificate, faults, 0)
    yield ServedFront(kind, world, certificate, faults, front.port, list(free))
    front.stop()
    world.close()
