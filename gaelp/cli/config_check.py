"""`gaelp config check`: is this configuration, with everything it names, what a run could start with?"""

from typing import Annotated

import typer

from gaelp.cli.options import JsonOption, SetOption
from gaelp.cli.output import show_json, show_text
from gaelp.cli.startup import prepare_run
from gaelp.platforms.rule_inputs import check_money_rules

__all__ = ["check"]


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
    """Load a configuration and the files it names exactly as a run would, and report everything that is wrong.

    **Examples**

    - `gaelp config check configs/production.yaml`

    - `gaelp config check quick-test --set evaluation.episodes=128`

    Exits 0 if a run could start with it, 2 if not. Nothing is written.
    """
    loaded = prepare_run(path_or_name, overrides)
    if loaded.settings.platform.name is not None:
        check_money_rules(loaded.settings.budget)
    asked = path_or_name or "base"
    if as_json:
        show_json({"config": asked, "hash": loaded.hash, "ok": True})
    else:
        show_text(f"{asked} is valid. Hash {loaded.hash}")
