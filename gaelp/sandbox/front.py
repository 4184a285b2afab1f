"""What an API front is to the sandbox's process: a function that starts a server on a world, and where each one is.

A front answers on 127.0.0.1 and reads and changes the world in `SandboxWorld.call` alone. A call may carry its
simulated time in TIME_HEADER, which the front passes on, so that a recorded sequence of calls can be replayed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from gaelp.config.field_types import Instant
from gaelp.errors import BadInput, ComponentMissing
from gaelp.sandbox.certificate import Certificate
from gaelp.sandbox.faults import FaultInjector
from gaelp.sandbox.world import SandboxWorld

__all__ = ["FRONTS", "TIME_HEADER", "RunningFront", "StartFront", "check_front", "load_front", "stamped_time"]

TIME_HEADER = "gaelp-sandbox-time"  # an HTTP header, or gRPC metadata: 2026-03-01T12:00:00Z
_instant = TypeAdapter(Instant)


@dataclass(frozen=True, slots=True)
class RunningFront:
    """A front that answers."""

    port: int
    stop: Callable[[], None]  # returns when no call is under way any more
    suspend: Callable[[str, bool], None] | None = None  # an account, or with False reinstate it
    # The names of campaign and ad group of an account, by the ad group's id; the shop has them in its links.
    names: Callable[[str], Mapping[int, tuple[str, str]]] | None = None


# The world, its certificate, faults and port (0 takes a free one).
StartFront: TypeAlias = Callable[[SandboxWorld, Certificate, FaultInjector, int], RunningFront]

FRONTS: Mapping[str, str] = {  # the StartFront of each front, as module:name
    "google": "gaelp.sandbox.google.server:start_google_front",
    "meta": "gaelp.sandbox.meta.server:start_meta_front",
}


def check_front(name: str) -> None:
    """Refuse a name that no front has."""
    if name not in FRONTS:
        raise BadInput(f"there is no front {name!r}; allowed: {', '.join(FRONTS)}")


def load_front(name: str) -> StartFront:
    """Import a front; it may need a package that is not installed."""
    check_front(name)
    module, _, function = FRONTS[name].partition(":")
    try:
        return cast("StartFront", getattr(import_module(module), function))
    except ModuleNotFoundError as missing:
        raise ComponentMissing(
            f"the front {name} needs {missing.name}, which is not installed: install it"
            f" (`pip install 'gaelp[google-ads,meta]'`), or start the other fronts only (--front)"
        ) from missing


def stamped_time(value: str | None) -> datetime | None:
    """The simulated time that a call carries in TIME_HEADER, as `at` of `SandboxWorld.call`; None without one."""
    if value is None:
        return None
    try:
        return _instant.validate_python(value)
    except ValidationError:
        raise BadInput(
            f"{TIME_HEADER}: saw {value[:60]!r}; allowed: an instant with a time zone such as 2026-03-01T12:00:00Z"
        ) from None
