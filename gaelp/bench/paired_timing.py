"""Time the market and a peer alternately: a machine's speed drifts by a third within minutes, their ratio by less."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

from gaelp.bench.batch_speed import measure_batch
from gaelp.bench.market_peers import measure_peer
from gaelp.config.base import Frozen
from gaelp.market.market import Market

__all__ = ["TimedTurn", "Turns", "measure_in_turns"]

_PEER_SECONDS = 3.0


class TimedTurn(Frozen):
    """One pair of timings in steps per CPU-second: the market with arrays, the market with vectors, the peer."""

    campaign_steps_per_s: float
    env_steps_per_s: float
    peer_steps_per_s: float


class Turns(Frozen):
    """All pairs with one peer; ratios are medians over the pairs."""

    turns: tuple[TimedTurn, ...]

    @property
    def ratio(self) -> float:
        """Market steps for each step of the peer."""
        return median(turn.campaign_steps_per_s / turn.peer_steps_per_s for turn in self.turns)

    @property
    def env_ratio(self) -> float:
        """The same with observation vectors."""
        return median(turn.env_steps_per_s / turn.peer_steps_per_s for turn in self.turns)


def measure_in_turns(
    market: Market, campaigns: int, peer: str, bench: Path, *, turns: int, report: Callable[[TimedTurn], None]
) -> Turns | None:
    """Time the market and one peer alternately; None where the peer is not installed."""
    timed = []
    for _ in range(turns):
        speed = measure_peer(peer, bench, _PEER_SECONDS)
        if speed is None:
            return None
        ours = measure_batch(market, campaigns, repetitions=2)
        timed.append(
            TimedTurn(
                campaign_steps_per_s=ours.campaign_steps_per_s,
                env_steps_per_s=ours.env_steps_per_s,
                peer_steps_per_s=speed,
            )
        )
        report(timed[-1])
    return Turns(turns=tuple(timed))
