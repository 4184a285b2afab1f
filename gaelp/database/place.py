"""Where a store is: a file below the home, or the PostgreSQL that the settings name."""

from pathlib import Path

from gaelp.config.places import absolute
from gaelp.config.settings import Settings

__all__ = ["Place", "place_of", "shown_place"]

Place = Path | str  # the path of a SQLite file, or the URL of a PostgreSQL


def place_of(settings: Settings, file_name: str) -> Place:
    """Where these settings keep a store: every store is in the PostgreSQL if one is named, else in its own file."""
    url = settings.budget.database_url
    return absolute(settings.home) / file_name if url is None else url.get_secret_value()


def shown_place(place: Place) -> str:
    """A place in a message; a URL may hold a password."""
    return str(place) if isinstance(place, Path) else "PostgreSQL"
