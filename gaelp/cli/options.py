"""Options that several commands share, so that each is spelled and explained once."""

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from gaelp.config import Settings, names_in
from gaelp.config.objective import objective_from_text

__all__ = [
    "ConfigOption",
    "JsonOption",
    "ObjectiveOption",
    "SetOption",
    "as_typed",
    "same_settings",
    "with_objective",
]


def _complete_config(incomplete: str) -> list[str]:
    return [name for name in names_in() if name.startswith(incomplete)]


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        "-c",
        metavar="NAME|PATH",
        help="A name from configs/ or the path of a YAML file, laid over configs/base.yaml.",
        autocompletion=_complete_config,
        show_default="base.yaml alone",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value, such as run.seed=7; may be repeated."),
]
ObjectiveOption = Annotated[
    str | None,
    typer.Option(
        "--objective",
        metavar="KIND[=TARGET]",
        help="What is rewarded: value, profit, target_roas=2.5 or target_cpa=25000000 (micros).",
        show_default="of config",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.", show_default=False)
]


def as_typed(name: str, config: str | None, overrides: Sequence[str] | None, objective: str | None = None) -> list[str]:
    """What was typed to mean this market, so that an advice built with it works when it is pasted."""
    settings = [word for override in overrides or () for word in ("--set", override)]
    option = ("--objective", objective) if objective else ()
    return [name, *(("--config", config) if config else ()), *option, *settings]


def with_objective(settings: Settings, objective: str | None) -> Settings:
    """The settings with the objective that was typed, if one was."""
    return settings.model_copy(update={"objective": objective_from_text(objective)}) if objective else settings


def same_settings(config: str | None, overrides: Sequence[str] | None) -> str:
    """What an advised command needs behind it to have the settings of this one; empty, or it begins with a space."""
    return "".join(f" {shlex.quote(word)}" for word in as_typed("", config, overrides)[1:])
