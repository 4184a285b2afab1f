"""The process of a home's Prefect server: Prefect's application behind a check of who is asking.

Prefect accepts any Host and any Origin. A web page can have its own name resolve to this machine (DNS rebinding), and
can send requests to it from a browser; both are refused here, before Prefect sees them.
"""

import argparse
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from prefect.server.api.server import create_app
from prefect.settings import get_current_settings
from prefect.utilities.schema_tools import validation
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flows.connection import ERROR_MESSAGE, PROOF_PATH
from flows.home_secret import proof
from gaelp.config.loopback import is_loopback_host
from gaelp.errors import GaelpError

__all__ = ["Guarded", "explain_patterns"]

_PARENT_EVERY_S = 1.0
_CHALLENGE_MAX = 64


class Guarded:
    """An application that answers to this machine's own names and to pages that it served itself."""

    def __init__(self, app: ASGIApp, password: str, port: int) -> None:
        self._app = app
        self._password = password
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be asked."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif refusal := _refusal(Headers(scope=scope)):
            await _refuse(refusal, scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == PROOF_PATH:
            await self._prove(scope, receive, send)
        else:
            await self._app(scope, receive, _unframed(send))

    async def _prove(self, scope: Scope, receive: Receive, send: Send) -> None:
        [challenge] = parse_qs(scope["query_string"].decode("latin-1")).get("challenge", [""])[:1]
        response = PlainTextResponse(proof(self._password, challenge[:_CHALLENGE_MAX], self._port))
        await response(scope, receive, send)


def _refusal(headers: Headers) -> PlainTextResponse | None:
    """Why a request is refused, if it is: for another host, or from a page of another origin."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not is_loopback_host(hosts[0]):
        return PlainTextResponse("this server answers to 127.0.0.1, localhost and [::1] only", status_code=421)
    origins = headers.getlist("origin")
    if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
        return PlainTextResponse("pages of another origin may not use this server", status_code=403)
    return None


async def _refuse(response: PlainTextResponse, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})  # before it is accepted: the handshake fails with 403
    else:
        await response(scope, receive, send)


def _unframed(send: Send) -> Send:
    """No page may show the UI inside itself and have its buttons clicked."""

    async def framed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["x-frame-options"] = "DENY"
        await send(message)

    return framed


def explain_patterns() -> None:
    """Let a form say in words what is wrong: Prefect would show the regular expression, and the code with it."""
    checks: Any = validation._VALIDATOR.VALIDATORS
    check_pattern = checks["pattern"]

    def check(validator: Any, pattern: str, answer: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        for error in check_pattern(validator, pattern, answer, schema):
            error.message = schema.get(ERROR_MESSAGE, error.message)
            yield error

    checks["pattern"] = check


def _end_with(parent: int) -> None:
    """Stop this server when the process that started it is gone."""
    while os.getppid() == parent:
        time.sleep(_PARENT_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--parent", type=int, help="end with this process")
    given = parser.parse_args()
    settings = get_current_settings().server
    if settings.api.auth_string is None or not settings.api.csrf_protection_enabled:
        raise GaelpError("the server's settings have no password or no CSRF protection: start it with `gaelp up`")
    explain_patterns()
    if given.parent is not None:
        threading.Thread(target=_end_with, args=(given.parent,), daemon=True).start()
    uvicorn.run(
        Guarded(create_app(final=True), settings.api.auth_string.get_secret_value(), given.port),
        host=given.host,
        port=given.port,
        timeout_keep_alive=settings.api.keepalive_timeout,
        ws_ping_interval=settings.api.websocket_ping_interval,
        ws_ping_timeout=settings.api.websocket_ping_timeout,
        log_level=settings.logging_level.lower(),
        proxy_headers=False,
    )


if __name__ == "__main__":
    _main()
