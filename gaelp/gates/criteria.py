"""What a gate requires: each file in configs/gates/ is a Gate, and each of its rules is a Criterion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gaelp.checks.goal import Goal, Metric
from gaelp.checks.limit import Bound
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Slug
from gaelp.config.places import shown
from gaelp.config.settings import GateSettings
from gaelp.errors import ConfigError
from gaelp.gates.gate_file import GateFile, describe_gate_file, gate_path
from gaelp.gates.metrics import replaced, undeclared
from gaelp.types import Phase

__all__ = ["Criterion", "Gate", "load_gate"]


class Criterion(Goal):
    """One rule: a goal, and how large and how fresh its sample must be."""

    sample_metric: Metric = Field(description="the metric that holds the size of the sample behind this one")
    minimum_sample: PositiveInt = Field(description="with fewer the rule is inconclusive, whatever the figure is")
    maximum_age_hours: PositiveFloat | None = Field(default=None, description="older evidence fails; none: no limit")
    sequential: bool = Field(
        default=False, description="the bound comes from a confidence sequence at the gate's alpha"
    )
    clip_at: PositiveFloat | None = Field(
        default=None, description="the sequence is a bet on observations up to this; none: asymptotic"
    )
    why: str = Field(min_length=1, max_length=400, description="what would go wrong without this rule")

    @model_validator(mode="after")
    def _sequential_needs_an_interval(self) -> Self:
        if self.sequential and self.compare == "value":
            cautious = "lower_95" if self.limit.asks_for_more else "upper_95"
            raise ValueError(
                f"{self.metric}: sequential compares value, which has no error that could hold at every look;"
                f" allowed: {cautious}"
            )
        if self.clip_at is not None and not self.sequential:
            raise ValueError(
                f"{self.metric}: clip_at={self.clip_at:g} belongs to a sequential rule: mark it, or remove it"
            )
        return self

    @model_serializer(mode="wrap")
    def _as_record(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out a limit that is not given: verdicts were stored and hashed before there was one."""
        record = super()._as_record(write)
        return record if self.clip_at is not None else {key: record[key] for key in record if key != "clip_at"}


class Gate(Frozen):
    """The rules an agent must keep, all of them, to leave a phase."""

    name: Slug
    follows: Phase
    alpha: float | None = Field(
        default=None, gt=0, le=0.5, description="chance of ever being wrong, for rules watched while their data grow"
    )
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=64)
    file: GateFile | None = Field(default=None, description="the file it was read from; not part of the rules")

    @model_validator(mode="after")
    def _rules_are_stated_once(self) -> Self:
        for metric in _repeated((rule.metric, rule.bound) for rule in self.criteria):
            raise ValueError(f"two rules ask for {metric[1]} of {metric[0]!r}: keep the stricter one")
        return self

    @model_validator(mode="after")
    def _alpha_belongs_to_sequential_rules(self) -> Self:
        watched = [rule.metric for rule in self.criteria if rule.sequential]
        if watched and self.alpha is None:
            raise ValueError(f"{', '.join(watched)}: sequential, but the gate has no alpha: give one, such as 0.05")
        if not watched and self.alpha is not None:
            raise ValueError(f"alpha={self.alpha}, but no rule is sequential: mark the rule it is for, or remove it")
        return self

    def asks_the_same(self, other: "Gate") -> bool:
        """Return whether both have the same rules, whichever files they come from."""
        return self.model_copy(update={"file": None}) == other.model_copy(update={"file": None})


def load_gate(path_or_name: str | Path, settings: GateSettings | None = None) -> Gate:
    """Read a gate by its name in configs/gates (a phase's name) or by path; ConfigError names what is wrong.

    Settings may name another file, or allow the shipped one alone.
    """
    path = gate_path(path_or_name, settings)
    gate = load_model(Gate, path)
    for metric in dict.fromkeys(name for rule in gate.criteria for name in (rule.metric, rule.sample_metric)):
        if problem := undeclared(metric) or replaced(metric):
            raise ConfigError(f"{shown(path)}: {problem}")
    return gate.model_copy(update={"file": describe_gate_file(path)})


def _repeated(keys: Iterator[tuple[str, Bound]]) -> Iterator[tuple[str, Bound]]:
    earlier: set[tuple[str, Bound]] = set()
    for key in keys:
        if key in earlier:
            yield key
        earlier.add(key)
