"""Every exception GAELP raises on purpose, and the exit code the command line maps each to.

    GaelpError                 1   anything that went wrong for a known reason
    ├── BadInput               2   what was given cannot be used; nothing was written
    │   ├── ConfigError        2   a configuration file, key or value
    │   ├── DataError          2   a log, market or persona file
    │   ├── MoneyError         2   an amount that is not exact, not finite or in another currency
    │   ├── ActionError        2   an action outside what a market accepts
    │   └── NotFinite          2   NaN or infinity in what an environment gave
    ├── Refused                3   a gate or a guard said no
    │   └── PoisonedExperience 3   a value that may not be remembered: outside its declared range
    ├── WaitingForPerson       4   a person has to decide before work continues
    └── ComponentMissing       1   an optional part is not installed or not reachable

A message names what was seen, what is allowed, and the way out.
"""

from typing import ClassVar

__all__ = [
    "ActionError",
    "BadInput",
    "ComponentMissing",
    "ConfigError",
    "DataError",
    "GaelpError",
    "MoneyError",
    "NotFinite",
    "PoisonedExperience",
    "Refused",
    "WaitingForPerson",
]


class GaelpError(Exception):
    """Something went wrong for a known reason that one message can explain to the user."""

    exit_code: ClassVar[int] = 1


class BadInput(GaelpError):
    """What was given cannot be used; nothing was written."""

    exit_code = 2


class ConfigError(BadInput):
    """A configuration file, key or value is wrong."""


class DataError(BadInput):
    """A log, market or persona file is wrong."""


class MoneyError(BadInput, ValueError):
    """An amount is not exact, not finite, too large or in another currency."""


class ActionError(BadInput, ValueError):
    """An action holds a value that a market cannot carry out."""


class NotFinite(BadInput):
    """An environment gave NaN or infinity; nothing of that step was kept."""


class Refused(GaelpError):
    """A gate or a guard said no."""

    exit_code = 3


class PoisonedExperience(Refused):
    """A value outside its declared range would have been remembered; nothing of that step was."""


class WaitingForPerson(GaelpError):
    """A person has to decide before work continues."""

    exit_code = 4


class ComponentMissing(GaelpError):
    """An optional component is not installed or not reachable."""
