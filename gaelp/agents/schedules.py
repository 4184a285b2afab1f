"""How a learning rate, an entropy bonus or an exploration rate changes over training."""

import math
from abc import abstractmethod
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from gaelp.config.base import Frozen
from gaelp.errors import BadInput

__all__ = ["ConstantSchedule", "Cosine", "LinearSchedule", "Log", "Schedule", "refuse_negative"]

Until = Annotated[float, Field(gt=0, le=1, description="share of training after which the end value holds")]


class _Ramp(Frozen):
    """From `start` to `end` over the first `until` of training; subclasses say along which curve."""

    start: float
    end: float
    until: Until = 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """First and last value; all others lie between."""
        return self.start, self.end

    def value(self, progress: float) -> float:
        """The value at `progress`, the share of training done, 0..1; `start` and `end` are met exactly."""
        share = min(_checked(progress) / self.until, 1.0)
        if share in (0.0, 1.0):
            return self.end if share else self.start
        low, high = sorted((self.start, self.end))
        return min(max(self._between(share), low), high)

    @abstractmethod
    def _between(self, share: float) -> float:
        """The value when `share` of the way is done, 0 < share < 1."""


class ConstantSchedule(Frozen):
    """The same value throughout."""

    kind: Literal["constant"] = "constant"
    start: float

    @property
    def ends(self) -> tuple[float, float]:
        """First and last value."""
        return self.start, self.start

    def value(self, progress: float) -> float:
        """The value at `progress`, the share of training done, 0..1."""
        _checked(progress)
        return self.start


class LinearSchedule(_Ramp):
    """Equal steps."""

    kind: Literal["linear"] = "linear"

    def _between(self, share: float) -> float:
        return (1 - share) * self.start + share * self.end


class Cosine(_Ramp):
    """Half a cosine wave: slow at both ends, fast in the middle."""

    kind: Literal["cosine"] = "cosine"

    def _between(self, share: float) -> float:
        left = (1 + math.cos(math.pi * share)) / 2
        return left * self.start + (1 - left) * self.end


class Log(_Ramp):
    """Equal ratios: a straight line on a logarithmic scale, so both ends must be above zero."""

    kind: Literal["log"] = "log"
    start: PositiveFloat
    end: PositiveFloat

    def _between(self, share: float) -> float:
        return math.exp((1 - share) * math.log(self.start) + share * math.log(self.end))


Schedule = Annotated[ConstantSchedule | LinearSchedule | Cosine | Log, Field(discriminator="kind")]


def refuse_negative(config: Frozen) -> None:
    """ValueError if a schedule of this configuration begins or ends below zero."""
    for name, value in config:
        if isinstance(value, ConstantSchedule | _Ramp) and (least := min(value.ends)) < 0:
            raise ValueError(f"{name} reaches {least}, allowed is 0 and above: change its start or end")


def _checked(progress: float) -> float:
    if not 0 <= progress <= 1:
        raise BadInput(f"progress={progress} must lie in 0..1: give the share of training done")
    return progress
