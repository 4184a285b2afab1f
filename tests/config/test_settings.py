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
    channels = {f"alerts.{circle}.{kind}" for circle in ("first", "second") for kind in ("webhook", "email")}
    unset = {"personas.llm", "history.synthesize", "platform.google_ads", "platform.meta_ads", *channels}
    leaves = {".".join(path) for path in leaf_keys(Settings)}
    assert set(loaded.values) == {*unset, *(leaf for leaf in leaves if leaf.rpartition(".")[0] not in unset)}


def test_the_books_are_in_files_or_in_a_postgres_whose_address_is_never_shown(here):
    assert load_settings(environ={}).settings.budget.database_url is None
    address = "postgresql://gaelp:planted@db.example/books"
    loaded = load_settings(environ={"GAELP__BUDGET__DATABASE_URL": address})
    assert loaded.settings.budget.database_url.get_secret_value() == address
    assert "planted" not in f"{loaded!r} {loaded.values}"
    with pytest.raises(ConfigError, match="postgresql://user:password@host/database") as caught:
        load_settings(environ={"GAELP__BUDGET__DATABASE_URL": "mysql://gaelp:planted@db.example/books"})
    assert "planted" not in str(caught.value)


def test_who_can_be_reached_from_elsewhere_asks_for_a_token(here):
    with pytest.raises(ConfigError, match="GAELP__API__TOKEN"):
        load_settings(overrides=["api.host=0.0.0.0"], environ={})
    told = load_settings(overrides=["api.host=0.0.0.0"], environ={"GAELP__API__TOKEN": "planted"}).settings
    assert told.api.token.get_secret_value() == "planted"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_who_listens_on_this_machine_alone_needs_no_token(here, host):
    assert load_settings(overrides=[f"api.host={host}"], environ={}).settings.api.token is None


def test_a_webhook_needs_no_more_than_its_address(here):
    told = load_settings(environ={"GAELP__ALERTS__FIRST__WEBHOOK__URL": "https://hooks.example/planted"}).settings
    assert (told.alerts.first.webhook.attempts, told.alerts.second.webhook) == (3, None)


def test_a_platform_has_a_name_and_an_account_or_neither(here):
    for half in ("platform.name=google-ads", "platform.account=acc"):
        with pytest.raises(ConfigError, match="belong together"):
            load_settings(overrides=[half], environ={})
