"""The commands that drive the pipeline; `gaelp` finds them by the entry point `gaelp.commands`."""

from flows.commands.register import register

__all__ = ["register"]
