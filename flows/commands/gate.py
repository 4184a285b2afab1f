"""`gaelp gate`: list the gates that wait for a person, show the evidence, decide; and what a gate can see at all."""

from pathlib import Path
from typing import Annotated

import typer

from flows.gate_desk import decide, list_waiting, show_gate
from gaelp.cli.gate_power import power
from gaelp.cli.keys import PassphraseFileOption, open_key
from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.startup import prepare_reading

__all__ = ["RunArgument", "app"]

app = typer.Typer(no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run; `gaelp runs` lists them.")]
VerdictOption = Annotated[
    str,
    typer.Option(
        "--verdict",
        metavar="CODE",
        help="Required: the code of the verdict you looked at (`gaelp gate show RUN`).",
        show_default=False,
    ),
]
WhyOption = Annotated[
    str, typer.Option("--why", help="Required: the reason, for whoever asks later.", show_default=False)
]
WhoOption = Annotated[str | None, typer.Option("--who", help="Your name.", show_default="the user logged in")]
GateKeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Sign with this key (`gaelp keys new`); needed where money can move."),
]


@app.command("list")
def list_(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show every gate that waits for a person."""
    list_waiting(prepare_reading(config).settings, as_json=as_json)


@app.command()
def show(run: RunArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show what a gate of a run says, rule by rule, and what was decided before."""
    show_gate(prepare_reading(config).settings, run, as_json=as_json)


@app.command()
def approve(
    run: RunArgument,
    verdict: VerdictOption = "",
    why: WhyOption = "",
    who: WhoOption = None,
    key: GateKeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Approve the verdict you looked at: the run resumes with the next phase."""
    signing = open_key(key, passphrase_file) if key else None
    decide(prepare_reading(config).settings, "approve", run, code=verdict, why=why, who=who, key=signing)


@app.command()
def reject(
    run: RunArgument,
    verdict: VerdictOption = "",
    why: WhyOption = "",
    who: WhoOption = None,
    key: GateKeyOption = None,
    passphrase_file: PassphraseFileOption = None,
    config: ConfigOption = None,
) -> None:
    """Reject: the run ends as Rejected, with your reason."""
    signing = open_key(key, passphrase_file) if key else None
    decide(prepare_reading(config).settings, "reject", run, code=verdict, why=why, who=who, key=signing)


@app.command()
def rerun(
    run: RunArgument,
    verdict: VerdictOption = "",
    why: WhyOption = "",
    who: WhoOption = None,
    config: ConfigOption = None,
) -> None:
    """Repeat the phase, with another seed and judged on other episodes."""
    decide(prepare_reading(config).settings, "rerun", run, code=verdict, why=why, who=who, key=None)


app.command()(power)
