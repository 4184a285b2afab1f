import json
import math

import pytest

from gaelp.cli.output import say, say_error, show_json, show_table


def test_results_go_to_stdout_and_talk_to_stderr(capsys):
    show_json({"a": [1, None, "é"]})
    say("working")
    say_error("stopped")
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"a": [1, None, "é"]}
    assert captured.err == "working\nerror: stopped\n"


def test_numbers_that_json_does_not_have_are_refused(capsys):
    with pytest.raises(ValueError, match="JSON"):
        show_json({"a": math.nan})
    assert capsys.readouterr().out == ""


def test_a_piped_table_is_not_folded_and_shows_brackets(capsys):
    show_table(("key", "value"), [["a" * 90, "[red]b[/red]" * 10]])
    row = next(line for line in capsys.readouterr().out.splitlines() if "aaa" in line)
    assert "a" * 90 in row
    assert "[red]b[/red]" * 10 in row
