import pytest
import typer

from gaelp.errors import BadInput


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), EOFError()])
def test_a_question_that_is_left_is_no_defect(run_failing, cause):
    abort = typer.Abort()
    abort.__context__ = cause
    result = run_failing(abort)
    expected = (130, "interrupted; ") if isinstance(cause, KeyboardInterrupt) else (2, "error: the input ended")
    assert (result.exit_code, result.stderr[: len(expected[1])]) == expected
    assert "Aborted" not in result.stderr


def test_debug_adds_the_traceback_and_keeps_message_and_code(run_failing):
    result = run_failing(BadInput("seen 3"), "--debug")
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("error: seen 3\n")
    assert result.stdout == ""


def test_arguments_after_a_lone_dash_pair_are_left_alone(run_failing):
    assert "['--debug']" in run_failing(None, "--", "--debug").stdout


def test_wrong_usage_exits_2(run_failing):
    assert run_failing(None, "--nothing").exit_code == 2
