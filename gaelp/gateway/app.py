"""The routes of the gateway: decisions and campaigns for callers, versions and traffic for operators, and its state."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pydantic_core
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, PositiveInt, SecretStr
from starlette.exceptions import HTTPException as StarletteHTTPException

from gaelp.api.callers import check_caller
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.gateway.admin import Admin
from gaelp.gateway.answers import arrow_answer, json_answer
from gaelp.gateway.batching import Batcher, TooBusy
from gaelp.gateway.campaign_book import UnknownCampaign, WrongHour
from gaelp.gateway.decider import NothingServes
from gaelp.gateway.one_at_a_time import OneAtATime
from gaelp.gateway.request_limits import RequestLimit, read_body
from gaelp.gateway.traffic import Traffic
from gaelp.gateway.wire import (
    ARROW,
    BRIEF_COLUMNS,
    JSON,
    OBSERVATION_COLUMNS,
    Column,
    WireRows,
    from_arrow,
    from_json,
    request_model,
)
from gaelp.observability import get_logger

__all__ = ["ModelToLoad", "create_gateway"]

log = get_logger(__name__)

_PROMETHEUS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_STATUS: tuple[tuple[type[Exception], int], ...] = (  # the first that fits
    (UnknownCampaign, 404),
    (WrongHour, 409),
    (BadInput, 422),
    (Refused, 403),
    (TooBusy, 429),
    (NothingServes, 503),
)


class ModelToLoad(BaseModel):
    """A registered and exported version."""

    model_config = ConfigDict(extra="forbid")

    version: PositiveInt


def create_gateway(admin: Admin) -> FastAPI:
    """The application around one decider; `admin` loads versions into it."""
    settings, decider = admin.settings.gateway, admin.decider
    batcher = Batcher(decider, max_batch=settings.max_batch, max_waiting=settings.max_waiting)
    limit = RequestLimit(settings.requests_per_s)

    @asynccontextmanager
    async def until_decided(_app: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()

    app = FastAPI(
        title="GAELP gateway",
        version="1",
        description="Bids of exported versions. Nothing here spends: a bid still has to pass the guards.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=until_decided,
        redirect_slashes=False,
    )
    caller = _guard(settings.token, "GAELP__GATEWAY__TOKEN", limit)
    operator = _guard(settings.admin_token or settings.token, "GAELP__GATEWAY__ADMIN_TOKEN", limit)
    app.include_router(_state_routes(admin))
    app.include_router(_caller_routes(admin, batcher), dependencies=[Depends(caller)])
    app.include_router(_operator_routes(admin), prefix="/admin", dependencies=[Depends(operator)])

    async def schema() -> dict[str, Any]:
        """Describe what is served."""
        return app.openapi()

    app.add_api_route("/openapi.json", schema, dependencies=[Depends(caller)], include_in_schema=False)
    _explain_errors(app, admin)
    return app


def _guard(token: SecretStr | None, variable: str, limit: RequestLimit) -> Callable[[Request], Any]:
    async def known_caller(request: Request) -> None:
        limit.take()
        method = "POST" if request.method in {"POST", "PUT"} else request.method
        check_caller(token, method, request.headers, variable=variable, content_types=(JSON, ARROW))

    return known_caller


def _state_routes(admin: Admin) -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> dict[str, str]:
        """Say that the process is up."""
        return {"status": "ok"}

    @router.get("/ready", responses={503: {"description": "No version has traffic"}})
    async def ready() -> Response:
        """Say whether decisions can be had; `stand_ins` counts those that another version had to make."""
        serving = admin.decider.serving
        is_ready = serving.traffic is not None and all(
            version in serving.versions for version in serving.traffic.shares
        )
        state = {"ready": is_ready, "stand_ins": admin.decider.metrics.stand_ins}
        return _json(state, 200 if is_ready else 503)

    return router


def _caller_routes(admin: Admin, batcher: Batcher) -> APIRouter:
    router, settings, book = APIRouter(responses=_REFUSALS), admin.settings.gateway, admin.decider.book
    brief_model = request_model("Campaigns", BRIEF_COLUMNS, settings.max_batch)
    observation_model = request_model("Observations", OBSERVATION_COLUMNS, settings.max_batch)

    async def rows_in(request: Request, model: type[BaseModel], columns: tuple[Column, ...]) -> WireRows:
        body = await read_body(request, settings.max_body_bytes)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == ARROW:
            return from_arrow(body, columns, book.sizes, settings.max_batch)
        return from_json(body, model, columns, book.sizes)

    @router.post("/decisions", openapi_extra=_described(observation_model))
    async def decide(request: Request) -> Response:
        """Bids for the coming hour of campaigns, from what each of them observed; asking again repeats the answer."""
        began = time.perf_counter()
        decided = await batcher.decide(await rows_in(request, observation_model, OBSERVATION_COLUMNS))
        is_arrow = request.headers.get("accept", "").startswith(ARROW)
        content = arrow_answer(decided) if is_arrow else json_answer(decided)
        admin.decider.metrics.seconds.observe(time.perf_counter() - began)
        admin.decider.metrics.answered(200)
        return Response(content, media_type=ARROW if is_arrow else JSON)

    @router.put("/campaigns", openapi_extra=_described(brief_model))
    async def begin(request: Request) -> Response:
        """Begin flights of campaigns with what is known at launch; the same brief again changes nothing."""
        rows = await rows_in(request, brief_model, BRIEF_COLUMNS)
        begun = await batcher.run(lambda: book.begin(rows))
        admin.decider.metrics.campaigns.set(len(book))
        return _json({"begun": begun, "known": len(book)})

    @router.delete("/campaigns/{campaign}")
    async def end(campaign: str) -> Response:
        """Forget a campaign that has ended."""
        await batcher.run(lambda: book.end(campaign))
        admin.decider.metrics.campaigns.set(len(book))
        return _json({"known": len(book)})

    @router.get("/metrics")
    async def metrics() -> Response:
        """Show the figures for Prometheus."""
        return Response(admin.decider.metrics.exposition(), media_type=_PROMETHEUS_TEXT)

    return router


def _operator_routes(admin: Admin) -> APIRouter:
    router = APIRouter(responses=_REFUSALS)
    one_at_a_time = OneAtATime()

    @router.post("/models", status_code=201)
    async def add(model: ModelToLoad) -> Response:
        """Load a version, so that traffic or shadow may name it; nothing is decided by it yet."""
        return _json(await one_at_a_time.run(lambda: admin.add(model.version)), 201)

    @router.put("/traffic")
    async def move(traffic: Traffic) -> Response:
        """Move traffic: 403 with the reason unless a passed verdict and an approval allow each version."""
        return _json(await one_at_a_time.run(lambda: admin.move(traffic)))

    @router.get("/traffic")
    async def show() -> Response:
        """Show traffic, shadows, and what is loaded."""
        return _json(admin.now())

    @router.get("/models/{version}/metrics")
    async def figures(version: PositiveInt) -> Response:
        """Show what a version did since the gateway started."""
        if version not in admin.decider.serving.versions:
            raise HTTPException(404, f"version {version} is not loaded: GET /admin/traffic shows those that are")
        return _json({"id": version, **admin.decider.metrics.of(version), **admin.shadow_figures(version)})

    return router


def _explain_errors(app: FastAPI, admin: Admin) -> None:
    """Each error has a status and one sentence; what was sent, paths and tracebacks stay out of answers."""

    def answer(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
        admin.decider.metrics.answered(status)
        return _json({"detail": detail}, status, headers)

    @app.exception_handler(GaelpError)
    async def known(_request: Request, problem: GaelpError) -> Response:
        for kind, status in _STATUS:
            if isinstance(problem, kind):
                return answer(status, str(problem), {"Retry-After": "1"} if status in {429, 503} else None)
        log.error("a request failed", problem=str(problem))
        return answer(503, "this cannot be done now: the gateway's log says why", {"Retry-After": "1"})

    @app.exception_handler(StarletteHTTPException)
    async def refused(_request: Request, problem: StarletteHTTPException) -> Response:
        return answer(problem.status_code, str(problem.detail), dict(problem.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def wrong(_request: Request, problem: RequestValidationError) -> Response:
        first = problem.errors()[0]
        return answer(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:300])

    @app.exception_handler(Exception)
    async def unknown(_request: Request, problem: Exception) -> Response:
        log.error("a request failed for a reason that is not known", problem=repr(problem)[:300])
        return answer(500, "the gateway failed: its log says why")


def _described(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    return {
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": schema}, ARROW: {"schema": {"type": "string", "format": "binary"}}},
        }
    }


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    content = pydantic_core.to_json(value, inf_nan_mode="null")
    return Response(content, status_code=status, media_type=JSON, headers=headers)


_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body has no end"},
    401: {"description": "The token is missing or wrong"},
    403: {"description": "Refused, with the reason"},
    404: {"description": "Not known"},
    409: {"description": "An hour before the last one"},
    413: {"description": "Too large"},
    415: {"description": "Another content type than JSON or Arrow"},
    421: {"description": "Called by another name than this machine's"},
    422: {"description": "Not in the form that is described"},
    429: {"description": "Too many requests, or too many that wait"},
    503: {"description": "Nothing can decide now"},
}
