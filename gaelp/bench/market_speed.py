"""Everything `gaelp bench market` measures: batches of several sizes, and the peers that are installed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gaelp.bench.batch_speed import BatchSpeed, measure_batches
from gaelp.bench.market_peers import PEERS
from gaelp.bench.paired_timing import PairedTimings, measure_in_pairs
from gaelp.config.base import Frozen
from gaelp.market.market import Market

__all__ = ["MarketSpeed", "measure_market"]

_SIZES = (256, 1024, 4096, 16_384, 65_536)
_HEADLINE = 4096
_PAIRS = 5


class MarketSpeed(Frozen):
    """Speeds by batch size, and by peer; None for a peer that was not measured."""

    market: str
    by_campaigns: tuple[BatchSpeed, ...]
    peers: dict[str, PairedTimings | None]

    def figures(self) -> dict[str, Any]:
        """As plain data, the figures of the headline batch and the ratios to the peers first."""
        headline = next(batch for batch in self.by_campaigns if batch.campaigns == _HEADLINE)
        return {
            **headline.model_dump(exclude={"campaigns"}),
            **{f"ratio_to_{peer}": pairs and pairs.ratio for peer, pairs in self.peers.items()},
            **{f"env_ratio_to_{peer}": pairs and pairs.env_ratio for peer, pairs in self.peers.items()},
            **self.model_dump(by_alias=True),
        }


def measure_market(market: Market, bench: Path, *, quick: bool, report: Callable[[str], None]) -> MarketSpeed:
    """Time the market, then each peer of the folder `bench` alternately with it; quick: one batch size, no peers."""
    batches = measure_batches(
        market,
        (_HEADLINE,) if quick else _SIZES,
        lambda batch: report(f"  {batch.campaigns} campaigns: {batch.campaign_steps_per_s:,.0f} campaign-hours/s"),
    )
    peers = {peer: None if quick else _beside(market, peer, bench, report) for peer in PEERS}
    return MarketSpeed(market=market.spec.name, by_campaigns=batches, peers=peers)


def _beside(market: Market, peer: str, bench: Path, report: Callable[[str], None]) -> PairedTimings | None:
    return measure_in_pairs(
        market,
        _HEADLINE,
        peer,
        bench,
        pairs=_PAIRS,
        report=lambda pair: report(f"  {peer}: ratio {pair.campaign_steps_per_s / pair.peer_steps_per_s:,.0f}"),
    )
