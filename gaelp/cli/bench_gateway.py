"""`gaelp bench gateway`: how many decisions the gateway makes on this machine."""

from typing import Annotated

import typer

from gaelp.bench.gateway_speed import measure_gateway
from gaelp.cli.options import JsonOption
from gaelp.cli.output import say, show_json, show_table

__all__ = ["gateway"]


def gateway(
    decisions: Annotated[
        int, typer.Option("--decisions", min=1000, max=200_000, help="How many single ones for each figure.")
    ] = 12_000,
    as_json: JsonOption = False,
) -> None:
    """Decisions per second, their delay and hot swaps, with a plain PyTorch service in the same run.

    A decision is the bids of one campaign for an hour, with its memory read and written. Client and server share the
    machine; the CPU figures are the server's alone. Versions are swapped 20 times while requests run.

    - `gaelp bench gateway --json`
    """
    speed = measure_gateway(decisions=decisions, report=say)
    if as_json:
        show_json(speed.model_dump(mode="json"))
        return
    rows = [
        (
            name,
            f"{figures.decisions_per_s:,.0f}",
            f"{figures.batched_decisions_per_s:,.0f}",
            f"{figures.p50_ms:.1f}",
            f"{figures.p99_ms:.1f}",
            f"{figures.cpu_us_per_decision:,.0f}",
            f"{figures.batched_cpu_us_per_decision:,.1f}",
        )
        for name, figures in (("gateway", speed), ("plain PyTorch service", speed.peer))
    ]
    show_table(("service", "per second", "batched", "p50 ms", "p99 ms", "CPU us each", "batched CPU us"), rows)
    say(
        f"{speed.swaps} hot swaps: {speed.dropped_in_swaps} of {speed.requests_in_swaps:,} requests dropped. p50 and"
        " p99 are at half of the measured load."
    )
