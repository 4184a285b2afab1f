"""Personas as arrays: what the market looks up by persona, and the traits a bidder may see."""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32
from gaelp.market.persona_spec import CreativeSet, Persona, PersonaSet, check_affinities

__all__ = ["TRAITS", "PersonaTable", "neutral_table", "persona_table"]


TRAITS: tuple[str, ...] = ("rhythm_sin", "rhythm_cos", "income_log", "age_scaled", "mobile")

_HOURS = np.arange(24)
_AGE_CENTRE = 45.0
_AGE_SCALE = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class PersonaTable:
    """P personas, C creatives, F traits; arrays are read-only copies, logs are natural, 0 means average."""

    names: tuple[str, ...]
    creatives: tuple[str, ...]
    share: Floats  # (P,) of the audience, sums to 1
    activity: Floats32  # (P, 168) relative volume, Monday 00h first, mean 1
    price_log: Floats32  # (P,)
    click_log: Floats32  # (P,)
    conversion_log: Floats32  # (P,)
    value_log: Floats32  # (P,)
    intent_log: Floats32  # (P, 24) by hour of day, zero mean
    fatigue: Floats32  # (P,) sensitivity, 1 = average
    delay_index: Floats32  # (P,) relative to the market's mean delay
    affinity_log: Floats32  # (P, C) log click multiplier of each creative
    traits: Floats32  # (P, F) public, columns named by TRAITS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, _frozen(value, field.name, self._shape_of(field.name)))

    def __reduce__(self) -> tuple[type["PersonaTable"], tuple[object, ...]]:
        # Unpickled arrays are writeable; going through the constructor freezes them again.
        return PersonaTable, tuple(getattr(self, field.name) for field in fields(self))

    def _shape_of(self, name: str) -> tuple[int, ...]:
        columns = {"activity": 168, "intent_log": 24, "affinity_log": len(self.creatives), "traits": len(TRAITS)}
        return (len(self.names), columns[name]) if name in columns else (len(self.names),)


def persona_table(personas: PersonaSet, creatives: CreativeSet) -> PersonaTable:
    """The arrays of a set of personas; each must rate exactly the given creatives."""
    check_affinities(personas, creatives.names)
    people = personas.personas

    def column(read: Callable[[Persona], float]) -> Floats:
        return np.array([read(persona) for persona in people], dtype=np.float64)

    share = column(lambda persona: persona.audience_share)
    affinity = [[persona.creative_affinity[name] for name in creatives.names] for persona in people]
    return PersonaTable(
        names=tuple(persona.name for persona in people),
        creatives=creatives.names,
        share=share / share.sum(),
        activity=_singles([_week(persona) for persona in people]),
        price_log=_singles(np.log(column(lambda persona: persona.price_index))),
        click_log=_singles(np.log(column(lambda persona: persona.response.click_index))),
        conversion_log=_singles(np.log(column(lambda persona: persona.response.conversion_index))),
        value_log=_singles(np.log(column(lambda persona: persona.conversion.value_index))),
        intent_log=_singles([_intent(persona) for persona in people]),
        fatigue=_singles(column(lambda persona: persona.response.fatigue_sensitivity)),
        delay_index=_singles(column(lambda persona: persona.conversion.delay_index)),
        affinity_log=_singles(np.log(np.array(affinity))),
        traits=_singles([_traits(persona) for persona in people]),
    )


def neutral_table(creatives: int = 1) -> PersonaTable:
    """One persona without any rhythm, preference or other peculiarity, for calm markets and tests."""
    flat = np.zeros(1, dtype=np.float32)
    unit = np.ones(1, dtype=np.float32)
    return PersonaTable(
        names=("neutral",),
        creatives=tuple(f"creative-{index}" for index in range(creatives)),
        share=np.ones(1),
        activity=np.ones((1, 168), dtype=np.float32),
        price_log=flat,
        click_log=flat,
        conversion_log=flat,
        value_log=flat,
        intent_log=np.zeros((1, 24), dtype=np.float32),
        fatigue=unit,
        delay_index=unit,
        affinity_log=np.zeros((1, creatives), dtype=np.float32),
        traits=np.zeros((1, len(TRAITS)), dtype=np.float32),
    )


def _week(persona: Persona) -> Floats:
    hours = np.array([*persona.activity.weekday * 5, *persona.activity.weekend * 2])
    # Divided by the largest first: a sum of very large or very small volumes would leave the range of floats.
    hours = hours / hours.max()
    return np.asarray(hours / hours.mean(), dtype=np.float64)


def _intent(persona: Persona) -> Floats:
    response = persona.response
    angle = 2 * np.pi * (_HOURS - response.intent_peak_hour) / 24
    return np.asarray(response.intent_strength * np.cos(angle), dtype=np.float64)


def _traits(persona: Persona) -> tuple[float, ...]:
    """One row in the order of TRAITS; a tablet counts as not mobile."""
    angle = 2 * np.pi * persona.response.intent_peak_hour / 24
    people = persona.demographics
    age = (people.age_low + people.age_high) / 2
    return (
        float(np.sin(angle)),
        float(np.cos(angle)),
        float(np.log(people.income_index)),
        (age - _AGE_CENTRE) / _AGE_SCALE,
        float(people.device == "mobile"),
    )


def _singles(values: npt.ArrayLike) -> Floats32:
    return np.asarray(values, dtype=np.float32)


def _frozen(values: npt.NDArray[np.floating], name: str, shape: tuple[int, ...]) -> npt.NDArray[np.floating]:
    if values.shape != shape or not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite and have shape {shape}, seen shape {values.shape}")
    copy = values.copy()
    copy.flags.writeable = False
    return copy
