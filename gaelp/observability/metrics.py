"""The money figures for Prometheus: reserved, posted and left of each cap, violations, and whether all is stopped.

Takes plain figures, so whoever keeps the ledger calls `set`. Before the first call, and when the state of the kill
switch cannot be read, it counts as stopped. A cap that is no longer given is no longer shown.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Literal, Self

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pydantic import AwareDatetime, Field, NonNegativeInt, model_validator

from gaelp.config.base import Frozen
from gaelp.observability.alerts import Severity

__all__ = ["METRIC_NAMES", "CapFigures", "KillState", "MoneyFigures", "MoneyMetrics"]

KillState = Literal["running", "stopped", "unreadable"]

_MICROS = " in micros of the account currency"
_HELP = {
    "gaelp_cap_limit_micros": "Limit of a cap" + _MICROS,
    "gaelp_cap_reserved_micros": "Reserved and not yet posted under a cap" + _MICROS,
    "gaelp_cap_posted_micros": "Posted under a cap" + _MICROS,
    "gaelp_cap_headroom_micros": "Limit less reserved and posted" + _MICROS,
    "gaelp_violations": "Violations on record, by severity and whether they are resolved",
    "gaelp_kill_state": "1 for the state the kill switch is in, 0 for the others",
    "gaelp_spending_stopped": "1 unless the kill switch is known to be open",
    "gaelp_money_figures_age_seconds": "Seconds since the figures were read from the ledger",
}
METRIC_NAMES = tuple(_HELP)
_SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")
_KILL_STATES: tuple[KillState, ...] = ("running", "stopped", "unreadable")


class CapFigures(Frozen):
    """One cap as the ledger has it. `kind` is such as account-day; `scope` is which one."""

    kind: str = Field(min_length=1, max_length=64)
    scope: str = Field(min_length=1, max_length=200)
    limit_micros: NonNegativeInt
    reserved_micros: NonNegativeInt
    posted_micros: NonNegativeInt

    @property
    def headroom_micros(self) -> int:
        """What may still be reserved; below zero only if the platform billed more than was reserved."""
        return self.limit_micros - self.reserved_micros - self.posted_micros


class MoneyFigures(Frozen):
    """Everything that is shown, read at one instant."""

    caps: tuple[CapFigures, ...]
    open_violations: dict[Severity, NonNegativeInt]
    resolved_violations: dict[Severity, NonNegativeInt]
    kill_state: KillState
    read_at: AwareDatetime

    @model_validator(mode="after")
    def _each_cap_stands_once(self) -> Self:
        named = [(cap.kind, cap.scope) for cap in self.caps]
        if len(named) != len(set(named)):
            raise ValueError("two caps have the same kind and scope: Prometheus would refuse the whole page")
        return self


class MoneyMetrics:
    """Shows the latest figures in a registry of its own, all of one instant together."""

    def __init__(self, *, now_seconds: Callable[[], float] = time.time) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._shown = _Shown(now_seconds)
        self.registry.register(self._shown)

    def set(self, figures: MoneyFigures | None) -> None:
        """Show these figures from now on; None where the ledger cannot be read."""
        self._shown.set(figures)

    def exposition(self) -> bytes:
        """The page that Prometheus reads, in its text format."""
        return generate_latest(self.registry)


class _Shown(Collector):
    def __init__(self, now_seconds: Callable[[], float]) -> None:
        self._lock = Lock()
        self._figures: MoneyFigures | None = None
        self._now_seconds = now_seconds

    def set(self, figures: MoneyFigures | None) -> None:
        with self._lock:
            self._figures = figures

    def collect(self) -> Iterator[Metric]:
        with self._lock:
            figures = self._figures
        yield from _kill_metrics("unreadable" if figures is None else figures.kill_state)
        if figures is not None:
            yield from _cap_metrics(figures.caps)
            yield _violation_metric(figures)
            age = self._now_seconds() - figures.read_at.timestamp()
            yield _gauge("gaelp_money_figures_age_seconds", [], [((), age)])


def _kill_metrics(state: KillState) -> Iterator[Metric]:
    yield _gauge("gaelp_kill_state", ["state"], [((name,), float(name == state)) for name in _KILL_STATES])
    yield _gauge("gaelp_spending_stopped", [], [((), float(state != "running"))])


def _cap_metrics(caps: tuple[CapFigures, ...]) -> Iterator[Metric]:
    for part in ("limit", "reserved", "posted", "headroom"):
        rows = [((cap.kind, cap.scope), float(getattr(cap, f"{part}_micros"))) for cap in caps]
        yield _gauge(f"gaelp_cap_{part}_micros", ["kind", "scope"], rows)


def _violation_metric(figures: MoneyFigures) -> Metric:
    by_state = {"open": figures.open_violations, "resolved": figures.resolved_violations}
    rows = [
        ((severity, state), float(counts.get(severity, 0)))
        for state, counts in by_state.items()
        for severity in _SEVERITIES
    ]
    return _gauge("gaelp_violations", ["severity", "state"], rows)


def _gauge(name: str, labels: list[str], rows: Sequence[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(name, _HELP[name], labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family
