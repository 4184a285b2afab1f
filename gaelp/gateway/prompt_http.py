"""HTTP for callers who send their request at once, on uvicorn's fast parser; the others are cut off.

As `gaelp.api.prompt_protocol`, which rests on the slower parser: a caller that does not finish keeps nobody else out.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["MAX_CONNECTIONS", "PromptHttp"]

MAX_CONNECTIONS = 1000  # with more, new ones are refused
_REQUEST_SECONDS = 5.0  # from the connection, or from the first byte of a later request, to its last byte


class PromptHttp(HttpToolsProtocol):
    """One connection; cut off where a whole request does not arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Expect a request, or refuse the connection where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        """Expect the rest of a request that has begun."""
        if self._deadline is None:
            self._expect_request()
        super().data_received(data)

    def on_message_complete(self) -> None:
        """The whole request is here: it may take as long as it takes to answer it."""
        self._stop_expecting()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._stop_expecting()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self._deadline = self.loop.call_later(_REQUEST_SECONDS, self.transport.abort)

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
