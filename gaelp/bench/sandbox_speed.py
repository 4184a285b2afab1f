"""Everything `gaelp bench sandbox` measures: one part each, whose figures are printed together."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from gaelp.bench.exchange_speed import ExchangeSpeed, measure_exchange
from gaelp.bench.synthesis_speed import SynthesisSpeed, measure_synthesis
from gaelp.config.base import Frozen
from gaelp.sandbox.incumbent import SynthesisSpec
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["SandboxSpeed", "measure_sandbox"]

_DAYS, _QUICK_DAYS = 119, 7
_CALLS, _QUICK_CALLS = 800, 100
_HISTORY, _QUICK_HISTORY = SynthesisSpec(weeks=6, campaigns=12), SynthesisSpec(weeks=1, campaigns=2)
_API_PART = "gaelp.bench.api_speed"  # needs the official client, which is an extra


class SandboxSpeed(Frozen):
    """The parts measured; another part is another field, and its figures join those of the others."""

    exchange: ExchangeSpeed
    synthesis: SynthesisSpeed
    api: dict[str, Any] | None  # None: the official client is not installed

    def figures(self) -> dict[str, Any]:
        """The figures of all parts side by side, as plain data."""
        api = self.api or {"api_calls_per_s": None, "api_p99_ms": None}
        return {**self.exchange.model_dump(), **self.synthesis.model_dump(), **api}


def measure_sandbox(spec: SandboxSpec, *, quick: bool, report: Callable[[str], None]) -> SandboxSpeed:
    """Measure each part in turn; quick: few simulated days, a small history, few calls."""
    exchange = measure_exchange(spec, days=_QUICK_DAYS if quick else _DAYS)
    report(f"  exchange: {exchange.auctions_per_s:,.0f} auctions/s")
    synthesis = measure_synthesis(_QUICK_HISTORY if quick else _HISTORY, spec)
    report(f"  history: {synthesis.synthesize_seconds:.1f} s for {synthesis.synthesize_weeks} weeks")
    api = _measured_api(spec, calls=_QUICK_CALLS if quick else _CALLS)
    report(f"  API: {api['api_calls_per_s']:,.0f} calls/s" if api else "  API: google-ads is not installed")
    return SandboxSpeed(exchange=exchange, synthesis=synthesis, api=api)


def _measured_api(spec: SandboxSpec, *, calls: int) -> dict[str, Any] | None:
    try:
        part = import_module(_API_PART)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("gaelp"):
            raise
        return None
    return dict(part.measure_api(spec, calls=calls).model_dump())
