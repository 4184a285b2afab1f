"""Tables fit the screen: text wraps first, then long words go below their row; no word of a cell is broken."""

import pytest

from gaelp.cli.text_table import table_lines, wrapped

WHY = "whoever is worse than the best tuned rule with the same information should be replaced by that rule"
ROW = ("lead_over_best_rule", "pass", "0.000876358", "lower_95: -0.000368735", ">= -0.01", WHY)
HEAD = ("rule", "outcome", "value", "compared", "threshold", "why")


@pytest.mark.parametrize("columns", [40, 80, 100, 170])
def test_no_line_is_longer_than_the_screen(columns):
    assert max(map(len, table_lines(HEAD, [ROW], columns))) <= columns


def test_columns_of_text_wrap_and_names_stay_whole():
    first, rule, *row = table_lines(HEAD, [ROW], 100)
    assert first.split() == list(HEAD)
    assert len(rule) == 100
    assert row[0].startswith("lead_over_best_rule  pass")
    assert len(row) > 1


def test_a_word_that_does_not_fit_is_shown_whole_below_its_row():
    key = "a" * 64
    lines = table_lines(("name", "since", "key"), [("ann", "2026-11-17", key), ("bob", "2026-11-18", "short")], 75)
    assert lines[0] == "name  since       key"
    assert lines[2:] == ["ann   2026-11-17", f"  key: {key}", "bob   2026-11-18  short"]


def test_a_column_whose_cells_are_all_below_takes_no_room():
    lines = table_lines(("name", "key"), [("ann", "a" * 64), ("bob", "b" * 64)], 64)
    assert lines == ["name", "────", "ann", "  key:", "  " + "a" * 64, "bob", "  key:", "  " + "b" * 64]


def test_a_cell_of_several_lines_is_indented_below_its_row():
    lines = table_lines(("number", "what"), [("1", "first\n" + "a" * 40)], 44)
    assert lines == ["number", "──────", "1", "  what: first", "  " + "a" * 40]


def test_a_single_column_is_never_cut():
    assert "a" * 90 in table_lines(("hash",), [("a" * 90,)], 80)


def test_a_heading_that_is_wider_than_its_column_is_broken_rather_than_the_cells():
    lines = table_lines(("stable-baselines3", "ours"), [("abcdefgh", "12345678")], 18)
    assert max(map(len, lines)) <= 18
    assert lines[-1] == "abcdefgh  12345678"


def test_wide_characters_take_two_columns():
    lines = table_lines(("name", "total"), [("春", "$1"), ("ab", "$2")], 80)
    assert lines[2:] == ["春    $1", "ab    $2"]


@pytest.mark.parametrize(
    "text",
    [
        "words before it and then `gaelp mandate sign 19cfa93aa2f9 --key FILE`, then more words",
        "  gaelp gate approve 20261116-020641-7f3a9c --verdict 41446ba1",
    ],
)
def test_a_command_stays_on_one_line_even_if_it_is_longer(text):
    lines = wrapped(text, 30).splitlines()
    command = text.split("`")[1] if "`" in text else text
    assert any(command in line for line in lines)


def test_a_backtick_without_a_partner_keeps_nothing_together():
    assert max(map(len, wrapped("it's a ` and many " + "words " * 20, 30).splitlines())) <= 30


def test_lines_below_an_indented_one_are_indented_alike():
    assert wrapped("  one two three", 9) == "  one two\n  three"
