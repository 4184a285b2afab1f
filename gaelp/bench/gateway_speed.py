"""How many decisions a gateway makes a second, how late they are, and whether a hot swap loses any; beside a peer.

A decision is the bids of one campaign, all segments, for an hour: its memory is read and written, nothing is repeated.
Client and server share the machine. CPU figures are those of the server's process alone.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gaelp.bench.gateway_process import ServedKind, ServedProcess, served
from gaelp.bench.gateway_requests import PlayedFlights, play_flights
from gaelp.bench.load_client import Load, closed, request_bytes, run_closed, run_open, send_once
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.gateway.wire import ARROW, JSON

__all__ = ["GatewaySpeed", "ServiceFigures", "measure_gateway"]

_CONNECTIONS = 32
_BATCH = 1000
_GROUPS = 2
_SWAPS = 20
_PREFIX = "bench0"


class ServiceFigures(Frozen):
    """One service under the same requests."""

    decisions_per_s: float  # a request each, as fast as answers come
    cpu_us_per_decision: float  # of the server
    batched_decisions_per_s: float
    batched_cpu_us_per_decision: float
    p50_ms: float  # at half of the measured load
    p99_ms: float
    half_load_per_s: float


class GatewaySpeed(ServiceFigures):
    """The gateway, its swaps, and the peer in the same run."""

    dropped_in_swaps: int
    swaps: int
    requests_in_swaps: int
    decisions: int
    batch_campaigns: int
    peer: ServiceFigures
    ratio_to_peer: float
    batched_ratio_to_peer: float
    p99_ratio_to_peer: float


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is asked of both services."""

    singles: PlayedFlights
    batched: tuple[PlayedFlights, ...]
    campaigns: int


def measure_gateway(*, decisions: int, report: Callable[[str], None] = lambda _: None) -> GatewaySpeed:
    """Measure both services with this many single decisions each."""
    hours = 24
    campaigns = max(decisions // hours, _CONNECTIONS)
    report("Recording what campaigns observe ...")
    plan = _Plan(
        play_flights(_PREFIX, campaigns, hours=hours, seed=3, singles=True),
        tuple(play_flights(f"group{g}", _BATCH, hours=hours, seed=5 + g, singles=False) for g in range(_GROUPS)),
        campaigns,
    )
    report("Measuring the plain service ...")
    with served("peer") as process:
        peer = _figures("peer", process, plan)
    report("Measuring the gateway ...")
    with served("gateway") as process:
        own = _figures("gateway", process, plan)
        report(f"Swapping versions {_SWAPS} times under load ...")
        swaps = asyncio.run(_swaps(process.port, plan))
    return GatewaySpeed(
        **own.model_dump(),
        dropped_in_swaps=swaps.failed,
        swaps=_SWAPS,
        requests_in_swaps=len(swaps.seconds),
        decisions=campaigns * hours,
        batch_campaigns=_BATCH,
        peer=peer,
        ratio_to_peer=own.decisions_per_s / peer.decisions_per_s,
        batched_ratio_to_peer=own.batched_decisions_per_s / peer.batched_decisions_per_s,
        p99_ratio_to_peer=own.p99_ms / peer.p99_ms,
    )


def _figures(kind: ServedKind, process: ServedProcess, plan: _Plan) -> ServiceFigures:
    port = process.port
    for number, flights in enumerate((plan.singles, plan.singles, plan.singles)):
        _put_campaigns(port, _renamed(flights.brief, number), JSON)
    _checked(run_closed(port, _single_groups(plan, 0, hours=2)))  # compiled on first use
    before = process.cpu_seconds()
    single = _checked(run_closed(port, _single_groups(plan, 1)))
    used = process.cpu_seconds() - before
    made = len(single.seconds)
    half = 0.5 * made / single.wall
    requests = [_single(_renamed(body, 2)) for row in plan.singles.singles for body in row]
    late = _checked(run_open(port, requests, per_second=half, connections=4 * _CONNECTIONS))
    batched, batched_cpu = _batched(kind, process, plan)
    return ServiceFigures(
        decisions_per_s=made / single.wall,
        cpu_us_per_decision=1e6 * used / made,
        batched_decisions_per_s=batched,
        batched_cpu_us_per_decision=batched_cpu,
        p50_ms=1000 * float(np.quantile(late.seconds, 0.5)),
        p99_ms=1000 * float(np.quantile(late.seconds, 0.99)),
        half_load_per_s=half,
    )


def _batched(kind: ServedKind, process: ServedProcess, plan: _Plan) -> tuple[float, float]:
    """Decisions a second and CPU microseconds for each; the peer takes JSON, the gateway Arrow."""
    is_arrow = kind == "gateway"
    groups = []
    for flights in plan.batched:
        _put_campaigns(process.port, flights.arrow_brief if is_arrow else flights.brief, ARROW if is_arrow else JSON)
        bodies = flights.batches if is_arrow else flights.json_batches
        form = ARROW if is_arrow else JSON
        groups.append([request_bytes("POST", "/decisions", body, content_type=form, accept=form) for body in bodies])
    _checked(run_closed(process.port, [group[:1] for group in groups]))
    before = process.cpu_seconds()
    load = _checked(run_closed(process.port, [group[1:] for group in groups]))
    made = _BATCH * len(load.seconds)
    return made / load.wall, 1e6 * (process.cpu_seconds() - before) / made


async def _swaps(port: int, plan: _Plan) -> Load:
    """Load a version again and give it all traffic, twenty times, while requests run without a pause."""
    stop = asyncio.Event()

    def requests(place: int) -> Iterator[bytes]:
        """Flight after flight, each under a new name, until the swaps are done."""
        number = 10 + place
        while not stop.is_set():
            yield request_bytes("PUT", "/campaigns", _renamed(plan.singles.brief, number), content_type=JSON)
            for row in plan.singles.singles:
                for body in row[place::_CONNECTIONS]:
                    if stop.is_set():
                        return
                    yield _single(_renamed(body, number))
            number += _CONNECTIONS

    async def swap() -> None:
        for turn in range(_SWAPS):
            version = 1 + (turn + 1) % 2
            loaded = {"version": version}
            moved = {"shares": {str(version): 100.0}, "why": "measured"}
            for method, path, body in (("POST", "/admin/models", loaded), ("PUT", "/admin/traffic", moved)):
                request = request_bytes(method, path, json.dumps(body).encode(), content_type=JSON)
                status = await asyncio.to_thread(send_once, port, request)
                if status not in {200, 201}:
                    raise GaelpError(f"{method} {path} answered {status} during a swap: nothing was measured")
        stop.set()

    load, _ = await asyncio.gather(closed(port, [requests(place) for place in range(_CONNECTIONS)]), swap())
    return load


def _single_groups(plan: _Plan, number: int, hours: int | None = None) -> list[list[bytes]]:
    """The requests of each connection: its campaigns, hour by hour."""
    rows = plan.singles.singles[:hours]
    return [
        [_single(_renamed(body, number)) for row in rows for body in row[place::_CONNECTIONS]]
        for place in range(_CONNECTIONS)
    ]


def _single(body: bytes) -> bytes:
    return request_bytes("POST", "/decisions", body, content_type=JSON)


def _renamed(body: bytes, number: int) -> bytes:
    """The same campaigns under other names."""
    return body.replace(_PREFIX.encode(), f"bench{number}".encode())


def _put_campaigns(port: int, body: bytes, form: str) -> None:
    status = send_once(port, request_bytes("PUT", "/campaigns", body, content_type=form))
    if status != 200:
        raise GaelpError(f"PUT /campaigns answered {status}: nothing was measured")


def _checked(load: Load) -> Load:
    if load.failed:
        raise GaelpError(
            f"{load.failed} of {len(load.seconds)} requests failed ({load.first_failure}): nothing was measured"
        )
    return load
