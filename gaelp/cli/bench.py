"""`gaelp bench`: measure this machine; one JSON object, peers in the same run where they are installed."""

from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare

__all__ = ["app", "market"]

app = typer.Typer(no_args_is_help=True, help="Measure this machine, with peers in the same run where installed.")

_SIZES = (256, 1024, 4096, 16_384, 65_536)
_HEADLINE = 4096


@app.command("market")
def market(
    config: ConfigOption = None,
    overrides: SetOption = None,
    name: Annotated[str, typer.Option("--market", help="The market to time; `full` has every mechanism on.")] = "full",
    quick: Annotated[bool, typer.Option("--quick", help="Only the headline batch, without peers.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Campaign-hours per CPU-second on one core, memory per campaign, and how both grow with the batch.

    Peers (RTBGym, a plain auction loop) are measured too once `make bench-peers` has built them.

    - `gaelp bench market --json`
    - `gaelp bench market --market cal --quick`
    """
    from gaelp.config.places import repository_root  # noqa: PLC0415 - numba takes a second that `--help` need not spend
    from gaelp.market.build import build_market, configured_personas, load_market_spec  # noqa: PLC0415 - as above
    from gaelp.market.peers import PEERS, measure_peer  # noqa: PLC0415 - as above
    from gaelp.market.speed import measure_market  # noqa: PLC0415 - as above

    settings = prepare(config, overrides).settings
    timed = build_market(load_market_spec(name), configured_personas(settings))
    say(f"Timing market {name}: {timed.spec.segments} segments, {timed.hours} hours, one core ...")
    speeds = measure_market(
        timed,
        (_HEADLINE,) if quick else _SIZES,
        lambda one: say(f"  {one.campaigns} campaigns: {one.campaign_steps_per_s:,.0f} campaign-hours/s"),
    )
    peers = {} if quick else {peer: measure_peer(peer, repository_root() / "bench", 5.0) for peer in PEERS}
    headline = next(one for one in speeds if one.campaigns == _HEADLINE)
    result = {
        "campaign_steps_per_s": headline.campaign_steps_per_s,
        "env_steps_per_s": headline.env_steps_per_s,
        "bytes_per_campaign": headline.bytes_per_campaign,
        **{
            f"ratio_to_{peer}": None if speed is None else headline.campaign_steps_per_s / speed
            for peer, speed in (peers or dict.fromkeys(PEERS)).items()
        },
        **{
            f"env_ratio_to_{peer}": None if speed is None else headline.env_steps_per_s / speed
            for peer, speed in (peers or dict.fromkeys(PEERS)).items()
        },
        "market": name,
        "peers_steps_per_s": peers,
        "by_campaigns": [one.model_dump() for one in speeds],
    }
    if as_json:
        show_json(result)
        return
    rows = [
        (
            f"{one.campaigns:,}",
            f"{one.campaign_steps_per_s:,.0f}",
            f"{one.env_steps_per_s:,.0f}",
            f"{one.bytes_per_campaign:,.0f}",
        )
        for one in speeds
    ]
    show_table(("campaigns", "market, hours/s", "with observation vectors, hours/s", "bytes a campaign"), rows)
    for peer, speed in peers.items():
        told = (
            "not installed (make bench-peers)"
            if speed is None
            else f"{speed:,.0f} steps/s, ratio {headline.campaign_steps_per_s / speed:,.0f}"
        )
        say(f"{peer}: {told}")
