import shutil

import pytest

from gaelp.config import load_settings
from gaelp.config.places import repository_root
from gaelp.errors import ConfigError
from gaelp.phases.inputs import check_inputs


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*overrides):
    check_inputs(load_settings(overrides=overrides, environ={}))


def test_the_shipped_files_are_right(here):
    check()


def test_each_wrong_file_is_told_with_the_key_that_led_there(here):
    (here / "market.yaml").write_text("name: mine\nday: 3\n")
    with pytest.raises(ConfigError) as caught:
        check("market.name=market.yaml", "personas.set=nobody")
    assert "--set: market.name: market.yaml:2: day: unknown key" in str(caught.value)
    assert "--set: personas.set: 'nobody' not found" in str(caught.value)
    assert str(caught.value).endswith("Known names: personas.")


def test_a_persona_with_a_wrong_value_is_named(here):
    shutil.copytree(repository_root() / "configs" / "personas", here / "mine")
    persona = min((here / "mine").iterdir())
    persona.write_text(persona.read_text() + "\nshoe_size: 43\n")
    with pytest.raises(ConfigError, match=f"mine/{persona.name}:.*shoe_size: unknown key"):
        check("personas.set=./mine")
