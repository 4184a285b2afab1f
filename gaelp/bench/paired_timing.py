"""Time the market and a peer alternately: a machine's speed drifts by a third within minutes, their ratio by less."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

from pydantic import Field

from gaelp.bench.batch_speed import measure_batch
from gaelp.bench.market_peers import measure_peer
from gaelp.config.base import Frozen
from gaelp.market.market import Market

__all__ = ["PairedTimings", "TimedPair", "measure_in_pairs"]

_PEER_SECONDS = 3.0


class TimedPair(Frozen):
    """One pair of timings in steps per CPU-second: the market with arrays, the market with vectors, the peer."""

    campaign_steps_per_s: float
    env_steps_per_s: float
    peer_steps_per_s: float


class PairedTimings(Frozen):
    """All pairs with one peer; ratios are medians over the pairs."""

    pairs: tuple[TimedPair, ...] = Field(serialization_alias="turns")  # the name in files of earlier versions

    @property
    def ratio(self) -> float:
        """Market steps for each step of the peer."""
        return median(pair.campaign_steps_per_s / pair.peer_steps_per_s for pair in self.pairs)

    @property
    def env_ratio(self) -> float:
        """The same with observation vectors."""
        return median(pair.env_steps_per_s / pair.peer_steps_per_s for pair in self.pairs)


def measure_in_pairs(
    market: Market, campaigns: int, peer: str, bench: Path, *, pairs: int, report: Callable[[TimedPair], None]
) -> PairedTimings | None:
    """Time the market and one peer alternately; None where the peer is not installed."""
    timed = []
    for _ in range(pairs):
        speed = measure_peer(peer, bench, _PEER_SECONDS)
        if speed is None:
            return None
        ours = measure_batch(market, campaigns, repetitions=2)
        timed.append(
            TimedPair(
                campaign_steps_per_s=ours.campaign_steps_per_s,
                env_steps_per_s=ours.env_steps_per_s,
                peer_steps_per_s=speed,
            )
        )
        report(timed[-1])
    return PairedTimings(pairs=tuple(timed))
