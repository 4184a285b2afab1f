from pathlib import Path

from gaelp.config import load_settings
from gaelp.database.place import SharedPlace, place_of, shared_place_of, shown_place

URL = "postgresql://ann:hidden@host/books"


def settings(**environ):
    return load_settings(overrides=["home=/home-of-tests"], environ=environ).settings


def test_without_a_database_a_store_is_a_file_below_the_home():
    assert (
        place_of(settings(), "ledger.db")
        == shared_place_of(settings(), "ledger.db")
        == Path("/home-of-tests/ledger.db")
    )


def test_with_a_database_a_store_is_in_it_and_its_older_file_is_known():
    named = settings(GAELP__BUDGET__DATABASE_URL=URL)
    assert place_of(named, "ledger.db") == URL
    assert shared_place_of(named, "ledger.db") == SharedPlace(URL, Path("/home-of-tests/ledger.db"))


def test_no_message_shows_the_password():
    place = SharedPlace(URL, Path("old"))
    assert shown_place(place) == shown_place(URL) == "PostgreSQL"
    assert "hidden" not in repr(place)
