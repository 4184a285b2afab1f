import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.document import DEPTH_MAX, FILE_BYTES_MAX, Document, parse_scalar, parse_yaml, read_document
from gaelp.errors import ConfigError, DataError


def document(folder, text):
    path = folder / "some.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("False", False),
        ("NO", "NO"),
        ("off", "off"),
        ("y", "y"),
        ("7", 7),
        ("-7", -7),
        ("50_000_000", 50_000_000),
        ("0", 0),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1e6", 1e6),
        ("1.5", 1.5),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("1.2.3", "1.2.3"),
        ("nan", "nan"),
        ("9" * 60, "9" * 60),
    ],
)
def test_a_plain_word_means_what_a_reader_expects(text, value):
    seen = parse_scalar(text)
    assert (seen, type(seen)) == (value, type(value))


def test_not_a_number_is_read_as_such_so_that_a_model_can_refuse_it():
    assert math.isnan(parse_scalar(".nan"))


@given(
    st.integers(min_value=-(10**38), max_value=10**38) | st.floats(allow_nan=False).filter(lambda x: len(repr(x)) < 40)
)
def test_a_number_survives_being_written_and_read(number):
    text = repr(number).replace("inf", ".inf")
    assert parse_scalar(text) == number


def test_each_value_knows_its_line(here):
    found = document(here, "a: 1\nb:\n  c: 2\n  d:\n    - x\n    - e: 3\n")
    assert found.values == {"a": 1, "b": {"c": 2, "d": ["x", {"e": 3}]}}
    assert found.place(("b", "c")) == "some.yaml:3"
    assert found.place(("b", "d", 1, "e")) == "some.yaml:6"
    assert found.place(("b", "missing")) == "some.yaml:2"


def test_keys_are_text_and_quotes_keep_text(here):
    assert document(here, "1: '2'\non: \"true\"\n").values == {"1": "2", "on": "true"}


def test_a_key_given_twice_is_a_problem_with_both_lines(here):
    found = document(here, "a:\n  b: 1\n  c: 2\n  b: 3\n")
    assert [str(problem) for problem in found.problems] == [
        "some.yaml:4: a.b: key given twice, first on line 2. Keep one of them."
    ]


@pytest.mark.parametrize(("text", "word"), [("a: &x 1\nb: *x\n", "alias"), ("a: !!python/name:os.system\n", "tag")])
def test_aliases_and_tags_are_problems(here, text, word):
    assert word in str(document(here, text).problems[0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "some.yaml is empty"),
        ("# nothing\n", "some.yaml is empty"),
        ("- a\n", "some.yaml:1: saw a list"),
        ("just text\n", "some.yaml:1: saw a single value"),
        ("a: 1\nb: [1,\n", "some.yaml:3"),
        ("a: 1\n\tb: 2\n", "some.yaml:2"),
        ("a: 1\n---\nb: 2\n", "some.yaml:2: a second document"),
        ("? [a]\n: 1\n", "some.yaml:1: a key is not plain text"),
        (b"a: \xff\n", "not UTF-8"),
        (b"a: \x07\n", "not valid YAML"),
        ("a: " + "[" * (DEPTH_MAX + 2) + "]" * (DEPTH_MAX + 2), "nested deeper"),
        ("a: " + "[" * 100_000, "nested deeper"),
        ("#" * (FILE_BYTES_MAX + 1), "larger than"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused_with_its_place(here, text, words):
    with pytest.raises(ConfigError, match=r"some\.yaml") as caught:
        document(here, text)
    assert words in str(caught.value)


def test_a_syntax_error_does_not_show_the_line_it_stands_in(here):
    with pytest.raises(ConfigError) as caught:
        document(here, "key: 'sk-secret\n")
    assert "sk-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_error_can_be_of_another_class(here):
    with pytest.raises(DataError, match="cannot be read"):
        read_document(here / "not-there.yaml", error=DataError)


@given(st.text(alphabet="ab:-[]{}'\"&*!|>#%@ \n\t,?\\\x00\x85é1.", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        value, lines, _ = parse_yaml(text, "any.yaml")
    except ConfigError:
        return
    assert value is None or () in lines


def test_the_place_of_an_unknown_key_is_the_file():
    assert Document("some.yaml", {}, {}).place(("a",)) == "some.yaml"
