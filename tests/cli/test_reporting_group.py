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


@pytest.mark.parametrize(
    ("trials", "text"),
    [("0", "saw 0; allowed: 1 or more"), ("x", "saw x; allowed: a whole number"), ("99999", "allowed: at most 10000")],
)
def test_a_wrong_number_is_refused_in_our_words(gaelp, trials, text):
    result = gaelp("market", "tune", "cal", "--trials", trials)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())
    assert "Input should be" not in result.stderr


def test_the_help_lists_every_exit_code(gaelp):
    shown = " ".join(gaelp("--help").stdout.replace("│", " ").split())
    for code in ("0 done", "2 bad input", "3 refused", "4 waiting", "1 anything else", "130 stopped", "141 the reader"):
        assert code in shown
