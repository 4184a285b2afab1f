import json
import math

import pytest

from gaelp.cli.output import (
    say,
    say_error,
    say_unchanged,
    say_waiting,
    show_json,
    show_paragraph,
    show_table,
    wrapped,
)


def test_results_go_to_stdout_and_talk_to_stderr(capsys):
    show_json({"a": [1, None, "é"]})
    say("working")
    say_error("too large")
    say_waiting("ann has to sign")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"a": [1, None, "é"]}
    assert captured.err == "working\nerror: too large\nwaiting: ann has to sign\n"


def test_numbers_that_json_does_not_have_are_refused(capsys):
    with pytest.raises(ValueError, match="JSON"):
        show_json({"a": math.nan})
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("sentences_as_wide_as_the_screen")
def test_piped_sentences_and_tables_wrap_at_a_hundred_columns(capsys):
    show_paragraph("word " * 50, indent="  ")
    show_table(("key", "why"), [["a", "word " * 50]])
    lines = capsys.readouterr().out.splitlines()
    assert 90 < max(map(len, lines)) <= 100
    assert lines[1].startswith("  word")


def test_a_command_in_a_paragraph_stays_on_one_line():
    text = wrapped("decide later:\n  gaelp gate approve 20261116-020641-7f3a9c --verdict 41446ba1", 80)
    assert text.splitlines() == ["decide later:", "  gaelp gate approve 20261116-020641-7f3a9c --verdict 41446ba1"]


def test_a_word_in_a_table_is_not_broken_and_brackets_are_shown(capsys):
    show_table(("key", "value"), [["a" * 90, "[red]b[/red]" * 10]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == ["a" * 90, "  value:", "  " + "[red]b[/red]" * 10]


@pytest.mark.usefixtures("sentences_as_wide_as_the_screen")
@pytest.mark.parametrize("report", [say, say_error, say_waiting])
def test_piped_messages_wrap_at_a_hundred_columns_between_words(capsys, report):
    report("/" + "p" * 97 + " " + "word " * 40)
    lines = capsys.readouterr().err.splitlines()
    assert "/" + "p" * 97 in lines[0]
    assert all(set(line.split()) == {"word"} and len(line) <= 100 for line in lines[1:])


def test_a_traceback_is_shown_as_it_is(capsys):
    say_unchanged("Traceback\n    " + "word " * 40)
    assert capsys.readouterr().err.splitlines()[1] == "    " + "word " * 40
