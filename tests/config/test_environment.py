import pytest

from gaelp.config import load_settings
from gaelp.errors import ConfigError


def values(environ=None, overrides=()):
    return load_settings(environ=environ or {}, overrides=overrides).values


@pytest.mark.parametrize("text", ["7", "true", "null-island", "1e6", "on"])
def test_text_stays_text_where_the_key_takes_text(here, text):
    assert values(overrides=[f"run.name={text}"])["run.name"] == text


def test_a_number_is_read_where_the_key_takes_a_number(here):
    assert values({"GAELP__EVALUATION__EPISODES": "1_000"})["evaluation.episodes"] == 1000


def test_what_follows_the_first_equals_sign_is_the_value(here):
    assert values(overrides=["home=a=b"])["home"] == "a=b"


def test_a_whole_section_can_be_given_and_then_refined(here):
    environ = {"GAELP__RUN__SEED": "3", "GAELP__RUN": "{name: x, seed: 2}"}
    assert values(environ)["run.seed"] == 3
    assert values(environ)["run.name"] == "x"


def test_null_switches_an_optional_section_off(here):
    on = ["personas.llm.endpoint=http://h", "personas.llm.model=m"]
    assert values(overrides=on)["personas.llm.model"] == "m"
    assert values(overrides=[*on, "personas.llm=null"])["personas.llm"] is None


def test_the_home_variable_sets_home(here):
    loaded = load_settings(environ={"GAELP_HOME": "/srv/gaelp"})
    assert loaded.values["home"] == "/srv/gaelp"
    assert str(loaded.origins["home"]) == "environment: GAELP_HOME"


def test_two_variables_for_home_must_agree(here):
    with pytest.raises(ConfigError, match="GAELP_HOME and GAELP__HOME"):
        values({"GAELP_HOME": "a", "GAELP__HOME": "b"})
    assert values({"GAELP_HOME": "a", "GAELP__HOME": "a"})["home"] == "a"


@pytest.mark.parametrize("name", ["GAELP__", "GAELP__RUN__", "GAELP____SEED"])
def test_a_variable_without_a_key_is_refused(here, name):
    with pytest.raises(ConfigError, match=name):
        values({name: "1"})


@pytest.mark.parametrize("override", ["", "=1", "run.seed", "run..seed=1", ".=1", "run.seed.=1"])
def test_an_override_that_is_none_is_refused(here, override):
    with pytest.raises(ConfigError, match="--set"):
        values(overrides=[override])


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\udcff"])
def test_text_that_cannot_be_printed_is_refused(here, text):
    with pytest.raises(ConfigError, match=r"GAELP__RUN__NAME: run.name: saw characters that cannot be printed"):
        values({"GAELP__RUN__NAME": text})


def test_a_variable_that_is_not_ours_is_left_alone(here):
    assert values({"GAELPX": "1", "PATH": "/bin"}) == values()
