"""A gateway, or its peer, in a process of its own for as long as it is measured."""

import multiprocessing
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import psutil
import torch
import uvicorn

from gaelp.bench.gateway_peer import create_peer
from gaelp.bench.gateway_requests import bench_export
from gaelp.config import load_settings
from gaelp.errors import GaelpError
from gaelp.gateway.app import create_gateway
from gaelp.gateway.gateway_server import gateway_config, open_gateway

__all__ = ["ServedKind", "ServedProcess", "served"]

_START_SECONDS = 180.0
ServedKind = Literal["gateway", "peer"]


@dataclass(frozen=True, slots=True)
class ServedProcess:
    """Where it listens, and what it has used so far."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """User and system time of the process."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def served(kind: ServedKind) -> Iterator[ServedProcess]:
    """Start the process, wait until it answers, and end it with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(kind, port), daemon=True)
    process.start()
    try:
        _wait(port, process)
        yield ServedProcess(port, process.pid or 0)
    finally:
        process.terminate()
        process.join(10)


def _serve(kind: ServedKind, port: int) -> None:
    torch.set_num_threads(1)
    if kind == "peer":
        uvicorn.run(create_peer(), port=port, access_log=False, log_level="warning")
        return
    with tempfile.TemporaryDirectory(prefix="gaelp-bench-gateway-") as home:
        settings = load_settings(None, overrides=[f"home={home}"], environ={}).settings
        exports = {version: bench_export(version) for version in (1, 2)}
        admin = open_gateway(settings, lambda version, _bids: exports[version], 1)
        config = gateway_config(create_gateway(admin), settings.gateway)
        config.port = port
        uvicorn.Server(config).run()


def _wait(port: int, process: multiprocessing.process.BaseProcess) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if not process.is_alive():
            raise GaelpError("the measured process ended before it answered: its error is printed above")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise GaelpError(f"no answer within {_START_SECONDS:g} seconds: the machine is too busy to measure")
