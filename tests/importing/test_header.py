import pytest

from gaelp.errors import DataError
from gaelp.importing import header

NEEDED = ("time", "bid_micros", "price_micros", "won")


def match_columns(names, source):
    optional = ("segment", "click", "conversion", "conversion_time")
    return header.match_columns(names, source, needed=NEEDED, optional=optional)


def test_a_column_in_another_case_is_read_and_named():
    columns = match_columns([*NEEDED, "Click", "Conversion-Time"], "bids.csv")
    assert columns.read_as["Click"] == "click"
    assert columns.notes() == ["Columns read under another name: Click as click, Conversion-Time as conversion_time."]


def test_the_exact_name_goes_before_one_in_another_case():
    columns = match_columns([*NEEDED, "Click", "click"], "bids.csv")
    assert (columns.read_as["click"], columns.unused) == ("click", ("Click",))


@pytest.mark.parametrize("names", [("click", "click"), ("Click", "CLICK")])
def test_a_column_that_is_there_twice_is_refused_with_both_spellings(names):
    with pytest.raises(
        DataError, match=rf"column 'click' is 2 times in the header, as {', '.join(names)}; allowed: once"
    ):
        match_columns([*NEEDED, *names], "bids.csv")


def test_columns_that_are_not_used_are_always_named_with_what_they_resemble():
    columns = match_columns([*NEEDED, "campaign", "clicks"], "bids.csv")
    assert columns.notes() == [
        "Columns not used: campaign, clicks.",
        "If clicks holds click, rename it to click in the file's first line.",
    ]


def test_a_header_with_the_declared_columns_needs_no_word():
    assert match_columns([*NEEDED, "click"], "bids.csv").notes() == []
