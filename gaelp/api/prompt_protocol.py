"""HTTP for callers who send their request at once: whoever does not is cut off, and keeps nobody else out.

Uvicorn waits forever for a request that has no end. Enough such connections use up the process's file handles, and an
emergency stop could not connect.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["MAX_CONNECTIONS", "PromptProtocol"]

MAX_CONNECTIONS = 200  # with more, the oldest that is not being answered is cut off
_REQUEST_SECONDS = 5.0  # from the connection, or from the first byte of a later request, to its last byte


class PromptProtocol(H11Protocol):
    """One connection; cut off where a whole request does not arrive in time, or where a newer caller needs the room."""

    _deadline: asyncio.TimerHandle | None = None
    _connected_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        """Expect a request."""
        super().connection_made(transport)
        self._connected_at = self.loop.time()
        self._expect_request()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Expect the rest of a request that has begun."""
        if self._deadline is None:
            self._expect_request()
        super().data_received(data)
        if self.conn.their_state not in {h11.IDLE, h11.SEND_BODY}:
            self._stop_expecting()

    def on_response_complete(self) -> None:
        """Leave an idle connection to uvicorn's own limit; what was answered early still has to end."""
        super().on_response_complete()
        if self.conn.their_state is not h11.SEND_BODY:
            self._stop_expecting()

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

    def _make_room(self) -> None:
        """Cut off the oldest that waits; one that was cut off is only gone a moment later, and no longer counts."""
        others = [other for other in self.connections if isinstance(other, PromptProtocol)]
        live = [other for other in others if not other.transport.is_closing()]
        waiting = [other for other in live if not other._is_being_answered()]
        if len(live) > MAX_CONNECTIONS and waiting:
            min(waiting, key=lambda other: other._connected_at).transport.abort()

    def _is_being_answered(self) -> bool:
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete
