import pytest

from gaelp.config import load_settings, names_in
from gaelp.config.schema import leaf_keys
from gaelp.config.settings import Settings
from gaelp.errors import ConfigError

NAMED = ("development", "production", "quick-test", "staging")


@pytest.mark.parametrize("name", NAMED)
def test_a_shipped_config_loads_and_is_called_by_its_name(here, name):
    assert name in names_in()
    assert load_settings(name, environ={}).settings.run.name == name


def test_shipped_configs_are_told_apart_by_their_hash(here):
    assert len({load_settings(name, environ={}).hash for name in (None, *NAMED)}) == 5


def test_the_base_config_gives_every_value_itself(here):
    loaded = load_settings(environ={})
    assert {str(origin.layer) for origin in loaded.origins.values()} == {"base"}


def test_an_agent_is_judged_on_other_episodes_than_it_trains_on(here):
    for name in NAMED:
        settings = load_settings(name, environ={}).settings
        assert settings.run.seed != settings.evaluation.seed


@pytest.mark.parametrize(
    "override",
    [
        "run.seed=-1",
        "run.seed=4294967296",
        "run.seed=1.5",
        "run.seed=nan",
        "run.name=../up",
        "run.name=",
        "run.name=a/b",
        "market.name=",
        "market.name= cal",
        "evaluation.episodes=0",
        "evaluation.episodes=1",
        "evaluation.episodes=inf",
        "logging.level=loud",
        "logging.format=xml",
        "home=",
        "home=null",
        "personas.set=null",
        "personas.llm=true",
    ],
)
def test_a_value_outside_its_limits_is_refused(here, override):
    with pytest.raises(ConfigError, match=override.partition("=")[0]):
        load_settings(overrides=[override], environ={})


@pytest.mark.parametrize(
    "override",
    [
        "endpoint=ftp://host/v1",
        "endpoint=host/v1",
        "endpoint=https://user:pass@host/v1",
        "endpoint=https://host/v1?key=abc",
        "endpoint=http://[::1",
        "timeout_seconds=0",
        "timeout_seconds=.inf",
        "retries=-1",
        "requests_max=0",
        "model=",
    ],
)
def test_a_language_model_that_cannot_be_asked_is_refused(here, override):
    given = ["endpoint=http://127.0.0.1:8000/v1", "model=small", override]
    with pytest.raises(ConfigError, match=f"personas.llm.{override.partition('=')[0]}"):
        load_settings(overrides=[f"personas.llm.{each}" for each in given], environ={})


def test_settings_cannot_be_changed(here):
    settings = load_settings(environ={}).settings
    with pytest.raises(ValueError, match="frozen"):
        settings.run.seed = 8


def test_every_leaf_is_known_to_the_schema(here):
    loaded = load_settings(environ={})
    known = {".".join(path) for path in leaf_keys(Settings) if path[:2] != ("personas", "llm")}
    assert set(loaded.values) == {*known, "personas.llm"}
