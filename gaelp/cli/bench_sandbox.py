"""`gaelp bench sandbox`: how fast the local ad platform runs on this machine."""

from typing import Annotated

import typer

from gaelp.bench.sandbox_speed import measure_sandbox
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.cli.startup import prepare
from gaelp.sandbox.spec import load_sandbox_spec

__all__ = ["sandbox"]


def sandbox(
    config: ConfigOption = None,
    overrides: SetOption = None,
    name: Annotated[
        str, typer.Option("--spec", help="The world to time: a name in configs/sandbox or a path.")
    ] = "default",
    quick: Annotated[bool, typer.Option("--quick", help="Few simulated days, a small history, few calls.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Auctions per second, the memory that simulated time takes, a history of six weeks, and API calls.

    Auctions are per CPU-second on one core with everything on: ten campaigns with eight ad groups each compete with the
    rivals of the spec, each on a product of its own. API calls are those of Google's official client, over TLS gRPC to
    a sandbox that is started for it; null if the client is not installed.

    - `gaelp bench sandbox --json`

    - `gaelp bench sandbox --quick`
    """
    prepare(config, overrides)
    spec = load_sandbox_spec(name)
    say(f"Timing the world {name} ...")
    speed = measure_sandbox(spec, quick=quick, report=say)
    if as_json:
        show_json(speed.figures())
        return
    rows = [(name, "-" if value is None else f"{value:,.6g}") for name, value in speed.figures().items()]
    show_table(("figure", "value"), rows)
