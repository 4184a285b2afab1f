"""Build the store that the settings name, behind the wall of its seals; BigQuery's client is imported only if used."""

from importlib import import_module
from pathlib import Path

from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import ComponentMissing
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.sealed_store import SealedStore
from gaelp.storage.seals import SealBook, seals_place
from gaelp.storage.store import EpisodeStore

__all__ = ["build_store", "episodes_folder"]


def episodes_folder(home: Path) -> Path:
    """The folder of the store on this machine."""
    return absolute(home) / "episodes"


def build_store(settings: Settings) -> EpisodeStore:
    """Open the store of these settings, made where it is missing; close it after use. Sealed rows are withheld."""
    return SealedStore(_build(settings), SealBook(seals_place(settings)))


def _build(settings: Settings) -> EpisodeStore:
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
