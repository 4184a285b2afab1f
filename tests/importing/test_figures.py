import numpy as np
import pandas as pd
import pytest

from gaelp.importing.figures import decimal_mark, figures_of, numbers_of


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1,234", ".", 1234),
        ("1,234.50", ".", 1234.5),
        ("1.234,50", ",", 1234.5),
        ("1.234", ",", 1234),
        ("1\u202f234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("12,34,567", ".", 1234567),
        ("$1.97", ".", 1.97),
        ("1,97 €", ",", 1.97),
        ("JPY 652", ".", 652),
        ("12.5%", ".", 0.125),
        ("-3.5", ".", -3.5),
    ],
)
def test_a_figure_is_read_as_its_report_prints_it(text, decimal, value):
    values, given = figures_of(pd.Series([text]), decimal)
    assert (values[0], given[0]) == (pytest.approx(value), True)


@pytest.mark.parametrize("text", ["1,23", "1.2.3", "12,3456", "abc", "1e5", "1 2"])
def test_what_does_not_fit_the_decimal_mark_is_unreadable_and_never_guessed(text):
    values, given = figures_of(pd.Series([text]), ".")
    assert np.isnan(values[0])
    assert given[0]


@pytest.mark.parametrize("text", ["", "--", " - ", "—", "< 10%", "> 90%", "N/A", None])
def test_no_figure_is_empty(text):
    assert not figures_of(pd.Series([text]), ".")[1][0]


@pytest.mark.parametrize(
    ("fields", "mark"),
    [(["1,50 €", "1.165", "x"], ","), (["1.50", "1,165"], "."), (["1,165", "17"], "."), ([], "."), (["1.234,5"], ",")],
)
def test_the_decimal_mark_is_the_one_that_most_fields_show(fields, mark):
    assert decimal_mark(fields) == mark


def test_plain_numbers_and_typed_columns_pass():
    assert numbers_of(pd.Series(["5", "", "x"]))[1].tolist() == [True, False, True]
    assert figures_of(pd.Series([5, 7]), ",")[0].tolist() == [5.0, 7.0]
