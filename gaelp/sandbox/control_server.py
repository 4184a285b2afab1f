"""The control of a sandbox over HTTP, for this machine and holders of its token: time, faults, reset, status, stop."""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from gaelp.config.loopback import is_loopback_host
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.sandbox.canonical_dump import dump_sha256
from gaelp.sandbox.control_messages import (
    AdvanceRequest,
    BarrierRequest,
    ClickRateRequest,
    DumpAnswer,
    ResetRequest,
    SalesAnswer,
    SandboxStatus,
    SpeedRequest,
    SuspendRequest,
)
from gaelp.sandbox.faults import FaultInjector, FaultPlan
from gaelp.sandbox.front import RunningFront
from gaelp.sandbox.shop_sales import shop_sales
from gaelp.sandbox.simulated_clock import SimulatedClock
from gaelp.sandbox.world import SandboxWorld

__all__ = ["Controlled", "control_app"]


@dataclass(frozen=True, slots=True)
class Controlled:
    """What the control server controls; `describe` and `stop` are of the process."""

    world: SandboxWorld
    clock: SimulatedClock
    faults: FaultInjector
    describe: Callable[[], SandboxStatus]
    stop: Callable[[], None]
    fronts: Mapping[str, RunningFront] = field(default_factory=dict)


def control_app(controlled: Controlled, token: str) -> FastAPI:
    """The application; a GaelpError of what was asked for becomes its message with status 400, 409 or 500."""

    def check_caller(request: Request) -> None:
        if not is_loopback_host(request.headers.get("host", "")):
            raise HTTPException(421, "this server answers to 127.0.0.1 and localhost only")
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), token.encode()):
            raise HTTPException(401, "the token is missing or wrong: it is in sandbox.json of the sandbox's folder")

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_exception_handler(GaelpError, _failed)
    dependencies = [Depends(check_caller)]
    app.include_router(_time_routes(controlled), dependencies=dependencies)
    app.include_router(_other_routes(controlled), dependencies=dependencies)
    return app


def _time_routes(controlled: Controlled) -> APIRouter:
    router, world, clock = APIRouter(), controlled.world, controlled.clock

    @router.get("/status")
    def status() -> SandboxStatus:
        """Where it is."""
        return controlled.describe()

    @router.post("/advance")
    def advance(asked: AdvanceRequest) -> SandboxStatus:
        """Let time pass; returns when it has."""
        to = asked.to if asked.to is not None else world.now() + timedelta(seconds=asked.seconds or 0)
        world.advance(to)
        return controlled.describe()

    @router.post("/speed")
    def speed(asked: SpeedRequest) -> SandboxStatus:
        """Run at another speed."""
        clock.set_speed(asked.speed)
        return controlled.describe()

    @router.post("/barrier")
    def barrier(asked: BarrierRequest) -> SandboxStatus:
        """Set or take away the instant that time does not pass."""
        world.hold_at(asked.until)
        return controlled.describe()

    return router


def _other_routes(controlled: Controlled) -> APIRouter:
    router, world, faults = APIRouter(), controlled.world, controlled.faults

    @router.get("/faults")
    def due_faults() -> FaultPlan:
        """Show the faults that are still to come."""
        return faults.due()

    @router.put("/faults")
    def replace_faults(plan: FaultPlan) -> FaultPlan:
        """Have these faults instead of those that were due."""
        faults.replace(plan)
        return faults.due()

    @router.post("/click-rate")
    def click_rate(asked: ClickRateRequest) -> SandboxStatus:
        """Let everybody click less or more often than before."""
        world.set_click_factor(asked.factor)
        return controlled.describe()

    @router.post("/reset")
    def reset(asked: ResetRequest) -> SandboxStatus:
        """Forget everything and begin again, with the clock stopped."""
        controlled.clock.set_speed(0)
        spec = asked.spec or world.spec
        world.reset(spec if asked.seed is None else spec.model_copy(update={"seed": asked.seed}))
        return controlled.describe()

    @router.post("/suspend")
    def suspend(asked: SuspendRequest) -> SandboxStatus:
        """Suspend an account, or reinstate it."""
        front = controlled.fronts.get(asked.front)
        if front is None or front.suspend is None:
            able = [name for name, running in controlled.fronts.items() if running.suspend is not None]
            raise BadInput(
                f"accounts of {asked.front!r} cannot be suspended; fronts that can: {', '.join(able) or 'none'}"
            )
        front.suspend(asked.account, asked.suspended)
        return controlled.describe()

    @router.get("/sales")
    def sales(first: date, last: date, account: str | None = None) -> SalesAnswer:
        """Show the shop's own sales of clicks on these days."""
        return SalesAnswer(now=world.now(), sales=shop_sales(world, controlled.fronts, account, first, last))

    @router.get("/dump")
    def dump() -> DumpAnswer:
        """Show the hash of the canonical dump."""
        sha256 = dump_sha256(world)
        return DumpAnswer(now=world.now(), sha256=sha256)

    @router.post("/stop")
    def stop() -> SandboxStatus:
        """End the process once calls under way have ended."""
        last = controlled.describe()
        controlled.stop()
        return last

    return router


async def _failed(_request: Request, problem: Exception) -> JSONResponse:
    status = 409 if isinstance(problem, Refused) else 400 if isinstance(problem, BadInput) else 500
    return JSONResponse({"detail": str(problem)}, status_code=status)
