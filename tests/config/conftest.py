import os

import pytest


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    """Variables of the person who runs the tests must not reach the settings under test."""
    for name in [name for name in os.environ if name.startswith("GAELP_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
