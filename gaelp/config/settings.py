"""The settings of one run: every key of configs/base.yaml and what it may hold.

A new section is one class here, one field of Settings, and its values with their reasons in configs/base.yaml.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, field_validator, model_validator

from gaelp.config.base import Frozen
from gaelp.config.names import Name, Text
from gaelp.config.rating_service import RatingService

__all__ = [
    "ApprovalSettings",
    "EvaluationSettings",
    "GateSettings",
    "LoggingSettings",
    "MarketSettings",
    "PersonaSettings",
    "RunSettings",
    "Settings",
    "TrainingSettings",
]

# What every random number generator in use takes as a seed.
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class RunSettings(Frozen):
    """What a run is called and the seed that all its randomness comes from."""

    name: Name  # of the run's folder, experiment and label
    seed: Seed


class LoggingSettings(Frozen):
    """How much is logged and in which form; auto is human in a terminal and JSON in a pipe."""

    level: Literal["debug", "info", "warning", "error"]
    format: Literal["auto", "human", "json"]


class MarketSettings(Frozen):
    """Which file of configs/markets/ (or path) describes the market."""

    name: Text


class PersonaSettings(Frozen):
    """Which folder below configs/ (or path) holds the personas, and the service that may rate creatives for them."""

    set: Text
    llm: RatingService | None = None


class EvaluationSettings(Frozen):
    """How many episodes judge an agent, and the seed that draws them."""

    episodes: int = Field(ge=2, le=1_000_000, description="one episode alone says nothing about its error")
    seed: Seed


class TrainingSettings(Frozen):
    """Which recipe of configs/agents/ (or path) is trained, for how long, and along which curriculum, if any."""

    agent: Text
    rounds: PositiveInt | None = Field(le=10_000_000, description="none: as many as the recipe says")
    curriculum: Text | None
    threads: PositiveInt = Field(le=64, description="of torch; two on shared cores can be slower than one")
    tracking: bool = Field(description="whether MLflow keeps the figures, in mlflow.db below the home")


class GateSettings(Frozen):
    """How long a gate waits for a person: after how many hours it reminds, and after how many it gives up."""

    remind_hours: float = Field(gt=0, le=24 * 365)
    expire_hours: float = Field(gt=0, le=24 * 365)

    @model_validator(mode="after")
    def _reminds_before_it_expires(self) -> Self:
        if self.remind_hours >= self.expire_hours:
            raise ValueError(
                f"remind_hours={self.remind_hours:g} is not before expire_hours={self.expire_hours:g}: nobody would be"
                " reminded in time; lower the first or raise the second"
            )
        return self


class ApprovalSettings(Frozen):
    """Which policy of configs/approvals/ (or path) holds at the gates, and the list of those who are trusted."""

    policy: Text
    trust: Path | None = Field(description="none: approvers.yaml below the home; keep it elsewhere where money moves")


class Settings(Frozen):
    """Everything a run is told; what it writes lives below `home`."""

    home: Path
    run: RunSettings
    logging: LoggingSettings
    market: MarketSettings
    personas: PersonaSettings
    evaluation: EvaluationSettings
    training: TrainingSettings
    gate: GateSettings
    approvals: ApprovalSettings

    @field_validator("home", mode="before")
    @classmethod
    def _home_is_named(cls, home: object) -> object:
        if isinstance(home, str) and not (home.strip() and home.isprintable()):
            raise ValueError(f"saw {home!r}; allowed: a folder such as .gaelp. Name one, or unset GAELP_HOME.")
        return home
