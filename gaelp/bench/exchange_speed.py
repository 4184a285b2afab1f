"""How fast the exchange runs auctions, and whether its memory stays flat in simulated time."""

import resource
import sys
import time

from gaelp.bench.sandbox_bidders import incumbent, new_trial
from gaelp.config.base import Frozen
from gaelp.sandbox.exchange import Exchange
from gaelp.sandbox.spec import SandboxSpec

__all__ = ["ExchangeSpeed", "measure_exchange"]

_DAY = 1440
_CAMPAIGNS = 10
_WARM_UP_DAYS = 70  # until past states and pending conversions are as many as they will be
_PART_DAYS = 7  # how often a past state is kept


class ExchangeSpeed(Frozen):
    """Auctions per CPU second on one core, and what the process grew by after some weeks."""

    campaigns: int
    ad_groups: int  # of each campaign
    rivals: int
    auctions: int
    simulated_days: int
    auctions_per_s: float  # over the whole run
    best_week_auctions_per_s: float  # how much less a busy machine allowed
    memory_growth_bytes: int  # highest resident size after the run less that after the warm-up
    snapshot_bytes: int
    snapshot_growth: float  # size of the snapshot after the run over that after the warm-up


def measure_exchange(spec: SandboxSpec, *, days: int = 119) -> ExchangeSpeed:
    """Serve ten campaigns, each with eight ad groups on a product of its own, with everything the spec has."""
    exchange = Exchange(spec)
    trials = [new_trial(exchange, number) for number in range(1, _CAMPAIGNS + 1)]
    for trial in trials:
        exchange.serve(incumbent(trial))
    exchange.advance(_WARM_UP_DAYS * _DAY)
    snapshot, memory = len(exchange.snapshot()), _peak_bytes()
    counted, began, speeds = exchange.searches, time.process_time(), []
    for part in range(days // _PART_DAYS):
        before, part_began = exchange.searches, time.process_time()
        exchange.advance((_WARM_UP_DAYS + (part + 1) * _PART_DAYS) * _DAY)
        speeds.append((exchange.searches - before) / (time.process_time() - part_began))
    auctions, seconds = exchange.searches - counted, time.process_time() - began
    end = len(exchange.snapshot())
    return ExchangeSpeed(
        campaigns=_CAMPAIGNS,
        ad_groups=len(trials[0].campaign.groups),
        rivals=spec.rivals.count,
        auctions=auctions,
        simulated_days=days,
        auctions_per_s=auctions / seconds,
        best_week_auctions_per_s=max(speeds),
        memory_growth_bytes=_peak_bytes() - memory,
        snapshot_bytes=end,
        snapshot_growth=end / snapshot,
    )


def _peak_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
