"""The settings name the store."""

import pytest

from gaelp.bootstrap import open_store
from gaelp.config import load_settings
from gaelp.errors import ConfigError
from gaelp.storage.conformance_rows import episode_batch


def test_the_store_on_this_machine_is_below_the_home(tmp_path):
    settings = load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
    store = open_store(settings)
    store.append(episode_batch(1))
    assert list((tmp_path / "episodes" / "commits").glob("*/decisions/*.parquet"))


def test_bigquery_needs_a_project(tmp_path):
    with pytest.raises(ConfigError, match=r"backend=bigquery needs a project: set storage\.project"):
        load_settings(overrides=["storage.backend=bigquery"], environ={})
