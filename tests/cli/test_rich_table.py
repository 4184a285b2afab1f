"""Tables fit the screen: columns of text wrap first, and words are broken only in a terminal that is too narrow."""

import io
import re

import pytest

from gaelp.cli.rich_table import column_widths, print_table

WHY = "whoever is worse than the best tuned rule with the same information should be replaced by that rule"
ROW = ("lead_over_best_rule", "pass", "0.000876358", "lower_95: -0.000368735", ">= -0.01", WHY)
STYLE = re.compile(r"\x1b\[[0-9;]*m")
HEAD = ("rule", "outcome", "value", "compared", "threshold", "why")


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [40, 80, 100, 170])
@pytest.mark.parametrize("stream", [io.StringIO, Screen])
def test_no_line_is_longer_than_the_screen_unless_a_word_would_be_broken_in_a_file(columns, stream):
    file = stream()
    print_table(HEAD, [ROW], file, columns)
    longest = max(map(len, STYLE.sub("", file.getvalue()).splitlines()))
    assert longest <= columns or (stream is io.StringIO and columns < 80)


def test_columns_of_text_wrap_and_names_stay_whole():
    widths = column_widths([HEAD, ROW], 100, break_words=True)
    assert sum(widths) + 2 * 5 == 100
    assert widths[0] == len("lead_over_best_rule")
    assert widths[5] < len(WHY)


def test_a_word_that_does_not_fit_is_broken_in_a_terminal_and_kept_in_a_file():
    screen, file = Screen(), io.StringIO()
    for stream in (screen, file):
        print_table(("hash",), [("a" * 90,)], stream, 80)
    assert "a" * 90 not in screen.getvalue()
    assert "a" * 90 in file.getvalue()
