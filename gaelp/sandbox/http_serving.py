"""Serve HTTP on this machine, in a thread beside the rest of a sandbox's process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from gaelp.errors import BadInput, GaelpError

__all__ = ["listen_on", "serving_app"]

_GRACE_SECONDS = 5


def listen_on(port: int, purpose: str) -> socket.socket:
    """A socket that listens on 127.0.0.1; 0 takes a free port."""
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as problem:
        raise BadInput(
            f"port {port} of {purpose} cannot be listened on ({problem.strerror}): end the program that uses it, or"
            " leave the port out to have a free one chosen"
        ) from problem
    # Connections inherit it; without, each answer waits 40 ms for the caller's acknowledgement of its headers.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@contextmanager
def serving_app(app: FastAPI, listener: socket.socket) -> Iterator[None]:
    """Serve in a thread beside the block."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="sandbox-http", daemon=True)
    thread.start()
    while thread.is_alive() and not server.started:
        thread.join(0.01)
    if not server.started:
        raise GaelpError("the HTTP server did not start: the log above says why")
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
