"""What an export says of itself: the version it comes from, the rule, the features, its files and their parity."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.objective import Objective
from gaelp.market.spec import MarketSpec
from gaelp.registry.manifest import BundleFile
from gaelp.training.segment_env import ResidualSpec

__all__ = ["EXPORT_DOMAIN", "EXPORT_FILE", "EXPORT_SIGNATURE", "ExportFormat", "ExportManifest", "Parity"]

EXPORT_DOMAIN = "model-export"
EXPORT_FILE = "export.json"
EXPORT_SIGNATURE = "export.signature"

ExportFormat = Literal["onnx", "torchscript", "parameters"]


class Parity(Frozen):
    """How the bids of one format compare with those of the model itself, on the same observations."""

    format: ExportFormat
    decisions: PositiveInt  # of a campaign for an hour
    bids: PositiveInt  # of a segment for an hour
    different_bids: NonNegativeInt  # inside the tolerance, but not equal to the micro
    largest_difference_micros: NonNegativeInt
    largest_relative_difference: float = Field(ge=0)
    outside: NonNegativeInt  # bids further apart than the tolerance; an export with one is refused


class ExportManifest(Frozen):
    """Everything that is needed to bid again, and to know what bids."""

    model_config = ConfigDict(strict=False)

    schema_version: Literal[1] = 1
    name: str
    version: PositiveInt
    manifest_hash: str  # of the registered version, which holds its verdicts
    model_hash: str  # what people approved at a gate
    agent: str
    learned: bool  # False: the rule alone is the agent, exported as parameters
    algorithm: str | None
    rule: str
    rule_parameters: dict[str, Any]
    residual: ResidualSpec
    market: MarketSpec
    objective: Objective
    feature_version: str
    observation_size: PositiveInt
    parity: tuple[Parity, ...] = Field(min_length=1)
    files: tuple[BundleFile, ...]
    packages: dict[str, str | None]
    exported_at: str
