"""Functions of phases that are imported when they are called: whoever only lists the phases starts seconds earlier."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["lazy_call"]


def lazy_call(module: str, name: str) -> Callable[..., Any]:
    """The function `name` of `gaelp.phases.<module>`, imported at its first call."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"gaelp.phases.{module}"), name)(*arguments)

    return call
