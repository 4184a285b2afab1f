"""What the gateway counts, by version, for Prometheus and for `GET /admin/models/{id}/metrics`."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["GatewayMetrics", "VersionFigures"]

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)
_CAMPAIGNS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


@dataclass(slots=True)
class VersionFigures:
    """What one version did since the gateway started."""

    decisions: int = 0
    shadow_decisions: int = 0
    failed_decisions: int = 0  # it could not make; another version did, or the caller got an error
    stood_in: int = 0  # decisions it made for another version
    seconds: float = 0.0
    last_error: str | None = None


class GatewayMetrics:
    """Counters of one gateway, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._of: defaultdict[int, VersionFigures] = defaultdict(VersionFigures)
        self._decisions = Counter("gaelp_gateway_decisions", "Decisions made", ["version"], registry=registry)
        self._shadows = Counter(
            "gaelp_gateway_shadow_decisions", "Decisions of shadows", ["version"], registry=registry
        )
        self._failed = Counter(
            "gaelp_gateway_failed_decisions", "Decisions a version could not make", ["version"], registry=registry
        )
        self._stood_in = Counter(
            "gaelp_gateway_stand_ins", "Decisions made by another version", ["assigned", "version"], registry=registry
        )
        self.repeated = Counter("gaelp_gateway_repeated", "Decisions given again for the same hour", registry=registry)
        self._answers = Counter("gaelp_gateway_answers", "Answers by status", ["status"], registry=registry)
        self._share = Gauge("gaelp_gateway_traffic_percent", "Share of campaigns", ["version"], registry=registry)
        self.campaigns = Gauge("gaelp_gateway_campaigns", "Campaigns that are remembered", registry=registry)
        self.batch = Histogram("gaelp_gateway_batch_campaigns", "In one call", buckets=_CAMPAIGNS, registry=registry)
        self.seconds = Histogram(
            "gaelp_gateway_answer_seconds", "From a request to its answer", buckets=_SECONDS, registry=registry
        )

    def decided(self, version: int, campaigns: int, seconds: float) -> None:
        """Count decisions of a version."""
        figures = self._of[version]
        figures.decisions += campaigns
        figures.seconds += seconds
        self._decisions.labels(version).inc(campaigns)

    def shadowed(self, version: int, campaigns: int, seconds: float) -> None:
        """Count decisions of a shadow."""
        figures = self._of[version]
        figures.shadow_decisions += campaigns
        figures.seconds += seconds
        self._shadows.labels(version).inc(campaigns)

    def failed(self, version: int, campaigns: int, error: str) -> None:
        """Count what a version could not decide."""
        figures = self._of[version]
        figures.failed_decisions += campaigns
        figures.last_error = error
        self._failed.labels(version).inc(campaigns)

    def stood_in(self, assigned: int, version: int, campaigns: int) -> None:
        """Count decisions that one version made for another."""
        self._of[version].stood_in += campaigns
        self._stood_in.labels(assigned, version).inc(campaigns)

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answers.labels(status).inc()

    def show_traffic(self, shares: dict[int, float]) -> None:
        """Show these shares, and no others."""
        self._share.clear()
        for version, share in shares.items():
            self._share.labels(version).set(share)

    def of(self, version: int) -> dict[str, Any]:
        """The figures of a version."""
        figures = self._of.get(version, VersionFigures())
        made = figures.decisions + figures.shadow_decisions
        return {**asdict(figures), "mean_microseconds": 1e6 * figures.seconds / made if made else None}

    @property
    def stand_ins(self) -> int:
        """How many decisions another version had to make."""
        return sum(figures.stood_in for figures in self._of.values())

    def exposition(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self._registry)
