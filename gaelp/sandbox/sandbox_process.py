"""The process of a sandbox: one world, its fronts, its control and its clock, until it is stopped."""

import argparse
import os
import secrets
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event

from pydantic import Field

from gaelp.clock import SystemClock
from gaelp.config.base import Frozen
from gaelp.errors import GaelpError
from gaelp.observability import configure
from gaelp.sandbox.certificate import Certificate, folder_certificate
from gaelp.sandbox.control_messages import SandboxStatus
from gaelp.sandbox.control_server import Controlled, control_app
from gaelp.sandbox.faults import FaultInjector, FaultPlan
from gaelp.sandbox.front import FRONTS, check_front, load_front
from gaelp.sandbox.http_serving import listen_on, serving_app
from gaelp.sandbox.process_record import SandboxRecord, forget_process, write_record
from gaelp.sandbox.rehearsal import compile_auctions
from gaelp.sandbox.simulated_clock import SimulatedClock, check_speed
from gaelp.sandbox.spec import SandboxSpec
from gaelp.sandbox.world import SandboxWorld, open_world

__all__ = ["CONTROL", "StartOptions", "check_options", "serve_sandbox"]

CONTROL = "control"
_LOOK_SECONDS = 0.5


class StartOptions(Frozen):
    """How a sandbox is started. Without a spec the world in the folder is continued."""

    spec: SandboxSpec | None = None
    speed: float = 0.0
    fronts: tuple[str, ...] = tuple(FRONTS)
    ports: dict[str, int] = Field(default_factory=dict)  # by front, or "control"; a free one where none is named
    faults: FaultPlan = FaultPlan()
    parent: int | None = None  # a process with which this one ends


def check_options(options: StartOptions) -> None:
    """Refuse a speed, a front or a port that cannot be, before anything is made or imported."""
    check_speed(options.speed)
    for name in options.fronts:
        check_front(name)
    for name, port in options.ports.items():
        listen_on(port, name).close()


def serve_sandbox(
    folder: Path, options: StartOptions, when_up: Callable[[SandboxRecord], None] = lambda _: None
) -> None:
    """Run the sandbox of a folder until SIGTERM, Ctrl-C or a stop over its control; in the main thread."""
    check_options(options)
    ended = Event()
    with ExitStack() as open_parts:
        for number in (signal.SIGTERM, signal.SIGINT):
            open_parts.callback(signal.signal, number, signal.signal(number, lambda *_: ended.set()))
        certificate = folder_certificate(folder, SystemClock().now())
        world = open_world(folder, options.spec)
        open_parts.callback(world.close)
        compile_auctions(world.spec)
        faults = FaultInjector(options.faults)
        fronts = {}
        for name in options.fronts:
            fronts[name] = load_front(name)(world, certificate, faults, options.ports.get(name, 0))
            open_parts.callback(fronts[name].stop)
        ports = {name: front.port for name, front in fronts.items()}
        clock = SimulatedClock(world, options.speed)
        token = secrets.token_urlsafe(32)
        controlled = Controlled(
            world, clock, faults, lambda: _describe(folder, world, clock, ports, certificate), ended.set, fronts
        )
        listener = open_parts.enter_context(listen_on(options.ports.get(CONTROL, 0), CONTROL))
        open_parts.enter_context(serving_app(control_app(controlled, token), listener))
        clock.start()
        open_parts.callback(clock.stop)
        record = SandboxRecord.of_process(
            os.getpid(),
            control_port=listener.getsockname()[1],
            token=token,
            ports=ports,
            certificate_path=str(certificate.path),
            fingerprint=certificate.fingerprint,
        )
        write_record(folder, record)
        open_parts.callback(forget_process, folder)
        when_up(record)
        while not ended.wait(_LOOK_SECONDS):
            if options.parent is not None and os.getppid() != options.parent:
                return


def _describe(
    folder: Path, world: SandboxWorld, clock: SimulatedClock, ports: dict[str, int], certificate: Certificate
) -> SandboxStatus:
    spec = world.spec
    return SandboxStatus(
        folder=str(folder),
        pid=os.getpid(),
        now=world.now(),
        speed=clock.speed,
        barrier=world.barrier(),
        failure=clock.failure,
        seed=spec.seed,
        time_zone=spec.time_zone,
        currency=spec.currency,
        customer_ids=spec.customer_ids,
        manager_customer_id=spec.manager_customer_id,
        meta_account_ids=spec.meta_account_ids,
        ports=ports,
        certificate_path=str(certificate.path),
    )


def _main() -> int:
    """Run as `python -m gaelp.sandbox.sandbox_process FOLDER`, with the options as JSON on stdin."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    os.umask(0o077)
    configure()
    try:
        serve_sandbox(folder, StartOptions.model_validate_json(sys.stdin.read()))
    except GaelpError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return problem.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
