"""The market and its peers in turns: the speed of a machine drifts by a third within minutes, their ratio by less."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

from gaelp.config.base import Frozen
from gaelp.market.market import Market
from gaelp.market.peers import measure_peer
from gaelp.market.speed import measure_batch

__all__ = ["Turn", "Turns", "measure_in_turns"]

_PEER_SECONDS = 3.0


class Turn(Frozen):
    """One after the other: CPU-seconds' worth of steps of ours, as arrays and as vectors, and of the peer."""

    campaign_steps_per_s: float
    env_steps_per_s: float
    peer_steps_per_s: float


class Turns(Frozen):
    """All turns beside one peer; ratios are the medians over the turns."""

    turns: tuple[Turn, ...]

    @property
    def ratio(self) -> float:
        """Market steps for each step of the peer."""
        return median(turn.campaign_steps_per_s / turn.peer_steps_per_s for turn in self.turns)

    @property
    def env_ratio(self) -> float:
        """The same with observation vectors."""
        return median(turn.env_steps_per_s / turn.peer_steps_per_s for turn in self.turns)


def measure_in_turns(
    market: Market, campaigns: int, peer: str, bench: Path, *, turns: int, report: Callable[[Turn], None]
) -> Turns | None:
    """Time the market and one peer alternately; None where the peer is not installed."""
    found = []
    for _ in range(turns):
        speed = measure_peer(peer, bench, _PEER_SECONDS)
        if speed is None:
            return None
        ours = measure_batch(market, campaigns, repetitions=2)
        found.append(
            Turn(
                campaign_steps_per_s=ours.campaign_steps_per_s,
                env_steps_per_s=ours.env_steps_per_s,
                peer_steps_per_s=speed,
            )
        )
        report(found[-1])
    return Turns(turns=tuple(found))
