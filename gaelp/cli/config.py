"""`gaelp config`: check a configuration, or show it with the origin of every value."""

import json
from typing import Annotated, Any

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import LoadedSettings, load_settings
from gaelp.phases.inputs import check_inputs

__all__ = ["app", "check", "show"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def check(
    path_or_name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|PATH]", help="What to check, laid over configs/base.yaml; base.yaml if left out."
        ),
    ] = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load a configuration and the files it names exactly as a run would, and say everything that is wrong.

    **Examples**

    - `gaelp config check configs/production.yaml`

    - `gaelp config check quick-test --set evaluation.episodes=128`

    Exits 0 if a run could start with it, 2 if not. Nothing is written.
    """
    loaded = prepare(path_or_name, overrides)
    check_inputs(loaded)
    if loaded.settings.platform.name is not None:
        from gaelp.platforms.rule_inputs import check_money_rules  # noqa: PLC0415 - heavy, and seldom needed

        check_money_rules(loaded.settings.budget)
    asked = path_or_name or "base"
    if as_json:
        show_json({"config": asked, "hash": loaded.hash, "ok": True})
    else:
        show_text(f"{asked}: right. Hash {loaded.hash}")


@app.command()
def show(
    config: ConfigOption = None,
    origin: Annotated[bool, typer.Option("--origin", help="Tell for every value which layer it comes from.")] = False,
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
