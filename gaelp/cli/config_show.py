"""`gaelp config show`: every setting, with the origin of its value."""

import json
from typing import Annotated, Any

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table
from gaelp.config import LoadedSettings, load_settings

__all__ = ["show"]


def show(
    config: ConfigOption = None,
    origin: Annotated[bool, typer.Option("--origin", help="Show for every value which layer it comes from.")] = False,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting; secrets are shown as stars.

    **Examples**

    - `gaelp config show --config quick-test --origin`

    - `gaelp config show --config production --set evaluation.episodes=500 --json`

    The hash names these values: the same settings have the same hash, however they were written.
    """
    loaded = load_settings(config, overrides=overrides or ())
    entries = _entries(loaded, with_origin=origin)
    if as_json:
        show_json({"hash": loaded.hash, "values": entries})
        return
    columns = ("key", "value", "origin") if origin else ("key", "value")
    show_table(columns, ([key, *map(_cell, entry.values())] for key, entry in entries.items()))
    say(f"hash {loaded.hash}")


def _entries(loaded: LoadedSettings, *, with_origin: bool) -> dict[str, dict[str, Any]]:
    if not with_origin:
        return {key: {"value": value} for key, value in loaded.values.items()}
    return {key: {"value": value, "origin": str(loaded.origins[key])} for key, value in loaded.values.items()}


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
