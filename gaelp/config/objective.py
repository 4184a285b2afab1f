"""What an advertiser wants from a flight: value, profit, or value at a target return or cost per conversion."""

from typing import Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["VALUE", "Objective", "ObjectiveKind", "is_value", "objective_from_text"]

ObjectiveKind = Literal["value", "profit", "target_roas", "target_cpa"]

_KINDS: tuple[ObjectiveKind, ...] = ("value", "profit", "target_roas", "target_cpa")


class Objective(Frozen):
    """What a flight is paid for, always within its budget and daily caps; see docs/objectives.md."""

    kind: ObjectiveKind = "value"
    target_roas: PositiveFloat | None = Field(default=None, le=1e6, description="least value per unit of money spent")
    target_cpa_micros: PositiveInt | None = Field(default=None, lt=2**53, description="most money per conversion")

    @model_validator(mode="after")
    def _has_its_own_target_alone(self) -> Self:
        targets = {"target_roas": self.target_roas, "target_cpa": self.target_cpa_micros}
        for kind, target in targets.items():
            key = "target_cpa_micros" if kind == "target_cpa" else kind
            if self.kind == kind and target is None:
                raise ValueError(f"kind={kind} needs {key}: give it, or choose value or profit")
            if self.kind != kind and target is not None:
                raise ValueError(f"{key}={target:g} has no effect with kind={self.kind}: drop it, or set kind={kind}")
        return self

    @property
    def key(self) -> str:
        """A short name for files and tables, such as profit or roas-2.5."""
        if self.kind == "target_roas":
            return f"roas-{self.target_roas:g}"
        if self.kind == "target_cpa":
            return f"cpa-{self.target_cpa_micros}"
        return self.kind

    @property
    def text(self) -> str:
        """What `objective_from_text` reads back."""
        target = self.target_roas or self.target_cpa_micros
        return f"{self.kind}={target}" if self.has_target else self.kind

    @property
    def label(self) -> str:
        """How a sentence names it."""
        if self.kind == "target_roas":
            return f"value at a ROAS of at least {self.target_roas:g}"
        if self.kind == "target_cpa":
            return f"value at a CPA of at most {(self.target_cpa_micros or 0) / 1e6:,.2f}"
        return self.kind

    @property
    def has_target(self) -> bool:
        """Whether value only counts in full at a target over the flight."""
        return self.kind in ("target_roas", "target_cpa")


VALUE = Objective()


def is_value(objective: Objective) -> bool:
    """Whether this is the default objective, which old files leave out and so do new ones."""
    return objective == VALUE


def objective_from_text(text: str) -> Objective:
    """An objective as typed: value, profit, target_roas=2.5 or target_cpa=25000000 (micros a conversion)."""
    kind, _, target = text.partition("=")
    try:
        if kind == "target_roas":
            return Objective(kind="target_roas", target_roas=float(target))
        if kind == "target_cpa":
            return Objective(kind="target_cpa", target_cpa_micros=int(target))
        if kind in _KINDS and not target:
            return Objective.model_validate({"kind": kind})
    except ValueError:
        pass  # reported below with what is allowed
    raise BadInput(
        f"objective {text!r} seen; allowed: value, profit, target_roas=2.5 (value per money spent) or"
        " target_cpa=25000000 (micros a conversion)"
    )
