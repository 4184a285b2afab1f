"""`gaelp violations`: what went wrong with money, and who settled it."""

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
    everything: Annotated[bool, typer.Option("--all", help="Also what is settled.", show_default=False)] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every violation that nobody has settled yet, the oldest first; long texts are whole in `--json`."""
    found = violations(prepare_reading(config, overrides).settings).list(open_only=not everything)
    if as_json:
        show_json({"violations": [one.model_dump(mode="json") for one in found]})
    elif not found:
        show_text("No violations." if everything else "No open violations.")
    else:
        show_table(("number", "at (UTC)", "severity", "what"), map(_row, found))


@app.command()
def resolve(
    number: Annotated[int, typer.Argument(help="As `gaelp violations list` shows it.")],
    who: Annotated[str, typer.Option("--who", help="Who settles it.")],
    how: Annotated[str, typer.Option("--how", help="What was done about it, for those who read it later.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle a violation, once and for good; it stays on record.

    - `gaelp violations resolve 3 --who ann --how "the budget was set back on the platform"`
    """
    store = violations(prepare_reading(config, overrides).settings)
    try:
        resolution = Resolution(text=how, by=who, at=SystemClock().now())
    except ValidationError:
        raise BadInput("--who or --how is empty or too long: say in words who settles it, and how") from None
    settled = store.resolve(number, resolution)
    if as_json:
        show_json(settled.model_dump(mode="json"))
    else:
        show_text(f"Violation {number} ({settled.rule}, {settled.scope}) is settled by {who}.")


def _row(one: Violation) -> tuple[str, ...]:
    """All the words below each other, in the one column that may be folded: so the table fits any terminal."""
    lines = [f"{one.rule}: {one.scope}", _short(one.what)]
    if one.resolution is not None:
        lines.append(f"settled by {one.resolution.by}: {_short(one.resolution.text)}")
    return str(one.id), f"{one.at:%Y-%m-%d %H:%M}", one.severity, "\n".join(lines)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
