"""Assemble the command line from its groups; each group is a file of its own beside this one."""

from importlib.metadata import entry_points
from typing import Annotated

from gaelp.cli.interruption import told_when_stopped

with told_when_stopped():  # these imports are most of the time that a short command takes
    import typer

    from gaelp.cli import (
        alerts,
        api,
        approvals,
        audit,
        bench,
        config,
        content,
        data,
        doctor,
        keys,
        kill,
        ledger,
        market,
        violations,
    )
    from gaelp.cli.failures import FailureReporting
    from gaelp.cli.installation import installed_version
    from gaelp.cli.output import show_text
    from gaelp.cli.train import train

__all__ = ["app", "describe", "run"]

app = typer.Typer(
    name="gaelp",
    cls=FailureReporting,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(alerts.app, name="alerts")
app.command("api")(api.api)
app.add_typer(approvals.app, name="approvals")
app.add_typer(audit.app, name="audit")
app.add_typer(bench.app, name="bench")
app.add_typer(config.app, name="config")
app.add_typer(content.app, name="content")
app.add_typer(data.app, name="data")
app.command("doctor")(doctor.doctor)
app.add_typer(keys.app, name="keys")
app.command("kill")(kill.kill)
app.add_typer(ledger.app, name="ledger")
app.add_typer(market.app, name="market")
app.command("revive")(kill.revive)
app.command("train")(train)
app.add_typer(violations.app, name="violations")
for found in entry_points(group="gaelp.commands"):  # what drives the pipeline lives outside this package
    found.load()(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        show_text(f"gaelp {installed_version()}")
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[  # its callback acts
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[  # FailureReporting acts, wherever it stands
        bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
    ] = False,
) -> None:
    """Take an advertising agent from simulation to real money, one proven step at a time.

    **Begin with**

    - `gaelp doctor`: is everything here that a run needs?

    - `gaelp config show --config quick-test --origin`: every setting, and where its value comes from

    - `gaelp config check my.yaml`: is this file right?

    - `gaelp train --config quick-test`: train an agent, and see what it adds to the best rule

    **Settings** come from configs/base.yaml, `--config`, `GAELP__A__B` variables and `--set a.b=c`; the last wins.

    **Exit codes**: 0 done, 2 bad input, 3 refused by a gate or guard, 4 waiting for a person, 1 anything else,
    130 stopped with Ctrl-C.
    """


def run() -> None:
    """Entry point of the `gaelp` command."""
    with told_when_stopped():
        app(prog_name="gaelp")
