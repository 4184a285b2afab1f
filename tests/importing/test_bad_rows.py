import csv
import io

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.importing.bad_rows import BadRowTally, RowCheck
from gaelp.importing.text_rows import LineFault


def check_of(rows, *bad):
    """A check of so many rows; each of `bad` is a rule and the positions of the rows that break it."""
    check = RowCheck(np.arange(rows) + 2)
    for rule, positions in bad:
        check.refuse(np.isin(np.arange(rows), positions), "column won", rule, lambda row: f"value {row}")
    return check


def tally_of(*checks):
    tally = BadRowTally("bids.csv")
    for check in checks:
        tally.add(check)
    return tally


def test_a_check_without_bad_rows_passes():
    check = check_of(3, ("rule", []))
    tally_of(check).raise_if_bad()
    assert check.good.all()
    assert check.bad_rows(lambda row: pytest.fail("no text is needed")) == []


def test_reasons_are_counted_with_the_most_frequent_first():
    with pytest.raises(DataError) as caught:
        tally_of(check_of(2000, ("rare", [7]), ("frequent", range(100, 1300)))).raise_if_bad()
    assert str(caught.value).splitlines() == [
        "bids.csv: 1,201 of 2,000 rows (60%) cannot be used:",
        "  1,200 rows, such as line 102, column won: saw value 100; frequent",
        "  1 row: line 9, column won: saw value 7; rare",
        "Correct or drop these rows.",
    ]


def test_a_row_has_its_first_reason_only():
    check = check_of(30, ("first", [3]), ("second", [3, 4]))
    assert [(row.line, row.reason, row.text) for row in check.bad_rows(lambda row: f"text {row}")] == [
        (5, "column won: first", "text 3"),
        (6, "column won: second", "text 4"),
    ]


def test_rows_are_set_aside_up_to_a_tenth():
    assert tally_of(check_of(20, ("rule", [0, 1]))).set_aside([]).rows_total == 20
    with pytest.raises(DataError, match=r"15% of the rows are bad, and at most 10% may be set aside"):
        tally_of(check_of(20, ("rule", [0, 1, 2]))).set_aside([])


def test_the_parts_of_a_log_add_up_by_reason_with_the_first_example():
    tally = tally_of(check_of(20, ("rule", [0])), check_of(30, ("rule", [4, 5]), ("other", [6])))
    assert (tally.rows_total, tally.bad) == (50, 4)
    assert [(reason.rows, reason.line) for reason in tally.reasons] == [(3, 2), (1, 8)]


def test_lines_of_totals_are_no_errors():
    check = check_of(6, ("rule", []))
    check.refuse(np.arange(6) < 3, "line", "a line of totals, no data", str, is_expected=True)
    assert (tally_of(check).too_many, tally_of(check).bad) == ("", 3)


def test_lines_that_are_wrong_as_a_whole_are_refused_by_their_fault():
    check = RowCheck(np.arange(4))
    check.refuse_lines({1: LineFault("line", "rule", "a"), 3: LineFault("line", "rule", "b")})
    assert check.good.tolist() == [True, False, True, False]
    assert [(reason.rows, reason.value) for reason in check.reasons] == [(2, "a")]


def test_the_file_of_bad_rows_reads_back():
    texts = ['1,"a, b",3', "two\nlines"]
    check = check_of(20, ("rule, with comma", [0, 5]))
    bad = tally_of(check).set_aside(check.bad_rows({0: texts[0], 5: texts[1]}.__getitem__))
    assert list(csv.reader(io.StringIO(bad.as_csv()))) == [
        ["line", "reason", "text"],
        ["2", "column won: rule, with comma", texts[0]],
        ["7", "column won: rule, with comma", texts[1]],
    ]
