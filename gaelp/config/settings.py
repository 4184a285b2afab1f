"""The settings of one run: every key of configs/base.yaml and what it may hold.

A new section is one class here, one field of Settings, and its values with their reasons in configs/base.yaml.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PositiveInt, StringConstraints, field_validator

from gaelp.config.base import Frozen
from gaelp.config.rating_service import RatingService

__all__ = [
    "EvaluationSettings",
    "LoggingSettings",
    "MarketSettings",
    "PersonaSettings",
    "RunSettings",
    "Settings",
]

# What every random number generator in use takes as a seed.
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"^\S(.*\S)?$")]
# A run's name becomes a folder, an experiment and a label.
FileName = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class RunSettings(Frozen):
    """What a run is called and the seed that all its randomness comes from."""

    name: FileName
    seed: Seed


class LoggingSettings(Frozen):
    """How much is logged and in which form; auto is human in a terminal and JSON in a pipe."""

    level: Literal["debug", "info", "warning", "error"]
    format: Literal["auto", "human", "json"]


class MarketSettings(Frozen):
    """Which file of configs/markets/ (or path) describes the market, and how many campaigns run side by side."""

    name: Text
    campaigns: PositiveInt = Field(le=1_000_000)


class PersonaSettings(Frozen):
    """Which folder below configs/ (or path) holds the personas, and the service that may rate creatives for them."""

    set: Text
    llm: RatingService | None = None


class EvaluationSettings(Frozen):
    """How many episodes judge an agent, and the seed that draws them."""

    episodes: PositiveInt = Field(le=1_000_000)
    seed: Seed


class Settings(Frozen):
    """Everything a run is told; what it writes lives below `home`."""

    home: Path
    run: RunSettings
    logging: LoggingSettings
    market: MarketSettings
    personas: PersonaSettings
    evaluation: EvaluationSettings

    @field_validator("home", mode="before")
    @classmethod
    def _home_is_named(cls, home: object) -> object:
        if isinstance(home, str) and not (home.strip() and home.isprintable()):
            raise ValueError(f"saw {home!r}; allowed: a folder such as .gaelp. Name one, or unset GAELP_HOME.")
        return home
