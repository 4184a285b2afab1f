"""The settings of one run: every key of configs/base.yaml and what it may hold.

A new section is one class here, one field of Settings, and its values with their reasons in configs/base.yaml.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, PositiveInt, SecretStr, field_validator, model_validator

from gaelp.config.alert_settings import AlertSettings
from gaelp.config.base import Frozen
from gaelp.config.gateway_settings import GatewaySettings
from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.config.history_settings import HistorySettings
from gaelp.config.loopback import is_loopback
from gaelp.config.meta_ads_settings import MetaAdsSettings
from gaelp.config.names import Name, Slug, Text
from gaelp.config.objective import VALUE, Objective
from gaelp.config.pilot_settings import PilotSettings
from gaelp.config.rating_service import RatingService
from gaelp.config.scale_settings import ScaleSettings
from gaelp.types import Phase

__all__ = [
    "ApiSettings",
    "ApprovalSettings",
    "BudgetSettings",
    "CampaignBudgetSettings",
    "EvaluationSettings",
    "GateSettings",
    "LoggingSettings",
    "MarketSettings",
    "PersonaSettings",
    "PlatformSettings",
    "RunSettings",
    "Settings",
    "StorageSettings",
    "TrainingSettings",
]

# What every random number generator in use takes as a seed.
Seed = Annotated[int, Field(ge=0, lt=2**32)]


class RunSettings(Frozen):
    """What a run is called, the seed that all its randomness comes from, and how far the pipeline goes."""

    name: Name  # of the run's folder, experiment and label
    seed: Seed
    until: Phase | None = Field(default=None, description="the last phase of the pipeline; none: all there are")


class LoggingSettings(Frozen):
    """How much is logged, and as what: lines for people (human; auto means the same) or JSON lines."""

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
    """Which files hold the rules of the gates; how long a gate waits for a person before it reminds and gives up."""

    remind_hours: float = Field(gt=0, le=24 * 365)
    expire_hours: float = Field(gt=0, le=24 * 365)
    source: Literal["shipped", "project"] = Field(
        default="project", description="shipped: a configs/gates/ in the current folder replaces no gate"
    )
    files: dict[Slug, Text] = Field(default={}, description="files of gates by the gate's name, whatever the source")

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


# A number that JSON and both databases hold; what a campaign may lose can be nothing, what a conversion is worth not.
ConversionValue = Annotated[int, Field(gt=0, lt=2**63)]
LossCap = Annotated[int, Field(ge=0, lt=2**63)]


class CampaignBudgetSettings(Frozen):
    """What holds for one campaign instead of what holds for all, in micros of the account's currency."""

    conversion_value_micros: ConversionValue | None = None
    loss_cap_micros: LossCap | None = None


class BudgetSettings(Frozen):
    """Where the records are kept (ledger, order book, approvals, audit log), and the rules that money keeps to.

    The values are needed where a platform is named; what a conversion is worth nobody can guess.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    database_url: SecretStr | None = Field(description="of a PostgreSQL; none: SQLite files below the home")
    rules: Text = Field(description="which file of configs/budget/ (or path) holds the rules of a campaign")
    signals: Text = Field(description="which file there says how campaigns are watched")
    plan: Text | None = Field(description="which file there spreads a day's money over its hours; none: evenly")
    conversion_value_micros: ConversionValue | None
    loss_cap_micros: LossCap | None = Field(description="the most that seven days of a campaign may lose")
    bid_change_percent: int = Field(
        default=50, ge=1, le=900, description="by how much a bid under a mandate may change within an hour"
    )
    campaigns: dict[str, CampaignBudgetSettings] = Field(description="campaigns with values of their own, by name")

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("the address (not shown) must look like postgresql://user:password@host/database")
        return url


class PlatformSettings(Frozen):
    """Which ad platform orders go to, by its entry point in gaelp.platforms, and its account in the ledger."""

    name: Slug | None = Field(description="none: no order can be sent")
    account: Text | None
    google_ads: GoogleAdsSettings | None = Field(default=None, description="for the platform google-ads")
    meta_ads: MetaAdsSettings | None = Field(default=None, description="for the platform meta-ads")

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if (self.name is None) != (self.account is None):
            raise ValueError("name and account belong together: give both, or neither where no order is sent")
        return self


class ApiSettings(Frozen):
    """Where the HTTP side listens: the emergency stop, the figures for Prometheus."""

    model_config = ConfigDict(hide_input_in_errors=True)

    host: Text
    port: int = Field(ge=1, le=65535)
    token: SecretStr | None = Field(description="asked for by what changes something; needed beyond this machine")

    @model_validator(mode="after")
    def _strangers_need_a_token(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"host={self.host} is reached from other machines: set GAELP__API__TOKEN, or listen on 127.0.0.1"
            )
        return self


class StorageSettings(Frozen):
    """Where episode data is kept, how long raw trajectories stay, and the most that one query may read in BigQuery."""

    backend: Literal["duckdb", "bigquery"] = "duckdb"
    project: Text | None = Field(default=None, description="of Google Cloud; for bigquery")
    dataset: str = Field(default="gaelp", pattern="^[A-Za-z0-9_]{1,1024}$", description="of BigQuery")
    raw_retention_days: int = Field(default=30, ge=1, le=36_500)
    max_bytes_billed: int = Field(default=100_000_000_000, ge=1, lt=2**63)

    @model_validator(mode="after")
    def _bigquery_has_a_project(self) -> Self:
        if self.backend == "bigquery" and self.project is None:
            raise ValueError("backend=bigquery needs a project: set storage.project, or use backend=duckdb")
        return self


class Settings(Frozen):
    """All settings of a run; what it writes lives below `home`."""

    home: Path
    run: RunSettings
    logging: LoggingSettings
    market: MarketSettings
    objective: Objective = VALUE  # runs that began before there were others recorded none
    personas: PersonaSettings
    evaluation: EvaluationSettings
    training: TrainingSettings
    storage: StorageSettings = StorageSettings()  # runs that began before there was a store recorded none
    history: HistorySettings = HistorySettings()  # likewise
    pilot: PilotSettings = PilotSettings()  # likewise
    scale: ScaleSettings = ScaleSettings()  # likewise
    gate: GateSettings
    approvals: ApprovalSettings
    budget: BudgetSettings
    platform: PlatformSettings
    alerts: AlertSettings
    api: ApiSettings
    gateway: GatewaySettings = GatewaySettings()  # runs that began before there was one recorded none

    @field_validator("home", mode="before")
    @classmethod
    def _home_is_named(cls, home: object) -> object:
        if isinstance(home, str) and not (home.strip() and home.isprintable()):
            raise ValueError(f"saw {home!r}; allowed: a folder such as .gaelp. Name one, or unset GAELP_HOME.")
        return home
