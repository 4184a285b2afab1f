"""The evidence a gate reads: the metrics of one run, when they were measured, and which agent they describe."""

import math
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

from gaelp.config.base import Frozen
from gaelp.config.field_types import Instant

__all__ = ["Evidence", "Figure"]

# JSON cannot hold these, and a metric that is not a number must reach the judge to be refused by name.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _from_word(value: object) -> object:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _to_word(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


# Strict: true is no number and "0.9" is no number either.
Figure = Annotated[
    float,
    Field(strict=True, allow_inf_nan=True),
    BeforeValidator(_from_word),
    PlainSerializer(_to_word, when_used="json"),
]


class Evidence(Frozen):
    """The figures of one agent from one run; NaN and infinity are kept, so that a verdict can name them."""

    run_id: str = Field(min_length=1)
    agent: str = Field(min_length=1)
    learned: bool  # False: the agent is a tuned rule
    config_hash: str = Field(min_length=1)
    measured_at: Instant
    metrics: dict[str, Figure]
