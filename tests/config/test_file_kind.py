import pytest

from gaelp.config import Frozen, load_model, load_settings
from gaelp.errors import ConfigError, DataError

FOREIGN = {
    "credentials": "user: ann\npassword-hunter2: x\n",
    "tokens as keys": "hunter2: 1\n",
    "a header and its value": "Authorization: Bearer hunter2\nX-hunter2: y\n",
    "keys given twice": "hunter2: 1\nhunter2: 2\n",
    "another service": "hunter2:\n  run: {seed: 7}\n",
    "passwords": "root:x:0:0:hunter2\ndaemon:x:hunter2\n",
    "a private key": "-----BEGIN KEY-----\nhunter2: x\n",
    "an alias": "hunter2: *hunter2\n",
    "broken in the middle": "hunter2: [\nhunter2: {hunter2\n",
}


class Market(Frozen):
    name: str
    days: int = 3


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        return "mine.yaml"

    return write


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_nothing_of_a_file_that_is_no_configuration_is_shown(write, text):
    for load in (lambda path: load_settings(path, environ={}), lambda path: load_model(Market, path)):
        with pytest.raises(ConfigError) as caught:
            load(write(text))
        assert str(caught.value).startswith("mine.yaml")
        assert "hunter2" not in str(caught.value)


def test_what_was_expected_is_said_with_the_way_out(write):
    with pytest.raises(DataError, match=r"mine\.yaml has none of the expected keys \(name, days\).*Name another file"):
        load_model(Market, write("colour: blue\n"), error=DataError)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: mine\ncolour: blue\n", "mine.yaml:2: colour: unknown key"),
        ("nmae: mine\n", "mine.yaml:1: nmae: unknown key; allowed here: name, days. Did you mean name?"),
    ],
)
def test_a_mistyped_key_is_still_shown(write, text, words):
    with pytest.raises(ConfigError) as caught:
        load_model(Market, write(text))
    assert words in str(caught.value)


def test_an_empty_mapping_says_nothing_and_changes_nothing(write):
    assert load_settings(write("{}\n"), environ={}).hash == load_settings(environ={}).hash
