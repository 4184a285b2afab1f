import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen

from gaelp.config.allowed_values import allowed_kind, allowed_length, allowed_range, plain_number


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([Ge(0), Le(2)], "from 0 to 2"),
        ([Le(256), Gt(0)], "greater than 0 and at most 256"),
        ([Ge(0), Lt(1)], "at least 0 and less than 1"),
        ([Gt(0)], "greater than 0"),
        ([Le(0.5)], "at most 0.5"),
        ([MinLen(3)], ""),
        ([], ""),
    ],
)
def test_a_range_is_told_whole(limits, words):
    assert allowed_range(limits) == words


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ([MinLen(24), MaxLen(24)], "exactly 24 entries"),
        ([MinLen(1), MaxLen(40)], "1 to 40 entries"),
        ([MinLen(1)], "at least 1 entries"),
        ([MaxLen(9)], "at most 9 entries"),
        ([Ge(0)], ""),
    ],
)
def test_a_length_is_told_whole(limits, words):
    assert allowed_length(limits, "entries") == words


def test_a_kind_is_told_with_its_range():
    assert allowed_kind("int_type", [Ge(1), Le(9)]) == "a whole number from 1 to 9"
    assert allowed_kind("bool_parsing", []) == "true or false"
    assert allowed_kind("something_new", []) == ""


def test_numbers_are_told_as_they_can_be_written():
    assert [plain_number(value) for value in (1e9, 256, 0.5, 1e-6)] == ["1000000000", "256", "0.5", "1e-06"]
