"""`gaelp api`: the emergency stop over HTTP, and the money figures for Prometheus."""

from gaelp.api import serve
from gaelp.cli.interruption import ctrl_c_ends
from gaelp.cli.options import ConfigOption, SetOption
from gaelp.cli.output import say, show_text
from gaelp.cli.startup import prepare
from gaelp.config.places import absolute
from gaelp.observability import get_logger

__all__ = ["api"]


def api(config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Serve the emergency stop and the money figures over HTTP, until Ctrl-C or SIGTERM.

    **Examples**, on this machine

    - `curl http://127.0.0.1:4280/kill -H 'Content-Type: application/json' -d '{"reason": "a drill"}'` stops all

    - `curl http://127.0.0.1:4280/kill` shows whether it is stopped, by whom and why

    - `curl http://127.0.0.1:4280/metrics` shows what Prometheus reads

    **From other machines** it takes a token of your own, which callers then send

    - `GAELP__API__TOKEN_FILE=/run/secrets/gaelp-token gaelp api --set api.host=0.0.0.0 --set api.port=4280`

    - `curl http://HOST:4280/kill -H "Authorization: Bearer $TOKEN" -d '{"reason": "a drill"}'`

    Nothing is released over HTTP: `gaelp revive` does that, with signatures. See docs/api.md.
    """
    loaded = prepare(config, overrides)
    home = absolute(loaded.settings.home)
    if not home.is_dir():  # a first start; or a typing error, and this server stops nothing that spends
        get_logger(__name__).warning("there is no home yet", home=str(home), named_by=loaded.origins["home"].place)
    ctrl_c_ends("the HTTP server")
    serve(loaded.settings, when_up=_show_address)


def _show_address(address: str) -> None:
    show_text(f"Listening on {address}")
    say(f"Stop all spending with POST {address}/kill; figures are at {address}/metrics. Ctrl-C ends it.")
