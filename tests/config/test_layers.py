import pytest

from gaelp.config import load_settings
from gaelp.errors import ConfigError

LLM = {"GAELP__PERSONAS__LLM__ENDPOINT": "http://127.0.0.1:8000/v1", "GAELP__PERSONAS__LLM__MODEL": "small"}


def write(folder, text, name="my.yaml"):
    (folder / name).write_text(text)
    return f"./{name}"


def seed(loaded):
    return loaded.settings.run.seed, str(loaded.origins["run.seed"])


def test_a_later_layer_wins_and_is_named_as_the_origin(here):
    path = write(here, "run:\n  seed: 2\n")
    environ = {"GAELP__RUN__SEED": "3"}
    assert seed(load_settings(environ={}))[1].startswith("base: ")
    assert seed(load_settings(path, environ={})) == (2, "config: my.yaml:2")
    assert seed(load_settings(path, environ=environ)) == (3, "environment: GAELP__RUN__SEED")
    assert seed(load_settings(path, environ=environ, overrides=["run.seed=4", "run.seed=5"])) == (5, "override: --set")


def test_every_value_has_an_origin(here):
    loaded = load_settings("quick-test", environ=LLM)
    assert loaded.values.keys() == loaded.origins.keys()
    assert loaded.origins["personas.llm.model"].place == "GAELP__PERSONAS__LLM__MODEL"
    assert loaded.origins["personas.llm.retries"].layer == "default"


def test_the_process_environment_is_read_when_none_is_given(here, monkeypatch):
    monkeypatch.setenv("GAELP__RUN__SEED", "99")
    assert load_settings().settings.run.seed == 99


def test_a_wrong_value_is_told_with_the_layer_it_came_from(here):
    path = write(here, "run:\n  sede: 2\nevaluation:\n  episodes: -3\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ={"GAELP__LOGGING__FORM": "5"}, overrides=["logging.level=loud"])
    header, *lines = str(caught.value).splitlines()
    assert header == "4 problems:"
    assert sorted(lines) == [
        "  --set: logging.level: saw 'loud'; allowed: 'debug', 'info', 'warning' or 'error'.",
        "  GAELP__LOGGING__FORM: logging.form: unknown key; allowed here: level, format. Did you mean logging.format?",
        "  my.yaml:2: run.sede: unknown key; allowed here: name, seed, until. Did you mean run.seed?",
        "  my.yaml:4: evaluation.episodes: saw -3; allowed: from 2 to 1000000.",
    ]


def test_a_section_left_empty_is_told_as_such(here):
    with pytest.raises(ConfigError, match=r"my.yaml:1: run: saw null; allowed: a mapping with the keys name, seed."):
        load_settings(write(here, "run:\n"), environ={})


def test_a_base_that_lacks_a_key_is_named(here):
    (here / "configs").mkdir()
    write(here / "configs", "run:\n  seed: 1\n", "base.yaml")
    with pytest.raises(ConfigError) as caught:
        load_settings(environ={})
    assert "configs/base.yaml:1: run.name: required key is missing" in str(caught.value)
    assert "configs/base.yaml:1: market: required key is missing; allowed: a mapping with the keys" in str(caught.value)


def test_a_secret_fills_the_section_in_use(here):
    loaded = load_settings(environ={**LLM, "GAELP__PERSONAS__LLM__API_KEY": "sk-planted"})
    assert loaded.settings.personas.llm.api_key.get_secret_value() == "sk-planted"
    assert loaded.values["personas.llm.api_key"] == "**********"
    assert str(loaded.origins["personas.llm.api_key"]) == "environment: GAELP__PERSONAS__LLM__API_KEY"
    assert "sk-planted" not in repr(loaded)


def test_a_secret_alone_switches_nothing_on(here):
    environ = {"GAELP__PERSONAS__LLM__API_KEY": "sk-planted"}
    assert load_settings(environ=environ).settings.personas.llm is None
    assert load_settings(environ=environ).hash == load_settings(environ={}).hash


def test_without_a_secret_there_is_none(here):
    assert load_settings(environ=LLM).values["personas.llm.api_key"] is None


@pytest.mark.parametrize(
    ("config", "overrides", "environ"),
    [
        ("personas: {llm: {endpoint: 'http://h', model: m, api_key: sk-planted}}", [], {}),
        ("personas: {llm: {endpoint: 'http://h', model: m, api_key: {deep: sk-planted}}}", [], {}),
        ("personas: {llm: {endpoint: 'http://h', model: m, api_kye: sk-planted}}", [], {}),
        ("personas: {llm: sk-planted}", [], {}),
        ("personas: {llm: 'sk-planted", [], {}),
        ("run: {seed: 1}", ["personas.llm.api_key=sk-planted"], LLM),
        ("run: {seed: 1}", ["personas.llm={api_key: sk-planted}"], LLM),
        ("run: {seed: 1}", ["personas.llm=[sk-planted"], LLM),
        ("run: {seed: 1}", [], {"GAELP__PERSONAS__LLM": "{api_key: sk-planted}"}),
        ("run: {seed: 1}", [], {"GAELP__PERSONAS__LLM": "sk-planted"}),
        ("run: {seed: 1}", [], {**LLM, "GAELP__PERSONAS__LLM__API_KYE": "sk-planted"}),
        ("run: {seed: 1}", [], {**LLM, "GAELP__personas__llm__api_key": "sk-planted"}),
        ("run: {seed: 1}", [], {**LLM, "GAELP__PERSONAS__LLM__API_KEY": "sk-planted\n2nd"}),
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(here, config, overrides, environ):
    with pytest.raises(ConfigError) as caught:
        load_settings(write(here, config), overrides=overrides, environ=environ)
    assert "sk-planted" not in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
