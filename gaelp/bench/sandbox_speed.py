"""Everything `gaelp bench sandbox` measures: one part each, whose figures are printed together."""

from collections.abc import Callable
from typing import Any

from gaelp.bench.exchange_speed import ExchangeSpeed, measure_exchange
from gaelp.config.base import Frozen
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["SandboxSpeed", "measure_sandbox"]

_DAYS, _QUICK_DAYS = 119, 7


class SandboxSpeed(Frozen):
    """The parts measured; another part is another field, and its figures join those of the others."""

    exchange: ExchangeSpeed

    def figures(self) -> dict[str, Any]:
        """The figures of all parts side by side, as plain data."""
        return {name: value for part in self.model_dump().values() for name, value in part.items()}


def measure_sandbox(spec: SandboxSpec, *, quick: bool, report: Callable[[str], None]) -> SandboxSpeed:
    """Measure each part in turn; quick: few simulated days."""
    exchange = measure_exchange(spec, days=_QUICK_DAYS if quick else _DAYS)
    report(f"  exchange: {exchange.auctions_per_s:,.0f} auctions/s")
    return SandboxSpeed(exchange=exchange)
