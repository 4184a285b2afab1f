"""The data of disguise: which characters look like a Latin letter, and which replace one."""

import string
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from gaelp.config.base import Frozen
from gaelp.config.load import load_model

__all__ = ["LookAlikes", "load_look_alikes"]

Letter = Annotated[str, Field(pattern=r"^[a-z]$")]


class LookAlikes(Frozen):
    """Characters read as a letter by their shape (`letters`, `alphabets`) or by habit (`stand_ins`, `blots`)."""

    why: str = Field(min_length=1, max_length=400)
    letters: dict[Letter, str]
    alphabets: tuple[Annotated[str, Field(min_length=26, max_length=26)], ...]
    stand_ins: dict[Letter, tuple[Annotated[str, Field(min_length=1, max_length=4)], ...]]
    blots: str = Field(min_length=1, description="signs that hide one letter inside a word")

    @model_validator(mode="after")
    def _plain_letters_stay(self) -> Self:
        for letter, shapes in self.letters.items():
            if plain := sorted(set(shapes) & set(string.printable)):
                raise ValueError(
                    f"letters.{letter}: saw {plain}; allowed: characters beyond ASCII. Put them under stand_ins."
                )
        return self

    @cached_property
    def shapes(self) -> dict[str, str]:
        """Each look-alike character and the letter it looks like."""
        table = {shape: letter for letter, shapes in self.letters.items() for shape in shapes}
        for alphabet in self.alphabets:
            table.update(zip(alphabet, string.ascii_lowercase, strict=True))
        return table


def load_look_alikes() -> LookAlikes:
    """Read configs/content/look-alikes.yaml."""
    return load_model(LookAlikes, "look-alikes", "content")
