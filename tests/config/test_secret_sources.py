import pytest

from gaelp.config import Settings, known_secrets, load_settings
from gaelp.config.secret_sources import Secret, hide_secrets
from gaelp.errors import ConfigError

NAME = "GAELP__PERSONAS__LLM__API_KEY"
LLM = {"GAELP__PERSONAS__LLM__ENDPOINT": "http://127.0.0.1:8000/v1", "GAELP__PERSONAS__LLM__MODEL": "small"}


def test_a_secret_is_read_from_the_file_that_a_variable_names(here):
    (here / "key").write_text("sk-planted\n")
    loaded = load_settings(environ={**LLM, f"{NAME}_FILE": "key"})
    assert loaded.settings.personas.llm.api_key.get_secret_value() == "sk-planted"
    assert loaded.origins["personas.llm.api_key"].place == f"{NAME}_FILE"


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({NAME: ""}, "empty"),
        ({NAME: "a\tb"}, "not one printable line"),
        ({f"{NAME}_FILE": "not-there"}, f"{NAME}_FILE: not-there cannot be read"),
        ({f"{NAME}_FILE": "."}, "cannot be read"),
        ({f"{NAME}_FILE": "empty"}, "empty"),
        ({f"{NAME}_FILE": "binary"}, "not UTF-8"),
        ({NAME: "a", f"{NAME}_FILE": "empty"}, "both set"),
    ],
)
def test_a_secret_that_cannot_be_used_is_refused(here, environ, words):
    (here / "empty").write_text("\n")
    (here / "binary").write_bytes(b"sk-\xff")
    with pytest.raises(ConfigError, match=NAME) as caught:
        load_settings(environ={**LLM, **environ})
    assert words in str(caught.value)


def test_known_secrets_are_all_texts_that_must_not_be_shown(here):
    (here / "key").write_text("sk-file\n")
    assert known_secrets({NAME: "sk-planted"}) == ("sk-planted",)
    assert known_secrets({NAME: "sk-planted", f"{NAME}_FILE": "key"}) == ("sk-planted", "sk-file")
    assert known_secrets({NAME: " ", f"{NAME}_FILE": "not-there"}) == ()


def test_a_secret_does_not_show_itself():
    assert "sk-planted" not in repr(Secret(("a",), "A", "sk-planted"))


def test_what_is_left_of_values_with_a_secret_holds_none_of_it():
    given = {"personas": {"llm": {"model": "m", "api_key": {"deep": ["sk-planted"]}}}}
    left, problems = hide_secrets(Settings, given, lambda _: "my.yaml")
    assert left == {"personas": {"llm": {"model": "m", "api_key": "**********"}}}
    assert [problem.path for problem in problems] == [("personas", "llm", "api_key")]
