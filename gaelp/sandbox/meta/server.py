"""The Meta front as a server: HTTPS on 127.0.0.1 with the sandbox's certificate."""

import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import uvicorn
from fastapi.concurrency import run_in_threadpool
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from gaelp.errors import BadInput, GaelpError
from gaelp.sandbox.certificate import Certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.front import TIME_HEADER, RunningFront
from gaelp.sandbox.meta.account_control import set_disabled
from gaelp.sandbox.meta.faulty_api import FaultyApi
from gaelp.sandbox.meta.graph_api import CALLS_PER_DAY, GraphApi
from gaelp.sandbox.meta.graph_error import GraphError
from gaelp.sandbox.meta.graph_request import GraphAnswer, GraphRequest, read_request
from gaelp.sandbox.world import SandboxWorld

__all__ = ["start_meta_front"]

_HOST = "127.0.0.1"
_MAX_BODY_BYTES = 5_000_000
_GRACE_SECONDS = 5
_BACKLOG = 100


def start_meta_front(
    world: SandboxWorld,
    certificate: Certificate,
    faults: FaultInjector,
    port: int,
    *,
    calls_per_day: int = CALLS_PER_DAY,
) -> RunningFront:
    """Answer the Marketing API on a world, on this port or, with 0, on a free one."""
    api = FaultyApi(GraphApi(world, calls_per_day).answer, faults)
    listener = _listening_socket(port)
    server = uvicorn.Server(_config(_application(api.answer), certificate))
    thread = Thread(target=server.run, args=([listener],), name="gaelp-sandbox-meta", daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        thread.join(0.005)
    if not server.started:
        listener.close()
        raise GaelpError("the Meta front did not start: the log above says why")

    def stop() -> None:
        server.should_exit = True
        thread.join()
        listener.close()

    return RunningFront(
        listener.getsockname()[1], stop, lambda account, is_so: set_disabled(world, account, disabled=is_so)
    )


def _application(answer: Callable[[GraphRequest], GraphAnswer | None]) -> Starlette:
    async def endpoint(request: Request) -> Response:
        try:
            graph_request = _read(request, await request.body())
        except GraphError as refused:
            return _response(GraphAnswer(refused.status, refused.body(request.url.path)))
        given = await run_in_threadpool(answer, graph_request)
        return _BrokenOff() if given is None else _response(given)

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST", "DELETE"])])


def _read(request: Request, body: bytes) -> GraphRequest:
    if len(body) > _MAX_BODY_BYTES:
        raise GraphError(f"the body has {len(body)} bytes; allowed are {_MAX_BODY_BYTES}", status=413)
    if request.headers.get("content-type", "").startswith("multipart/"):
        raise GraphError("file uploads are not supported by the sandbox; supported: image_url in a creative")
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise GraphError("the body is not UTF-8") from None
    return read_request(request.method, str(request.url), text, time_stamp=request.headers.get(TIME_HEADER))


def _response(answer: GraphAnswer) -> Response:
    return Response(answer.text(), answer.status, dict(answer.headers), media_type="application/json")


class _BrokenOff(Response):
    """No answer: the connection is closed after a head that promises more than what follows."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as in Starlette
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})


class _PromptEnd(H11Protocol):
    """A connection that does not wait at the end for a client that keeps it open without asking anything."""

    def shutdown(self) -> None:
        """Finish the answer under way, if any, and end."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
        else:
            super().shutdown()


def _config(application: Starlette, certificate: Certificate) -> uvicorn.Config:
    """Without a log of requests, whose addresses hold tokens, and without a date: that is the simulated one."""
    config = uvicorn.Config(
        application,
        loop="asyncio",
        http=_PromptEnd,
        ws="none",
        lifespan="off",
        backlog=_BACKLOG,
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    config.load()
    config.ssl = _tls(certificate)
    return config


def _tls(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:  # OpenSSL reads a key only from a file
        both = Path(folder) / "both.pem"
        both.touch(mode=0o600)
        both.write_bytes(certificate.key_pem + certificate.pem)
        context.load_cert_chain(both)
    return context


def _listening_socket(port: int) -> socket.socket:
    try:
        # With the protocol named, asyncio sends small answers at once instead of waiting for an acknowledgement.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen(_BACKLOG)
    except OSError as problem:
        listener.close()
        raise BadInput(
            f"{_HOST}:{port} cannot be listened on: {problem.strerror or problem}. Choose another port, or 0 for a free"
            " one."
        ) from problem
    return listener
