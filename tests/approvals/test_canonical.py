import enum
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.approvals.canonical import SIZE_MAX, canonical, digest, parse, tagged
from gaelp.errors import DataError

WHOLE = st.integers(min_value=-(2**63), max_value=2**63 - 1)
TEXT = st.text(max_size=20).map(lambda text: unicodedata.normalize("NFC", text))
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE | TEXT,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT, below, max_size=4),
    max_leaves=12,
)


def same(left, right):
    """Equal in value and in type: to Python, True is 1."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(VALUES)
def test_what_is_written_is_read_back_unchanged(value):
    assert same(parse(canonical(value)), value)


@given(VALUES, VALUES)
def test_equal_values_and_no_others_have_equal_bytes(left, right):
    assert (canonical(left) == canonical(right)) == same(left, right)


@given(st.dictionaries(TEXT, WHOLE, min_size=2, max_size=6))
def test_the_order_in_which_keys_were_given_does_not_count(values):
    assert canonical(dict(reversed(values.items()))) == canonical(values)


@given(VALUES, VALUES)
def test_a_hash_of_one_thing_is_never_that_of_another(left, right):
    assert tagged("action", left) != tagged("approval", right)
    assert digest("action", left) != digest("approval", left)


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        2**63,
        b"raw",
        {1: "a"},
        {None: 1},
        {True: 1},
        {1, 2},
        Colour.RED,
        "e\u0301",
        {"e\u0301": 1},
        "\ud800",
    ],
    ids=repr,
)
def test_what_could_be_written_in_two_ways_is_refused(value):
    with pytest.raises(DataError):
        canonical([value])


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"a":2}',
        b'{"b":1,"a":2}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b'{"a":1.0}',
        b'{"a":1e3}',
        b'{"a":NaN}',
        b'{"a":-0}',
        b'{"a":01}',
        b'"\\u0041"',
        b'"\\u00E9"',
        '"é"'.encode(),
        b'"e\\u0301"',
        b"\xff",
        b"",
        b"[" * 3000 + b"]" * 3000,
        b"[" * 20 + b"]" * 20,
        b"9" * 5000,
        b'"' + b"x" * SIZE_MAX + b'"',
    ],
    ids=lambda raw: repr(raw[:20]),
)
def test_json_that_is_not_canonical_is_refused(raw):
    with pytest.raises(DataError):
        parse(raw)


def test_a_key_given_twice_is_named_as_such():
    with pytest.raises(DataError, match="a key is given twice"):
        parse(b'{"a":1,"a":1}')
