import csv
import io

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.bad_rows import RowCheck


def check_of(rows, *bad):
    """A check of so many rows; each of `bad` is a rule and the positions of the rows that break it."""
    check = RowCheck("bids.csv", np.arange(rows) + 2)
    for rule, positions in bad:
        check.refuse(np.isin(np.arange(rows), positions), "column won", rule, lambda row: f"value {row}")
    return check


def test_a_check_without_bad_rows_passes():
    check = check_of(3, ("rule", []))
    check.raise_if_bad()
    assert check.good.all()
    assert check.set_aside(lambda rows: pytest.fail("no text is needed")).rows == ()


def test_reasons_are_counted_with_the_most_frequent_first():
    with pytest.raises(DataError) as caught:
        check_of(2000, ("rare", [7]), ("frequent", range(100, 1300))).raise_if_bad()
    assert str(caught.value).splitlines() == [
        "bids.csv: 1,201 of 2,000 rows (60%) cannot be used:",
        "  1,200 rows, such as line 102, column won: saw value 100; frequent",
        "  1 row: line 9, column won: saw value 7; rare",
        "Correct or drop these rows.",
    ]


def test_a_row_has_its_first_reason_only():
    check = check_of(30, ("first", [3]), ("second", [3, 4]))
    bad = check.set_aside(lambda rows: [f"text {row}" for row in rows])
    assert [(row.line, row.reason, row.text) for row in bad.rows] == [
        (5, "column won: first", "text 3"),
        (6, "column won: second", "text 4"),
    ]


def test_rows_are_set_aside_up_to_a_tenth():
    assert len(check_of(20, ("rule", [0, 1])).set_aside(list).rows) == 2
    with pytest.raises(DataError, match=r"15% of the rows are bad, and at most 10% may be set aside"):
        check_of(20, ("rule", [0, 1, 2])).set_aside(list)


def test_the_file_of_bad_rows_reads_back():
    texts = ['1,"a, b",3', "two\nlines"]
    bad = check_of(20, ("rule, with comma", [0, 5])).set_aside(lambda rows: texts)
    assert list(csv.reader(io.StringIO(bad.as_csv()))) == [
        ["line", "reason", "text"],
        ["2", "column won: rule, with comma", texts[0]],
        ["7", "column won: rule, with comma", texts[1]],
    ]
