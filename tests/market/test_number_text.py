import pytest

from gaelp.market.number_text import short_number


@pytest.mark.parametrize(
    ("value", "text"),
    [(-7.05305e-19, "0"), (0.0, "0"), (-0.0, "0"), (0.000123456, "0.0001235"), (-2.5, "-2.5"), (123456.0, "1.235e+05")],
)
def test_a_number_has_few_digits_and_rounding_errors_are_0(value, text):
    assert short_number(value) == text
