"""`gaelp bench market`: how fast this machine plays a market, with peers in the same run where they are installed."""

from typing import Annotated

import typer

from gaelp.bench.market_speed import measure_market
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.config.places import repository_root
from gaelp.market.build import build_market, configured_personas, load_market_spec

__all__ = ["market"]


def market(
    config: ConfigOption = None,
    overrides: SetOption = None,
    name: Annotated[str, typer.Option("--market", help="The market to time; `full` has every mechanism on.")] = "full",
    quick: Annotated[bool, typer.Option("--quick", help="Only the headline batch, without peers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Campaign-hours per CPU-second on one core, memory per campaign, and how both grow with the batch.

    Peers (RTBGym, a plain auction loop) are measured alternately with it once `make bench-peers` has built them;
    the ratios are medians over the pairs.

    - `gaelp bench market --json`

    - `gaelp bench market --market cal --quick`
    """
    settings = prepare(config, overrides).settings
    timed = build_market(load_market_spec(name), configured_personas(settings))
    say(f"Timing market {name}: {timed.spec.segments} segments, {timed.hours} hours, one core ...")
    speed = measure_market(timed, repository_root() / "bench", quick=quick, report=say)
    if as_json:
        show_json(speed.figures())
        return
    rows = [
        (
            f"{batch.campaigns:,}",
            f"{batch.campaign_steps_per_s:,.0f}",
            f"{batch.env_steps_per_s:,.0f}",
            f"{batch.bytes_per_campaign:,.0f}",
        )
        for batch in speed.by_campaigns
    ]
    show_table(("campaigns", "market, hours/s", "with vectors, hours/s", "bytes a campaign"), rows)
    for peer, paired in speed.peers.items():
        say(f"{peer}: " + (f"ratio {paired.ratio:,.0f}" if paired else "not measured (make bench-peers)"))
