"""A connector is found by its entry point, or it is said what is there."""

import sys
import traceback

import pytest

from gaelp.config import load_settings
from gaelp.errors import ComponentMissing, ConfigError
from gaelp.platforms.catalog import connect_platform, platform_names


@pytest.fixture
def named(installed_double):
    def make(name):
        overrides = [f"home={installed_double / '.gaelp'}", f"platform.name={name}", "platform.account=acc"]
        return load_settings(None, overrides=overrides).settings

    return make


def test_the_installed_ones_are_listed_and_connected_by_name(named):
    assert platform_names() == ("broken", "double", "google-ads", "meta-ads", "strange")
    assert connect_platform(named("double")).name == "double"


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("doubel", ConfigError, "Did you mean double"),
        ("broken", ComponentMissing, "OSError: no credentials"),
        ("strange", ComponentMissing, "returned a object"),
    ],
)
def test_one_that_cannot_be_used_is_refused_with_the_reason(named, name, error, words):
    with pytest.raises(error, match=words):
        connect_platform(named(name))


def test_a_traceback_of_one_that_cannot_be_used_shows_no_secret(named):
    connect_platform(named("double"))  # the module of the connectors is there now
    sys.modules["double_connector"].fails = _refused_by_the_platform
    with pytest.raises(ComponentMissing, match="PermissionError") as refusal:
        connect_platform(named("broken"))
    assert "s3cr3tvalue" not in "".join(traceback.format_exception(refusal.value))


def _refused_by_the_platform(_settings):
    raise PermissionError("401 from https://api.example/?access_token=s3cr3tvalue")


def test_without_a_name_nothing_can_be_ordered(installed_double):
    settings = load_settings(None, overrides=[f"home={installed_double}"]).settings
    with pytest.raises(ConfigError, match=r"platform\.name: no ad platform is named"):
        connect_platform(settings)
