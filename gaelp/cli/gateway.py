"""`gaelp gateway`: serve the bids of exported versions over HTTP."""

import typer

from gaelp.cli.interruption import ctrl_c_ends
from gaelp.cli.options import ConfigOption, SetOption
from gaelp.cli.output import say, show_text
from gaelp.cli.startup import prepare
from gaelp.clock import SystemClock
from gaelp.gateway.gateway_server import serve_gateway

__all__ = ["app", "describe", "start"]

app = typer.Typer(no_args_is_help=True, help="Bids of exported versions over HTTP; it spends nothing.")


@app.callback()
def describe() -> None:
    """Bids of exported versions over HTTP; it spends nothing."""


@app.command()
def start(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Serve decisions until Ctrl-C or SIGTERM, with the traffic of before, else with the champion.

    The champion has to be exported first: `gaelp models export`.

    - `gaelp gateway start`

    - `curl http://127.0.0.1:4290/admin/traffic` shows which version decides

    - `curl -X PUT http://127.0.0.1:4290/admin/traffic -H 'Content-Type: application/json'
      -d '{"shares": {"3": 90, "4": 10}, "why": "canary"}'` moves traffic

    From other machines it takes GAELP__GATEWAY__TOKEN. See docs/gateway.md.
    """
    settings = prepare(config, overrides).settings
    ctrl_c_ends("the gateway")
    serve_gateway(settings, SystemClock(), when_up=_show_address)


def _show_address(address: str) -> None:
    show_text(f"Listening on {address}")
    say(f"Ask with POST {address}/decisions; {address}/ready says whether it can answer. Ctrl-C ends it.")
