import copy
import dataclasses
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.market.persona_spec import CreativeProfile, CreativeSet, Persona, PersonaSet, load_creatives, load_personas
from gaelp.market.personas import TRAITS, PersonaTable, neutral_table, persona_table

CONFIGS = Path(__file__).parents[2] / "configs"
INDEX = st.floats(min_value=0.05, max_value=20)
ARRAYS = [field.name for field in dataclasses.fields(PersonaTable) if field.name not in ("names", "creatives")]


def creative(name):
    return CreativeProfile(name=name, headline="Buy", description="Now.", theme="price")


CREATIVES = CreativeSet(creatives=(creative("first"), creative("second")))


def persona(name="someone", **changes):
    values = {
        "name": name,
        "description": "Somebody.",
        "demographics": {"age_low": 30, "age_high": 40, "income_index": 1.5, "device": "mobile", "urban": True},
        "audience_share": 1.0,
        "activity": {"weekday": [1.0] * 24, "weekend": [1.0] * 24},
        "price_index": 2.0,
        "response": {
            "click_index": 0.5,
            "conversion_index": 1.25,
            "intent_peak_hour": 6.0,
            "intent_strength": 0.8,
            "fatigue_sensitivity": 1.1,
        },
        "conversion": {"value_index": 3.0, "delay_index": 0.7},
        "creative_affinity": {"second": 2.0, "first": 0.5},
    }
    return Persona.model_validate(values | changes)


def table_of(*people):
    return persona_table(PersonaSet(personas=people), CREATIVES)


@pytest.fixture(scope="module")
def shipped():
    creatives = load_creatives(CONFIGS / "library" / "creatives.yaml")
    return persona_table(load_personas(CONFIGS / "personas", creatives), creatives)


def test_indices_become_logarithms():
    table = table_of(persona())
    assert table.price_log == pytest.approx([math.log(2.0)])
    assert table.click_log == pytest.approx([math.log(0.5)])
    assert table.conversion_log == pytest.approx([math.log(1.25)])
    assert table.value_log == pytest.approx([math.log(3.0)])
    assert table.fatigue == pytest.approx([1.1])
    assert table.delay_index == pytest.approx([0.7])


def test_affinities_stand_in_the_order_of_the_creatives_not_of_the_file():
    assert table_of(persona()).affinity_log[0] == pytest.approx([math.log(0.5), math.log(2.0)])


def test_audience_shares_are_normalised():
    table = table_of(persona("one", audience_share=3.0), persona("two", audience_share=1.0))
    assert table.share == pytest.approx([0.75, 0.25])
    assert table.names == ("one", "two")


def test_week_is_five_weekdays_then_a_weekend_with_monday_midnight_first():
    weekday = [0.0] * 24
    weekday[0] = 1.0
    weekend = [0.0] * 24
    weekend[23] = 4.0
    week = table_of(persona(activity={"weekday": weekday, "weekend": weekend})).activity[0]
    expected = np.zeros(168)
    expected[[0, 24, 48, 72, 96]] = 1
    expected[[143, 167]] = 4
    assert week == pytest.approx(expected * 168 / 13)


@given(
    weekday=st.lists(st.floats(min_value=0, allow_infinity=False), min_size=24, max_size=24).filter(any),
    weekend=st.lists(st.floats(min_value=0, allow_infinity=False), min_size=24, max_size=24).filter(any),
)
def test_activity_has_mean_one_over_the_week(weekday, weekend):
    activity = table_of(persona(activity={"weekday": weekday, "weekend": weekend})).activity
    assert activity.mean(dtype=np.float64) == pytest.approx(1, rel=1e-5)
    assert (activity >= 0).all()


@given(peak=st.floats(min_value=0, max_value=24, exclude_max=True), strength=st.floats(min_value=0, max_value=5))
def test_intent_has_zero_mean_and_is_highest_at_its_peak_hour(peak, strength):
    response = persona().response.model_dump() | {"intent_peak_hour": peak, "intent_strength": strength}
    intent = table_of(persona(response=response)).intent_log[0]
    assert intent.mean(dtype=np.float64) == pytest.approx(0, abs=1e-6)
    distance = np.abs(np.arange(24) - peak)
    nearest = np.minimum(distance, 24 - distance).argmin()
    assert intent[nearest] == pytest.approx(intent.max(), abs=1e-5)
    assert intent.max() <= strength + 1e-6


def test_intent_follows_a_cosine_of_the_given_strength():
    intent = table_of(persona()).intent_log[0]
    assert intent[[6, 12, 18, 0]] == pytest.approx([0.8, 0.0, -0.8, 0.0], abs=1e-6)


def test_traits_are_named_and_public():
    traits = dict(zip(TRAITS, table_of(persona()).traits[0], strict=True))
    assert traits["rhythm_sin"] == pytest.approx(1)
    assert traits["rhythm_cos"] == pytest.approx(0, abs=1e-6)
    assert traits["income_log"] == pytest.approx(math.log(1.5))
    assert traits["age_scaled"] == pytest.approx(-0.5)
    assert traits["mobile"] == 1


@pytest.mark.parametrize("device", ["desktop", "tablet"])
def test_only_a_phone_is_mobile(device):
    demographics = persona().demographics.model_dump() | {"device": device}
    assert table_of(persona(demographics=demographics)).traits[0, TRAITS.index("mobile")] == 0


@pytest.mark.parametrize("hidden", ["price_index", "audience_share"])
@given(value=INDEX)
def test_traits_do_not_tell_hidden_rates(hidden, value):
    assert (table_of(persona(**{hidden: value})).traits == table_of(persona()).traits).all()


@pytest.mark.parametrize("affinity", [{"first": 1.0}, {"first": 1.0, "second": 1.0, "third": 1.0}])
def test_persona_that_rates_other_creatives_is_refused(affinity):
    with pytest.raises(DataError, match=r"persona 'someone': creative_affinity\.(second|third)"):
        table_of(persona(creative_affinity=affinity))


def test_shipped_table_has_the_stated_shapes_and_types(shipped):
    people, creatives = len(shipped.names), len(shipped.creatives)
    assert people >= 14
    assert shipped.share.sum() == pytest.approx(1)
    assert shipped.activity.shape == (people, 168)
    assert shipped.intent_log.shape == (people, 24)
    assert shipped.affinity_log.shape == (people, creatives)
    assert shipped.traits.shape == (people, len(TRAITS))
    assert {getattr(shipped, name).dtype for name in ARRAYS if name != "share"} == {np.dtype(np.float32)}


@pytest.mark.parametrize("copied", [lambda table: table, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])  # noqa: S301  our own bytes
@pytest.mark.parametrize("name", ARRAYS)
def test_no_array_of_a_table_or_of_its_copies_can_be_written(shipped, name, copied):
    with pytest.raises(ValueError, match="read-only"):
        getattr(copied(shipped), name)[0] = 1


def test_table_keeps_its_own_copy_of_what_it_was_built_from(shipped):
    affinity = shipped.affinity_log.copy()
    table = dataclasses.replace(shipped, affinity_log=affinity)
    affinity[:] = 9
    assert (table.affinity_log == shipped.affinity_log).all()


@pytest.mark.parametrize("name", ARRAYS)
def test_array_of_wrong_shape_or_with_nan_is_refused(shipped, name):
    array = getattr(shipped, name).copy()
    with pytest.raises(ValueError, match=f"{name} must be finite and have shape"):
        dataclasses.replace(shipped, **{name: array[:-1]})
    array.flat[-1] = math.nan
    with pytest.raises(ValueError, match=f"{name} must be finite and have shape"):
        dataclasses.replace(shipped, **{name: array})


def test_neutral_table_changes_nothing():
    table = neutral_table(creatives=3)
    assert (table.activity == 1).all()
    assert table.share == table.fatigue == table.delay_index == 1
    for name in ("price_log", "click_log", "conversion_log", "value_log", "intent_log", "affinity_log", "traits"):
        assert (getattr(table, name) == 0).all()
    assert table.affinity_log.shape == (1, 3)
    assert len(neutral_table().creatives) == 1
