"""A gateway around three exports: two learned versions and a rule, with a registry that allows what a test says."""

import asyncio
from types import SimpleNamespace

import httpx
import pytest

from gaelp.config import load_settings
from gaelp.errors import Refused
from gaelp.gateway.app import create_gateway
from gaelp.gateway.gateway_server import open_gateway
from gaelp.gateway.wire import rows_of, to_json
from gaelp.market.campaign_rows import take
from gaelp.market.market import seeds_from


class Client:
    """Calls an application in one event loop, which runs on between two calls' ends."""

    def __init__(self, app):
        self._loop = asyncio.new_event_loop()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def __call__(self, method, path, **options):
        return self._loop.run_until_complete(self._client.request(method, path, **options))

    def __getattr__(self, method):
        return lambda path, **options: self(method.upper(), path, **options)

    def close(self):
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


@pytest.fixture(scope="session")
def versions(exported_agents):
    """Exports by version number: 1 and 2 are learned, 3 is the rule alone."""
    export = exported_agents.export
    return {1: export(1, "ppo"), 2: export(2, "ppo", seed=8), 3: export(3)}


@pytest.fixture(scope="session")
def flight(exported_agents):
    """Six campaigns of a market: their brief, and what each hour of ten showed under the rule."""
    market, tuned = exported_agents.calm()
    rule = tuned.build("mpc")
    obs = market.reset(seeds_from(11, 6))
    rule.begin(market.brief)
    hours = []
    for _ in range(10):
        hours.append(take(obs, range(6)))
        obs, _ = market.step(rule.act(obs))
    return SimpleNamespace(brief=take(market.brief, range(6)), hours=hours)


@pytest.fixture
def make_gateway(tmp_path, versions):
    """Build a gateway; `allowed` may bid, all exports may watch."""
    clients = []

    def make(*overrides, allowed=(1, 2, 3), champion=1, environ=None):
        chosen = [f"home={tmp_path / 'home'}", *overrides]
        settings = load_settings(None, overrides=chosen, environ=environ or {}).settings
        (tmp_path / "home").mkdir(mode=0o700, exist_ok=True)

        def load(version, bids):
            if version not in versions:
                raise Refused(f"there is no export of version {version}")
            if bids and version not in made.allowed:
                raise Refused(f"version {version} has no alias")
            return versions[version]

        made = SimpleNamespace(allowed=set(allowed), settings=settings)
        made.admin = open_gateway(settings, load, champion)
        made.app = create_gateway(made.admin)
        made.client = Client(made.app)
        clients.append(made.client)
        return made

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def gateway(make_gateway):
    return make_gateway()


@pytest.fixture(scope="session")
def names():
    return [f"campaign-{number}" for number in range(6)]


@pytest.fixture(scope="session")
def asking(flight, names):
    """Requests as JSON: the brief, and the observations of an hour of some campaigns."""

    def observation(hour, rows=range(6)):
        rows = list(rows)
        return to_json(rows_of(take(flight.hours[hour], rows), [names[row] for row in rows]))

    return SimpleNamespace(brief=to_json(rows_of(flight.brief, names)), observation=observation)
