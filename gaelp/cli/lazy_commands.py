"""Commands that are imported when they are invoked; until then their group lists them with one line of help."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

__all__ = ["LazyCommand", "add_command", "load_command"]


class LazyCommand(TyperCommand):
    """Takes the place of a command or a group until it is invoked; its callback imports the real one."""

    def load(self) -> TyperCommand | TyperGroup:
        """Import the real command."""
        return cast("Callable[[], TyperCommand | TyperGroup]", self.callback)()

    def make_context(self, *args: Any, **extra: Any) -> typer.Context:
        """Parse the arguments as the real command does: the context returned is that of the real command."""
        return cast("typer.Context", self.load().make_context(*args, **extra))


def add_command(app: typer.Typer, words: str, place: str, line: str) -> None:
    """Add the function or Typer group at `place` (`module:name`); `line` is the first line of its own help.

    `words` are what is typed, such as `kill`, or `bench market` for a command of the group `bench`.
    """
    *above, name = words.split()
    for word in above:
        app = _group(app, word)

    def load() -> TyperCommand | TyperGroup:
        return load_command(name, place, line)

    app.command(name, cls=LazyCommand, help=line)(load)


def _group(app: typer.Typer, name: str) -> typer.Typer:
    for group in app.registered_groups:
        if group.name == name and group.typer_instance is not None:
            return group.typer_instance
    raise ValueError(f"there is no group {name}: add_typer adds one")


def load_command(name: str, place: str, line: str) -> TyperCommand | TyperGroup:
    """Import what is at `place` and make a command of it, or a group that has `line` as its help."""
    module, _, attribute = place.partition(":")
    target: typer.Typer | Callable[..., None] = getattr(import_module(module), attribute)
    holder = typer.Typer(rich_markup_mode="markdown")
    if isinstance(target, typer.Typer):
        holder.add_typer(target, name=name, help=line)
    else:
        holder.command(name)(target)
    return cast("TyperCommand | TyperGroup", get_group(holder).commands[name])
