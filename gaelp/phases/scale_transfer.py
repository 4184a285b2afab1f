"""Measure for gate 4 whether the agent of a bundle bids as well for other products, and show it."""

from pathlib import Path

from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.phases.agent_bundle import learned_state, load_bundle
from gaelp.phases.phase_result import ResultTable
from gaelp.phases.stage_report import OnReport, StageReport
from gaelp.release.transfer import BidderTransfer, SourceAgent, TransferResult, measure_transfer

__all__ = ["transfer_of_bundle", "transfer_table"]

_NOTHING_KNOWN = 100.0  # a bound that excludes nothing


def transfer_of_bundle(
    settings: Settings, bundle: Path, *, seed: int, clock: Clock, on_report: OnReport = lambda _: None
) -> TransferResult:
    """Play the agent of a bundle on products that it never saw; `metrics` of the result are for gate 4."""
    agent = load_bundle(bundle, settings)
    source = SourceAgent(
        policy=agent.policy,
        market=agent.market,
        tuned=agent.tuned,
        recipe=agent.description.recipe,
        learned=learned_state(bundle, agent),
    )

    def progress(done: int, total: int) -> None:
        on_report(StageReport("playing other products", done, total, "products"))

    return measure_transfer(source, settings.scale.transfer, seed=seed, clock=clock, progress=progress)


def transfer_table(result: TransferResult) -> ResultTable:
    """Return the gains at the source and on other products, one row a bidder."""
    rows = [_row(bidder) for bidder in result.bidders]
    rows += [
        (name, "-", f"{gain.value:.1%} ({gain.lower_95:.1%} .. {gain.upper_95:.1%})", "-")
        for name, gain in result.trained.items()
    ]
    worst = result.worst
    return ResultTable(
        columns=("bidder", "gain at the source", "gain on other products", "share kept"),
        rows=tuple(rows),
        above=(
            f"{result.settings.products} products that the agent never saw, {result.campaigns} held-out campaigns; gain"
            " is the share of the way from a constant bid to the best possible in hindsight"
        ),
        below=result.problem or f"The least gain is {worst.gain:.1%}: {worst.differs}.",
    )


def _row(bidder: BidderTransfer) -> tuple[str, ...]:
    gains = (bidder.source_gain, bidder.product_gain)
    share = bidder.share
    known = share.lower_95 > -_NOTHING_KNOWN
    return (
        bidder.bidder,
        *(f"{gain.value:.1%}" for gain in gains),
        f"{share.value:.0%} ({share.lower_95:.0%} .. {share.upper_95:.0%})" if known else "not known",
    )
