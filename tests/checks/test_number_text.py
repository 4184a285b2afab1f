import math

import pytest

from gaelp.checks.number_text import number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-7.05305e-19, "0"),
        (-0.0, "0"),
        (0.9241623, "0.924162"),
        (-0.01, "-0.01"),
        (1e-05, "0.00001"),
        (3.0, "3"),
        (200, "200"),
        (1_234_567.0, "1234567"),
        (1_234_567.5, "1234568"),
        (1e20, "1e+20"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
    ],
)
def test_a_figure_is_written_as_people_read_it(value, text):
    assert number_text(value) == text
