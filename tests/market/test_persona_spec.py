import copy
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.errors import DataError
from gaelp.market.persona_spec import Persona, check_affinities, load_creatives, load_personas

SHIPPED = Path(__file__).parents[2] / "configs"
NIGHT_OWL = yaml.safe_load((SHIPPED / "personas" / "night-owl.yaml").read_text())


@pytest.fixture(scope="module")
def personas():
    return load_personas(SHIPPED / "personas", load_creatives(SHIPPED / "library" / "creatives.yaml")).personas


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, NIGHT_OWL)


def write(folder, values, name="night-owl.yaml"):
    (folder / name).write_text(yaml.safe_dump(values))
    return folder


def changed(path, value):
    """The night owl with one field set, or left out if the value is Ellipsis."""
    values = copy.deepcopy(NIGHT_OWL)
    *parents, last = path.split(".")
    section = values
    for parent in parents:
        section = section[parent]
    if value is ...:
        del section[last]
    else:
        section[last] = value
    return values


def log_indices(personas, read):
    return np.log([read(persona) for persona in personas])


INDICES = {
    "price": lambda persona: persona.price_index,
    "click": lambda persona: persona.response.click_index,
    "conversion": lambda persona: persona.response.conversion_index,
    "value": lambda persona: persona.conversion.value_index,
}
MORE_INDICES = {
    "delay": lambda persona: persona.conversion.delay_index,
    "fatigue": lambda persona: persona.response.fatigue_sensitivity,
    "intent": lambda persona: persona.response.intent_strength,
    "income": lambda persona: persona.demographics.income_index,
}


def test_at_least_fourteen_personas_are_shipped_under_their_own_names(personas):
    assert len(personas) >= 14
    assert {persona.name for persona in personas} == {path.stem for path in (SHIPPED / "personas").iterdir()}


@pytest.mark.parametrize("index", [*INDICES, *MORE_INDICES])
def test_shipped_indices_are_centred_at_one(personas, index):
    assert math.exp(log_indices(personas, (INDICES | MORE_INDICES)[index]).mean()) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("index", INDICES)
def test_shipped_personas_spread_by_about_a_third(personas, index):
    assert 0.25 <= log_indices(personas, INDICES[index]).std() <= 0.4


def test_what_a_click_is_worth_differs_from_what_it_costs(personas):
    worth = sum(log_indices(personas, INDICES[index]) for index in ("click", "conversion", "value"))
    price = log_indices(personas, INDICES["price"])
    assert np.corrcoef(worth, price)[0, 1] < 0.5
    assert (worth - price).std() > 0.3


def test_shipped_rhythms_cover_day_and_night_weekdays_and_weekends(personas):
    busiest = {int(np.argmax(persona.activity.weekday)) for persona in personas}
    assert any(hour < 5 for hour in busiest)
    assert any(6 <= hour < 10 for hour in busiest)
    assert any(11 <= hour < 15 for hour in busiest)
    assert any(hour >= 19 for hour in busiest)
    ratios = [sum(persona.activity.weekend) / sum(persona.activity.weekday) for persona in personas]
    assert min(ratios) < 0.6
    assert max(ratios) > 2


def test_some_personas_buy_at_another_hour_than_they_are_online(personas):
    apart = [abs(np.argmax(persona.activity.weekday) - persona.response.intent_peak_hour) for persona in personas]
    assert sum(min(hours, 24 - hours) >= 4 for hours in apart) >= 3


def test_intent_peaks_of_shipped_personas_are_spread_around_the_clock(personas):
    angles = np.array([2 * math.pi * persona.response.intent_peak_hour / 24 for persona in personas])
    assert abs(np.exp(1j * angles).mean()) < 0.35


def test_every_shipped_creative_is_somebodys_favourite_and_average_overall(personas):
    creatives = load_creatives(SHIPPED / "library" / "creatives.yaml").names
    affinity = np.log([[persona.creative_affinity[name] for name in creatives] for persona in personas])
    assert set(affinity.argmax(axis=1)) == set(range(len(creatives)))
    assert np.exp(affinity.mean(axis=0)) == pytest.approx(1, rel=0.05)
    assert np.exp(affinity.mean(axis=1)) == pytest.approx(1, rel=0.05)


def test_shipped_files_can_be_found_by_name():
    assert load_personas("personas", load_creatives("creatives")).personas


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("description", ...),
        ("demographics.device", ...),
        ("response.click_index", ...),
        ("activity.weekend", ...),
        ("demographics.age_low", 40),
        ("demographics.age_low", 12),
        ("demographics.age_low", 30.5),
        ("demographics.device", "fridge"),
        ("demographics.income_index", 0),
        ("audience_share", 0),
        ("audience_share", math.inf),
        ("price_index", -1.0),
        ("price_index", 100),
        ("price_index", True),
        ("price_index", "1.0"),
        ("response.intent_peak_hour", 25),
        ("response.intent_peak_hour", 24),
        ("response.intent_peak_hour", -1),
        ("response.conversion_index", math.nan),
        ("response.intent_strength", -0.1),
        ("response.fatigue_sensitivity", -1),
        ("conversion.value_index", 0.0),
        ("conversion.delay_index", -2),
        ("activity.weekday", [1.0] * 23),
        ("activity.weekday", [1.0] * 25),
        ("activity.weekday", [0] * 24),
        ("activity.weekend", [1.0] * 23 + [-0.5]),
        ("activity.weekend", [1.0] * 23 + [math.nan]),
        ("creative_affinity.free-trial", 5.1),
        ("creative_affinity.free-trial", 0.1),
        ("name", "Night Owl"),
    ],
)
def test_missing_or_impossible_field_is_refused_with_exit_code_2_naming_file_and_field(tmp_path, path, value):
    with pytest.raises(DataError) as caught:
        load_personas(write(tmp_path, changed(path, value)))
    assert caught.value.exit_code == 2
    assert "night-owl.yaml" in str(caught.value)
    assert path.split(".")[-1] in str(caught.value)


@pytest.mark.parametrize("path", ["price_indx", "response.colour"])
def test_unknown_field_is_refused_naming_file_and_field(tmp_path, path):
    with pytest.raises(DataError, match=rf"night-owl\.yaml:\d+: {path}: unknown key"):
        load_personas(write(tmp_path, changed(path, 1.0)))


def test_whole_numbers_are_good_indices(tmp_path):
    assert load_personas(write(tmp_path, changed("price_index", 2))).personas[0].price_index == 2.0


@pytest.mark.parametrize("file_name", ["owl.yaml", "night-owl.yml"])
def test_file_must_be_called_after_its_persona(tmp_path, file_name):
    with pytest.raises(DataError, match=rf"{file_name}: name: saw 'night-owl'"):
        load_personas(write(tmp_path, NIGHT_OWL, file_name))


def test_folder_without_personas_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no persona"):
        load_personas(tmp_path)
    with pytest.raises(DataError, match="not found"):
        load_personas(tmp_path / "absent")


def test_persona_must_rate_every_creative_and_no_other(tmp_path):
    creatives = load_creatives(SHIPPED / "library" / "creatives.yaml")
    with pytest.raises(DataError, match=r"night-owl\.yaml: creative_affinity\.free-trial: required key is missing"):
        load_personas(write(tmp_path, changed("creative_affinity.free-trial", ...)), creatives)
    with pytest.raises(DataError, match=r"creative_affinity\.free-trail: no such creative.*Did you mean free-trial"):
        load_personas(write(tmp_path, changed("creative_affinity.free-trail", 1.0)), creatives)


def test_personas_of_a_folder_must_agree_on_the_creatives(folder):
    other = changed("creative_affinity.extra", 1.0) | {"name": "other"}
    with pytest.raises(DataError, match=r"other\.yaml: creative_affinity\.extra"):
        load_personas(write(folder, other, "other.yaml"))


def test_affinities_of_personas_without_a_file_are_checked_by_name(folder):
    with pytest.raises(DataError, match=r"persona 'night-owl': creative_affinity\.new: required key is missing"):
        check_affinities(load_personas(folder), [*NIGHT_OWL["creative_affinity"], "new"])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"headline": "x" * 31}, "headline"),
        ({"description": "x" * 91}, "description"),
        ({"theme": ""}, "theme"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_creative_that_does_not_fit_an_advert_is_refused(tmp_path, changes, field):
    creative = {"name": "a", "headline": "Buy", "description": "Now.", "theme": "price"} | changes
    (tmp_path / "creatives.yaml").write_text(yaml.safe_dump({"creatives": [creative]}))
    with pytest.raises(DataError, match=rf"creatives\.yaml:\d+: creatives\[0\]\.{field}"):
        load_creatives(tmp_path / "creatives.yaml")


def test_two_creatives_of_one_name_are_refused(tmp_path):
    creative = {"name": "a", "headline": "Buy", "description": "Now.", "theme": "price"}
    (tmp_path / "creatives.yaml").write_text(yaml.safe_dump({"creatives": [creative, dict(creative)]}))
    with pytest.raises(DataError, match="named 'a'"):
        load_creatives(tmp_path / "creatives.yaml")


@given(hours=st.lists(st.floats(allow_nan=True), min_size=24, max_size=24))
def test_only_finite_hours_of_which_one_is_positive_are_accepted(hours):
    possible = all(math.isfinite(hour) and hour >= 0 for hour in hours) and any(hours)
    try:
        Persona.model_validate(changed("activity.weekday", hours))
    except ValidationError:
        assert not possible
    else:
        assert possible
