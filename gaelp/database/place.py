"""Where a store is: a file below the home, or the PostgreSQL that the settings name."""

from dataclasses import dataclass, field
from pathlib import Path

from gaelp.config.places import absolute
from gaelp.config.settings import Settings

__all__ = ["Place", "SharedPlace", "place_of", "shared_place_of", "shown_place"]


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """A PostgreSQL, and the file below the home that may hold older rows of the store: opening it imports them."""

    url: str = field(repr=False)  # may hold a password
    old_file: Path


Place = Path | str | SharedPlace  # the path of a SQLite file, or the URL of a PostgreSQL


def place_of(settings: Settings, file_name: str) -> Path | str:
    """Where these settings keep a store: every store is in the PostgreSQL if one is named, else in its own file."""
    url = settings.budget.database_url
    return absolute(settings.home) / file_name if url is None else url.get_secret_value()


def shared_place_of(settings: Settings, file_name: str) -> Place:
    """The same for a store that used to be a local file, whatever the settings named."""
    place = place_of(settings, file_name)
    return place if isinstance(place, Path) else SharedPlace(place, absolute(settings.home) / file_name)


def shown_place(place: Place) -> str:
    """A place in a message; a URL may hold a password."""
    return str(place) if isinstance(place, Path) else "PostgreSQL"
