"""The built-in price distributions: configs/library/landscapes.yaml, used by markets that bring none of their own."""

from typing import Self

from pydantic import Field, model_validator

from gaelp.config.base import Frozen
from gaelp.config.market import LandscapeSpec

__all__ = ["LandscapeSet"]


class LandscapeSet(Frozen):
    """Price distributions and where their figures come from."""

    source: str = Field(min_length=1)
    landscapes: tuple[LandscapeSpec, ...] = Field(min_length=1, max_length=256)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [landscape.name for landscape in self.landscapes]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"two landscapes are named {repeated[0]!r}: every landscape needs a name of its own")
        return self
