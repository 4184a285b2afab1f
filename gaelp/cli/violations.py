"""`gaelp violations`: violations of the money rules, and who resolved them."""

from typing import Annotated

import typer
from pydantic import ValidationError

from gaelp.bootstrap import violations
from gaelp.budget.violations import Resolution, Violation
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import show_json, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.errors import BadInput

__all__ = ["app", "list_", "resolve"]

_SHOWN_CHARACTERS = 240

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Resolved ones too.", show_default=False)] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every open violation, oldest first; long texts are complete in `--json`."""
    listed = violations(prepare_reading(config, overrides).settings).list(open_only=not everything)
    if as_json:
        show_json({"violations": [violation.model_dump(mode="json") for violation in listed]})
    elif not listed:
        show_text("No violations." if everything else "No open violations.")
    else:
        show_table(("number", "at (UTC)", "severity", "what"), map(_row, listed))


@app.command()
def resolve(
    number: Annotated[int, typer.Argument(help="As `gaelp violations list` shows it.")],
    who: Annotated[str, typer.Option("--who", help="Who resolves it.")],
    how: Annotated[str, typer.Option("--how", help="What was done about it, for those who read it later.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resolve a violation, for good; it stays on record.

    - `gaelp violations resolve 3 --who ann --how "the budget was set back on the platform"`
    """
    store = violations(prepare_reading(config, overrides).settings)
    try:
        resolution = Resolution(text=how, by=who, at=SystemClock().now())
    except ValidationError:
        raise BadInput("--who or --how is empty or too long: say who resolves it, and how") from None
    settled = store.resolve(number, resolution)
    if as_json:
        show_json(settled.model_dump(mode="json"))
    else:
        show_text(f"Violation {number} ({settled.rule}, {settled.scope}) is resolved by {who}.")


def _row(violation: Violation) -> tuple[str, ...]:
    """All text goes into one column that can be folded, so that the table fits any terminal."""
    lines = [f"{violation.rule}: {violation.scope}", _short(violation.what)]
    if violation.resolution is not None:
        lines.append(f"resolved by {violation.resolution.by}: {_short(violation.resolution.text)}")
    return str(violation.id), f"{violation.at:%Y-%m-%d %H:%M}", violation.severity, "\n".join(lines)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
