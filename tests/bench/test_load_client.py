"""The client that measures a gateway counts every answer, and everything that is none."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from gaelp.bench.load_client import request_bytes, run_closed, run_open

REQUEST = request_bytes("POST", "/decisions", b"{}", content_type="application/json")


@contextmanager
def service(answer):
    """A server that calls `answer` for each request; None closes the connection."""
    ready, port = threading.Event(), []

    async def handle(reader, writer):
        try:
            while await reader.readuntil(b"{}"):
                content = answer()
                if content is None:
                    break
                writer.write(content)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        writer.close()

    async def serve():
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port.append(server.sockets[0].getsockname()[1])
        ready.set()
        async with server:
            while not done.is_set():
                await asyncio.sleep(0.01)

    done = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield port[0]
    finally:
        done.set()
        thread.join()


def response(status):
    return f"HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\n[]".encode()


def test_answers_are_counted_and_timed():
    with service(lambda: response(200)) as port:
        load = run_closed(port, [[REQUEST] * 5, [REQUEST] * 3])
    assert (len(load.seconds), load.failed) == (8, 0)
    assert load.wall > 0


def test_an_error_and_a_closed_connection_count_as_failed():
    answers = iter([response(200), response(503), None, response(200), response(200)])
    with service(lambda: next(answers)) as port:
        load = run_closed(port, [[REQUEST] * 4])
    assert (load.failed, load.first_failure) == (2, "status 503")


def test_an_open_load_counts_from_the_planned_time():
    with service(lambda: response(200)) as port:
        load = run_open(port, [REQUEST] * 20, per_second=200, connections=2)
    assert (len(load.seconds), load.failed) == (20, 0)
    assert load.wall == pytest.approx(0.1, abs=0.5)
    assert min(load.seconds) > -0.001
