"""Assemble the command line: each command by name, place and one line of help; it is imported when it is invoked."""

import os
from importlib.metadata import entry_points
from typing import Annotated

from gaelp.cli.interruption import report_interruption

with report_interruption():  # these imports are most of the time that `gaelp --help` takes
    import typer

    from gaelp.cli.lazy_commands import add_command
    from gaelp.cli.output import show_text
    from gaelp.cli.reporting_group import ReportingGroup

__all__ = ["app", "describe", "run"]

app = typer.Typer(
    name="gaelp",
    cls=ReportingGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

_GROUPS = (  # whose commands are in files of their own
    ("bench", "Measure this machine, with peers in the same run where installed."),
    ("config", "Check and show the settings of a run."),
)
_COMMANDS = (  # what is typed, where it is, and the first line of its own help
    ("alerts", "gaelp.cli.alerts:app", "Alerts: what waits for an answer, and whether they arrive."),
    ("api", "gaelp.cli.api:api", "Serve the emergency stop and the money figures over HTTP, until Ctrl-C or SIGTERM."),
    ("approvals", "gaelp.cli.approvals:app", "What waits for signatures: orders, limits, releases."),
    ("audit", "gaelp.cli.audit:app", "The log of every decision."),
    (
        "bench data",
        "gaelp.cli.bench_data:data",
        "Rows per second and memory of the Beam jobs `redact` and `episode_metrics`, with pandas in the same run.",
    ),
    (
        "bench gateway",
        "gaelp.cli.bench_gateway:gateway",
        "Decisions per second, their delay and hot swaps, with a plain PyTorch service in the same run.",
    ),
    (
        "bench history",
        "gaelp.cli.bench_history:history",
        "CPU seconds and memory of all off-policy estimators and their bootstrap, with plain Python in the same run.",
    ),
    (
        "bench market",
        "gaelp.cli.bench_market:market",
        "Campaign-hours per CPU-second on one core, memory per campaign, and how both grow with the batch.",
    ),
    (
        "bench ledger",
        "gaelp.cli.bench_ledger:ledger",
        "Two-phase transfers per second under four caps each: SQLite and Postgres, one process and eight.",
    ),
    (
        "bench sandbox",
        "gaelp.cli.bench_sandbox:sandbox",
        "Auctions per second, the memory that simulated time takes, a history of six weeks, and API calls.",
    ),
    (
        "bench train",
        "gaelp.cli.bench_train:train",
        "PPO on one core: frames per CPU-second, the share of the matmul limit, and the time to learn a market.",
    ),
    (
        "config check",
        "gaelp.cli.config_check:check",
        "Load a configuration and the files it names exactly as a run would, and report everything that is wrong.",
    ),
    ("config show", "gaelp.cli.config_show:show", "Show every setting; secrets are shown as stars."),
    ("content", "gaelp.cli.content:app", "Adverts: what may be published, and what waits for a person."),
    ("data", "gaelp.cli.data:app", "Logs in, markets out."),
    (
        "doctor",
        "gaelp.cli.doctor:doctor",
        "Say for every part whether it can be used, and if not, why and how to get it.",
    ),
    ("gateway", "gaelp.cli.gateway:app", "Bids of exported versions over HTTP; it spends nothing."),
    ("history", "gaelp.cli.history:app", "Logged campaigns: what they can show."),
    (
        "init",
        "gaelp.cli.init:init",
        "Write a commented configuration to start from, and with --agent a package with an agent of your own.",
    ),
    ("keys", "gaelp.cli.keys:app", "Keys of those who approve."),
    (
        "kill",
        "gaelp.cli.kill:kill",
        "Stop all spending, now: latch file, fence in the ledger's database, pause on the platform.",
    ),
    ("ledger", "gaelp.cli.ledger:app", "The ledger: what is reserved, spent and left, and whether it balances."),
    (
        "mandate",
        "gaelp.cli.mandate:app",
        "Mandates: what an agent may order and bid without a new signature each time.",
    ),
    ("market", "gaelp.cli.market:app", "Tune and compare rule-based bidders on markets."),
    ("models", "gaelp.cli.models:app", "Models: signed versions, and which one is champion."),
    ("pilot", "gaelp.cli.pilot:app", "A small budget on an ad platform: plan it, run it."),
    ("scale", "gaelp.cli.scale:app", "Release an agent that passed gate 3 beside its control, step by step."),
    (
        "revive",
        "gaelp.cli.revive:revive",
        (
            "Let spending resume: everyone who approves runs this with their key,"
            " and the last one needed releases the stop."
        ),
    ),
    (
        "sandbox",
        "gaelp.cli.sandbox:app",
        "A local ad platform with simulated users, time and money, for real API clients.",
    ),
    (
        "train",
        "gaelp.cli.train:train",
        "Train an agent on the market, choose its best checkpoint, and judge it on episodes it has not seen.",
    ),
    (
        "validate",
        "gaelp.cli.validate:validate",
        "Judge a trained agent on logged campaigns: fidelity of the market, then what the agent would have been worth.",
    ),
    ("violations", "gaelp.cli.violations:app", "What went wrong with money, and how it was settled."),
)

for name, line in _GROUPS:
    app.add_typer(typer.Typer(no_args_is_help=True, help=line), name=name)
for command in _COMMANDS:
    add_command(app, *command)
for extension in entry_points(group="gaelp.commands"):  # what drives the pipeline lives outside this package
    extension.load()(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from gaelp.cli.installation import installed_version  # noqa: PLC0415 - with the settings, which no help needs

        show_text(f"gaelp {installed_version()}")
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[  # its callback acts
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[  # ReportingGroup acts, wherever it is typed
        bool, typer.Option("--debug", help="Show the traceback of an error; may be typed anywhere.")
    ] = False,
) -> None:
    """Take an advertising agent from simulation to real money, one proven step at a time.

    **Begin with**

    - `gaelp doctor`: is everything here that a run needs?

    - `gaelp init my-project`: a commented configuration of your own

    - `gaelp config show --config quick-test --origin`: every setting, and where its value comes from

    - `gaelp config check my.yaml`: is this file valid?

    - `gaelp train --config quick-test`: train an agent, and see what it adds to the best rule

    **Settings** come from configs/base.yaml, `--config`, `GAELP__A__B` variables and `--set a.b=c`; the last wins.

    **Exit codes**: 0 done, 2 bad input, 3 refused by a gate or guard, 4 waiting for a person, 1 anything else,
    130 stopped with Ctrl-C, 141 the reader of the output has ended (`| head`).
    """


def run() -> None:
    """Entry point of the `gaelp` command."""
    os.umask(0o077)  # whatever this process and its children make, only their owner may read
    with report_interruption():
        app(prog_name="gaelp")
