import fcntl
import json
import math
import os
import pty
import re
import struct
import subprocess
import sys
import termios

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


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_a_command_between_backquotes_is_not_cut_at_any_width(columns):
    command = "`gaelp train --config gaelp.yaml --set training.rounds=10 --run 20261116-020641-7f3a9c`"
    text = wrapped(f"kept: everything up to round 2; {command} resumes the run that was interrupted", columns)
    assert command in text.splitlines()
    assert all(len(line) <= columns for line in text.splitlines() if line != command)


def test_a_long_message_is_wrapped_between_words_in_a_terminal_and_left_whole_elsewhere(capsys):
    text = "run 20261116-020641-7f3a9c is in /tmp/a/very/long/path/to/a/home/runs/20261116-020641-7f3a9c " * 3
    say(text)
    say_error(text)
    assert capsys.readouterr().err == f"{text}\nerror: {text}\n"
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    script = f"from gaelp.cli.output import say, say_error; say({text!r}); say_error({text!r})"
    subprocess.run([sys.executable, "-c", script], stderr=terminal, check=True, timeout=60)
    os.close(terminal)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", os.read(main, 10_000).decode()).splitlines()
    os.close(main)
    assert len(lines) > 6
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == f"{text} error: {text}".split()


def test_a_word_in_a_table_is_not_broken_and_brackets_are_shown(capsys):
    show_table(("key", "value"), [["a" * 90, "[red]b[/red]" * 10]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == ["a" * 90, "  value:", "  " + "[red]b[/red]" * 10]


def test_a_traceback_is_shown_as_it_is(capsys):
    say_unchanged("Traceback\n    " + "word " * 40)
    assert capsys.readouterr().err.splitlines()[1] == "    " + "word " * 40
