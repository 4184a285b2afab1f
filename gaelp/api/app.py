"""The HTTP routes: `/kill` stops and reports, `/metrics` is for Prometheus, `/health` says that the server is up.

Every handler is `async` and does its blocking work in threads that it starts itself: see `background_call.py` for why.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from gaelp.api.callers import check_caller
from gaelp.api.emergency_stop import EmergencyStop
from gaelp.api.figures_page import FiguresPage
from gaelp.api.money_figures import read_figures
from gaelp.budget.latch import plain_reason
from gaelp.budget.stop_report_text import shortfall
from gaelp.clock import Clock, SystemClock
from gaelp.config.settings import Settings
from gaelp.observability import get_logger, mask

__all__ = ["create_app"]

log = get_logger(__name__)

_MAX_BODY_BYTES = 65_536
_WHAT_TO_SEND = 'send {"reason": "why it has to stop"} as JSON'
_PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}}
            }
        },
    }
}


def create_app(settings: Settings, *, clock: Clock | None = None) -> FastAPI:
    """The application of these settings; nothing is read or written before somebody asks."""
    emergency = EmergencyStop(settings)
    app_clock = clock or SystemClock()
    figures = FiguresPage(lambda: read_figures(settings, app_clock))

    @asynccontextmanager
    async def until_stops_are_done(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await emergency.finish()

    async def known_caller(request: Request) -> None:
        check_caller(settings.api.token, request.method, request.headers)

    # The pages that FastAPI offers to read its schema with load their scripts from elsewhere.
    app = FastAPI(
        title="GAELP",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=until_stops_are_done,
        redirect_slashes=False,
    )

    async def schema() -> dict[str, Any]:
        """Describe what is served."""
        return app.openapi()

    app.add_api_route("/health", _health, methods=["GET"])
    app.add_api_route("/health", _health, methods=["HEAD"], include_in_schema=False)
    app.add_api_route("/openapi.json", schema, dependencies=[Depends(known_caller)], include_in_schema=False)
    app.include_router(_guarded_routes(emergency, figures), dependencies=[Depends(known_caller)])
    return app


async def _health() -> dict[str, str]:
    """Say that the server is up; /kill and /metrics show whether money moves."""
    return {"status": "ok"}


def _guarded_routes(emergency: EmergencyStop, figures: FiguresPage) -> APIRouter:
    router = APIRouter()

    @router.get("/metrics")
    @router.head("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        """Show the money figures; a ledger that cannot be read shows that spending is stopped."""
        return Response(await figures.exposition(), media_type=_PROMETHEUS_TEXT)

    # With a slash at its end too: a redirect is not followed by every client, and a stop must not end there.
    @router.get("/kill")
    @router.get("/kill/", include_in_schema=False)
    async def standing() -> Response:
        """Show whether spending is stopped, and by which stops."""
        return _answer((await emergency.standing()).model_dump(mode="json"))

    @router.post("/kill", openapi_extra=_BODY)
    @router.post("/kill/", include_in_schema=False)
    async def stop(request: Request) -> Response:
        """Stop all spending now, as `gaelp kill` does; there is no release over HTTP."""
        reason = _reason_in(await _body_of(request))
        by = f"api {request.client.host}" if request.client else "api"
        try:
            report = await emergency.stop(by=by, reason=reason)
        except Exception as problem:
            log.exception("a stop over HTTP failed", by=by, reason=reason)
            return _answer({"stopped": False, "detail": _not_stopped(problem)}, status=500)
        answer = {**report.model_dump(mode="json"), "detail": shortfall(report)}
        return _answer(answer, status=200 if report.stopped else 500)

    return router


async def _body_of(request: Request) -> bytes:
    """What was sent; of too large a body the beginning, for a stop is not refused over it."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > _MAX_BODY_BYTES:
                return body[:_MAX_BODY_BYTES]
    except ClientDisconnect:
        log.warning("a caller hung up before its body had ended; nothing was done", path=request.url.path)
        raise HTTPException(400, f"the body has no end: {_WHAT_TO_SEND}") from None  # for a proxy in between
    return body


def _reason_in(body: bytes) -> str:
    """Why it has to stop, cleaned and shortened if necessary, or nothing: no reason is bad enough to refuse a stop."""
    try:
        sent = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        sent = body.decode(errors="replace")
    reason = sent.get("reason", "") if isinstance(sent, dict) else sent
    return plain_reason(reason if isinstance(reason, str) else json.dumps(reason)) or "pulled over HTTP"


def _not_stopped(problem: Exception) -> str:
    reason = str(problem) or f"no answer in time ({type(problem).__name__})"
    return (
        f"it is not known to have stopped: {reason}. Run `gaelp kill`, and pause the campaigns on the platform by hand."
    )


def _answer(value: Mapping[str, Any], *, status: int = 200) -> Response:
    """JSON in ASCII, for a message may hold what UTF-8 cannot; messages of databases may hold secrets."""
    return Response(json.dumps(mask(value)), status_code=status, media_type="application/json")
