"""Build the store that the settings name; BigQuery's client is imported only where it is used."""

from importlib import import_module
from pathlib import Path

from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import ComponentMissing
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.store import EpisodeStore

__all__ = ["build_store", "episodes_folder"]


def episodes_folder(home: Path) -> Path:
    """The folder of the store on this machine."""
    return absolute(home) / "episodes"


def build_store(settings: Settings) -> EpisodeStore:
    """Open the store of these settings, made where it is missing; close it after use."""
    storage = settings.storage
    if storage.backend == "duckdb":
        return DuckDbStore(episodes_folder(settings.home))
    try:
        bigquery = import_module("gaelp.storage.bigquery_store")
    except ImportError as problem:
        raise ComponentMissing(
            f"storage.backend=bigquery needs a package that is not installed ({problem.name}): run"
            " `pip install 'gaelp[bigquery]'`, or set storage.backend=duckdb"
        ) from problem
    place = bigquery.BigQueryPlace(storage.project, storage.dataset, storage.max_bytes_billed)
    store: EpisodeStore = bigquery.BigQueryStore(place)
    return store
