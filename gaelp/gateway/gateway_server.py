"""Run a gateway: with the version that had traffic before, or the champion, until a signal ends it."""

from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from gaelp.api.serving import serve_app
from gaelp.clock import Clock
from gaelp.config.gateway_settings import GatewaySettings
from gaelp.config.settings import Settings
from gaelp.errors import Refused
from gaelp.gateway.admin import Admin, Loader, gateway_folder, load_from_registry, template_of
from gaelp.gateway.app import create_gateway
from gaelp.gateway.campaign_book import CampaignBook
from gaelp.gateway.decider import Decider
from gaelp.gateway.gateway_metrics import GatewayMetrics
from gaelp.gateway.prompt_http import PromptHttp
from gaelp.gateway.shadow_record import ShadowTraffic
from gaelp.gateway.traffic import Traffic
from gaelp.gateway.wire import Sizes
from gaelp.registry import open_registry

__all__ = ["gateway_config", "open_gateway", "serve_gateway"]

_GRACE_SECONDS = 4


def open_gateway(settings: Settings, load: Loader, champion: int) -> Admin:
    """A gateway whose campaigns have the segments of this version; it has the traffic of before a restart, else all."""
    brief = template_of(settings, load(champion, False))
    sizes = Sizes(brief.segments, brief.creatives, len(brief.persona_traits))
    folder = gateway_folder(settings)
    shadow = ShadowTraffic(folder, settings.gateway.shadow_rows)
    decider = Decider(CampaignBook(sizes, settings.gateway.max_campaigns), GatewayMetrics(), shadow)
    admin = Admin(settings, decider, load, folder / "traffic.json", shadow)
    admin.resume()
    if decider.serving.traffic is None:
        admin.add(champion)
        admin.move(Traffic(shares={champion: 100.0}, why="the champion, when the gateway started"))
    return admin


def serve_gateway(settings: Settings, clock: Clock, *, when_up: Callable[[str], None] = lambda _: None) -> None:
    """Serve until Ctrl-C or SIGTERM; Refused if there is no champion to begin with."""
    champion = open_registry(settings, clock).champion(settings.run.name)
    if champion is None:
        raise Refused(
            f"{settings.run.name} has no champion: promote a version (`gaelp models promote RUN`), export it (`gaelp"
            " models export`), and start again"
        )
    admin = open_gateway(settings, load_from_registry(settings, clock), champion.manifest.version)
    place = settings.gateway
    serve_app(
        gateway_config(create_gateway(admin), place),
        host=place.host,
        port=place.port,
        token=place.token,
        section="gateway",
        when_up=when_up,
    )


def gateway_config(app: FastAPI, settings: GatewaySettings) -> uvicorn.Config:
    """No lines per request; who calls is who connects, whatever a header claims."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="auto",
        http=PromptHttp,
        ws="none",
        backlog=1024,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
