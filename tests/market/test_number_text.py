import pytest

from gaelp.market.number_text import counted, short_number


@pytest.mark.parametrize(
    ("value", "text"),
    [(-7.05305e-19, "0"), (0.0, "0"), (-0.0, "0"), (0.000123456, "0.0001235"), (-2.5, "-2.5"), (123456.0, "1.235e+05")],
)
def test_a_number_has_few_digits_and_rounding_errors_are_0(value, text):
    assert short_number(value) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 hours"), (1, "1 hour"), (2, "2 hours"), (12345, "12,345 hours")])
def test_a_noun_is_in_the_plural_unless_there_is_one(number, text):
    assert counted(number, "hour") == text
