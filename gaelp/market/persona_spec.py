"""Who sees the adverts and what they are shown: the models of personas and creatives, and reading their files."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from gaelp.config.base import Frozen
from gaelp.config.document import read_document
from gaelp.config.load import load_model
from gaelp.config.names import Slug, refuse_repeats
from gaelp.config.places import find_folder, shown
from gaelp.config.suggest import nearest
from gaelp.errors import BadInput, DataError

__all__ = [
    "Activity",
    "Conversion",
    "CreativeProfile",
    "CreativeSet",
    "Demographics",
    "Persona",
    "PersonaResponse",
    "PersonaSet",
    "check_affinities",
    "load_creatives",
    "load_personas",
]

# The bounds catch an index written in percent (100 for average) or as a logarithm.
Index = Annotated[float, Field(ge=0.05, le=20, strict=True)]
Strength = Annotated[float, Field(ge=0, le=5, strict=True)]
Affinity = Annotated[float, Field(ge=0.2, le=5, strict=True)]
Age = Annotated[int, Field(ge=18, le=100, strict=True)]
Hours = Annotated[tuple[Annotated[float, Field(ge=0, strict=True)], ...], Field(min_length=24, max_length=24)]


class Demographics(Frozen):
    """The coarse public facts about a persona; adults only, and nothing finer than an age band."""

    age_low: Age
    age_high: Age
    income_index: Index = Field(description="1 = average income")
    device: Literal["mobile", "desktop", "tablet"]
    urban: bool

    @model_validator(mode="after")
    def _ages_rise(self) -> Self:
        if self.age_low > self.age_high:
            raise ValueError(f"age_low={self.age_low} exceeds age_high={self.age_high}: swap them")
        return self


class Activity(Frozen):
    """Relative volume by hour of day, 00h first; only the proportions within the week count."""

    weekday: Hours
    weekend: Hours

    @field_validator("weekday", "weekend")
    @classmethod
    def _somebody_is_there(cls, hours: tuple[float, ...]) -> tuple[float, ...]:
        if not any(hours):
            raise ValueError("all 24 hours are 0: give at least one hour a positive volume")
        return hours


class PersonaResponse(Frozen):
    """How a persona answers to adverts; indices are relative to the market's average of 1."""

    click_index: Index
    conversion_index: Index
    intent_peak_hour: float = Field(ge=0, lt=24, strict=True, description="hour of day at which it buys most readily")
    intent_strength: Strength = Field(description="swing of intent over the day; 1 = the market's own")
    fatigue_sensitivity: Strength = Field(description="how fast it tires of an advert; 1 = average")


class Conversion(Frozen):
    """What a conversion is worth and how late it is reported, relative to the market's average of 1."""

    value_index: Index
    delay_index: Index


class Persona(Frozen):
    """One audience: one file under configs/personas/, named after it."""

    name: Slug
    description: str = Field(min_length=1, max_length=400)
    demographics: Demographics
    audience_share: float = Field(gt=0, le=1e6, strict=True, description="relative size; shares need not sum to 1")
    activity: Activity
    price_index: Index = Field(description="how dear its impressions are; 1 = average")
    response: PersonaResponse
    conversion: Conversion
    creative_affinity: dict[str, Affinity] = Field(description="click multiplier for every creative")


class PersonaSet(Frozen):
    """All personas of a folder, in the order of their names."""

    personas: tuple[Persona, ...] = Field(min_length=1, max_length=256)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_repeats("persona", (persona.name for persona in self.personas))
        return self


class CreativeProfile(Frozen):
    """One text advert; lengths are those of a search advert's headline and description."""

    name: Slug
    headline: str = Field(min_length=1, max_length=30)
    description: str = Field(min_length=1, max_length=90)
    theme: str = Field(min_length=1, max_length=40, description="what the advert appeals to")


class CreativeSet(Frozen):
    """The creatives a campaign can choose from; a market with fewer takes the first ones."""

    creatives: tuple[CreativeProfile, ...] = Field(min_length=1, max_length=16)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_repeats("creative", (creative.name for creative in self.creatives))
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order: creative i of a market is names[i]."""
        return tuple(creative.name for creative in self.creatives)


def load_creatives(path_or_name: str | Path = "creatives") -> CreativeSet:
    """Read the creatives of one YAML file; DataError names the file and the field that is wrong."""
    return load_model(CreativeSet, path_or_name, "library", error=DataError)


def load_personas(folder: str | Path = "personas", creatives: CreativeSet | None = None) -> PersonaSet:
    """Read every persona file of a folder; DataError names the file and the field that is wrong.

    A Path is read as it is, a name is looked up below configs/. With `creatives`, each persona must rate exactly
    these; without, all must rate the same ones.
    """
    place = find_folder(folder, error=DataError, suits=_holds_personas)
    files = _yaml_files(place)
    if not files:
        raise DataError(
            f"{shown(place)} holds no persona; allowed: at least one .yaml file. Write one, see docs/personas.md."
        )
    personas = PersonaSet(personas=tuple(_load_persona(path) for path in files))
    expected = creatives.names if creatives else tuple(personas.personas[0].creative_affinity)
    check_affinities(personas, expected, folder=place)
    return personas


def check_affinities(personas: PersonaSet, creatives: Iterable[str], folder: Path | None = None) -> None:
    """Refuse a persona that leaves out one of the creatives or rates another one."""
    expected = tuple(creatives)
    for persona in personas.personas:
        where = shown(folder / f"{persona.name}.yaml") if folder else f"persona {persona.name!r}"
        unknown = [name for name in persona.creative_affinity if name not in expected]
        missing = [name for name in expected if name not in persona.creative_affinity]
        if unknown:
            raise DataError(
                f"{where}: creative_affinity.{unknown[0]}: no such creative; allowed: {', '.join(expected)}."
                f"{nearest(unknown[0], expected)} Rename it, or add the creative to creatives.yaml."
            )
        if missing:
            raise DataError(
                f"{where}: creative_affinity.{missing[0]}: required key is missing; every creative needs a multiplier"
                " from 0.2 to 5. Add it; 1 means an average response."
            )


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))


def _holds_personas(folder: Path) -> bool:
    """Whether a file of the folder rates creatives, which no other kind of file does."""
    with suppress(BadInput):
        return any("creative_affinity" in read_document(path).values for path in _yaml_files(folder))
    return False


def _load_persona(path: Path) -> Persona:
    persona = load_model(Persona, path, error=DataError)
    if path.name != f"{persona.name}.yaml":
        raise DataError(
            f"{shown(path)}: name: saw {persona.name!r}; allowed: the name of its file. Rename the file to"
            f" {persona.name}.yaml, or set name: {path.stem}."
        )
    return persona
