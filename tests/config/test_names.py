import pytest
from pydantic import TypeAdapter, ValidationError

from gaelp.config import Name, check_name
from gaelp.config.names import Slug, Text
from gaelp.errors import BadInput, ConfigError, DataError


@pytest.mark.parametrize("name", ["a", "cal-first", "Run_7.2", "0", "x" * 64])
def test_a_plain_name_is_taken_as_it_is(name):
    assert TypeAdapter(Name).validate_python(name) == check_name(name, "--name") == name


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "x/y", "x\\y", "a: b", "-x", "x\n", "ü", "x" * 65, "a\0"])
def test_a_name_that_could_leave_its_folder_or_need_quotes_is_refused_in_words(name):
    with pytest.raises(ValidationError, match=r"allowed: 1 to 64 of the letters A to Z and a to z, digits"):
        TypeAdapter(Name).validate_python(name)
    with pytest.raises(ConfigError, match=r"--name: saw .*; allowed: 1 to 64 of the letters"):
        check_name(name, "--name")


def test_the_error_can_be_of_another_class():
    with pytest.raises(DataError):
        check_name("a/b", "--name", error=DataError)
    assert issubclass(DataError, BadInput)


@pytest.mark.parametrize("slug", ["", "A", "1a", "a--b", "a-", "a_b", "a" * 41])
def test_a_slug_is_lower_case_words_joined_by_hyphens(slug):
    assert TypeAdapter(Slug).validate_python("a1-b2") == "a1-b2"
    with pytest.raises(ValidationError, match="lower-case letters and digits in words joined by '-'"):
        TypeAdapter(Slug).validate_python(slug)


@pytest.mark.parametrize("text", ["", " a", "a ", "a\nb"])
def test_text_is_one_line_without_spaces_at_its_ends(text):
    assert TypeAdapter(Text).validate_python("my market.yaml") == "my market.yaml"
    with pytest.raises(ValidationError, match="one line of text"):
        TypeAdapter(Text).validate_python(text)
