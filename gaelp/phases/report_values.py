"""A training report as plain values, for the training log and for curves."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gaelp.config.base import Frozen
from gaelp.training.monitor import monitor_figures
from gaelp.training.reports import RoundDone, TrainingReport, Validated

__all__ = ["as_json_values", "curve_figures"]


def curve_figures(report: TrainingReport) -> dict[str, float]:
    """Return the figures of a report that can be drawn as curves."""
    match report:
        case RoundDone():
            own = {"reward": report.reward, "steps": report.steps, "steps_per_second": report.steps_per_second}
            return {f"training/{name}": value for name, value in {**own, **report.metrics}.items()}
        case Validated():
            score = report.score
            own = {"reward": score.mean, "lower_95": score.lower_95, "lead": score.lead}
            return {f"validation/{name}": value for name, value in own.items()} | monitor_figures(report.monitor)
        case _:
            return {}


def as_json_values(report: TrainingReport) -> dict[str, Any]:
    """Return a report as values that JSON can hold."""
    return {field.name: _value(getattr(report, field.name)) for field in dataclasses.fields(report)}


def _value(value: Any) -> Any:
    match value:
        case Frozen():
            return value.model_dump(mode="json")
        case float():
            return value if math.isfinite(value) else None
        case Path():
            return value.name
        case Mapping():
            return {str(key): _value(item) for key, item in value.items()}
        case list() | tuple():
            return [_value(item) for item in value]
        case _:
            return value
