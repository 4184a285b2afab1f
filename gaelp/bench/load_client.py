"""A client that costs little: requests that were put together before, over connections that stay open."""

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Load", "closed", "request_bytes", "run_closed", "run_open", "send_once"]


def request_bytes(method: str, path: str, body: bytes, *, content_type: str, accept: str = "*/*") -> bytes:
    """A whole HTTP request."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {content_type}\r\nAccept: {accept}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(slots=True)
class Load:
    """What came of a load: seconds of each answer, and how many were not 200 or never came."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    wall: float = 0.0
    first_failure: str = ""

    def note(self, status: int, seconds: float) -> None:
        """Count an answer."""
        self.seconds.append(seconds)
        if status != 200:
            self.failed += 1
            self.first_failure = self.first_failure or f"status {status}"


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[int] | None = None
        self._got, self._wanted, self._status = bytearray(), -1, 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # of a TCP connection

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(ConnectionError(str(exc or "closed")))

    def data_received(self, data: bytes) -> None:
        self._got += data
        if self._wanted < 0 and (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._got[:end]).lower()
            self._status = int(head[9:12])
            self._wanted = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        if 0 <= self._wanted <= len(self._got) and self._answer and not self._answer.done():
            self._answer.set_result(self._status)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def send(self, request: bytes) -> int:
        """The status of the answer, once all of it is here."""
        self._got, self._wanted = bytearray(), -1
        self._answer = asyncio.get_running_loop().create_future()
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the connection is closed")
        self._transport.write(request)
        return await self._answer


async def _connect(port: int) -> _Connection:
    _, connection = await asyncio.get_running_loop().create_connection(_Connection, "127.0.0.1", port)
    return connection


def send_once(port: int, request: bytes) -> int:
    """The status of one request."""

    async def send() -> int:
        connection = await _connect(port)
        try:
            return await connection.send(request)
        finally:
            connection.close()

    return asyncio.run(send())


def run_closed(port: int, groups: Sequence[Iterable[bytes]]) -> Load:
    """Each group's requests one after another over a connection of its own, as fast as answers come."""
    return asyncio.run(closed(port, groups))


async def closed(port: int, groups: Sequence[Iterable[bytes]]) -> Load:
    """As `run_closed`, inside a loop that runs already."""
    load = Load()
    began = time.perf_counter()
    await asyncio.gather(*(_one_after_another(port, iter(group), load) for group in groups))
    load.wall = time.perf_counter() - began
    return load


async def _one_after_another(port: int, requests: Iterator[bytes], load: Load) -> None:
    connection = await _connect(port)
    for request in requests:
        began = time.perf_counter()
        try:
            load.note(await connection.send(request), time.perf_counter() - began)
        except ConnectionError as problem:
            load.failed += 1
            load.first_failure = load.first_failure or repr(problem)
            connection = await _connect(port)
    connection.close()


def run_open(port: int, requests: Sequence[bytes], *, per_second: float, connections: int) -> Load:
    """Requests at fixed times, whether or not earlier ones were answered; seconds count from those times."""
    return asyncio.run(_open(port, requests, per_second, connections))


async def _open(port: int, requests: Sequence[bytes], per_second: float, connections: int) -> Load:
    load, free = Load(), asyncio.Queue[_Connection]()
    for _ in range(connections):
        free.put_nowait(await _connect(port))
    began = time.perf_counter()

    async def send(place: int, request: bytes) -> None:
        connection = await free.get()
        try:
            load.note(await connection.send(request), time.perf_counter() - began - place / per_second)
        except ConnectionError as problem:
            load.failed += 1
            load.first_failure = load.first_failure or repr(problem)
        finally:
            free.put_nowait(connection)

    tasks = []
    for place, request in enumerate(requests):
        if (early := place / per_second - (time.perf_counter() - began)) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.create_task(send(place, request)))
    await asyncio.gather(*tasks)
    load.wall = time.perf_counter() - began
    while not free.empty():
        free.get_nowait().close()
    return load
