import pytest

from gaelp.config.probable import probable_home


@pytest.fixture
def broken(here):
    """A config that cannot be loaded, for one key of it is unknown."""
    path = here / "broken.yaml"
    path.write_text("hmoe: typed\nhome: from-file\nlogging: {format: json}\n", encoding="utf-8")
    return str(path)


def test_the_home_is_that_of_the_highest_layer_that_names_one(here, broken, monkeypatch):
    assert probable_home(None, []) == here / ".gaelp"
    assert probable_home(broken, []) == here / "from-file"
    monkeypatch.setenv("GAELP__HOME", "from-variable")
    assert probable_home(broken, []) == here / "from-variable"
    monkeypatch.setenv("GAELP_HOME", "from-short-variable")
    assert probable_home(broken, []) == here / "from-short-variable"
    assert probable_home(broken, ["no override", "home=from-option"]) == here / "from-option"
