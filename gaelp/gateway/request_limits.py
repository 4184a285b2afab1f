"""How large a request may be, and how many a second: more are refused, with what is allowed."""

import time
from collections.abc import Callable

from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

__all__ = ["RequestLimit", "read_body"]


class RequestLimit:
    """So many requests a second over all callers, a second's worth at once."""

    def __init__(self, per_second: float, now_seconds: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._now = per_second, now_seconds
        self._left, self._at = max(per_second, 1.0), now_seconds()

    def take(self) -> None:
        """Count a request, or refuse it with 429."""
        now = self._now()
        self._left = min(max(self._rate, 1.0), self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            raise HTTPException(
                429, f"more than {self._rate:g} requests a second: ask again later", headers={"Retry-After": "1"}
            )
        self._left -= 1.0


async def read_body(request: Request, most_bytes: int) -> bytes:
    """The body, or 413 as soon as it is known to be too large."""
    declared = request.headers.get("content-length", "0")
    body = bytearray()
    if declared.isdecimal() and int(declared[:20]) <= most_bytes:
        try:
            async for part in request.stream():
                body += part
                if len(body) > most_bytes:
                    break
        except ClientDisconnect:
            raise HTTPException(400, "the body has no end: send all of it") from None
        if len(body) <= most_bytes:
            return bytes(body)
    raise HTTPException(413, f"the body is larger than {most_bytes:,} bytes: split it", headers={"Connection": "close"})
