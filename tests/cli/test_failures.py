from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from gaelp.cli.failures import FailureReporting
from gaelp.errors import ActionError, BadInput, ComponentMissing, GaelpError, Refused, WaitingForPerson


def run(error, *args):
    app = typer.Typer(cls=FailureReporting, pretty_exceptions_enable=False)

    @app.callback()
    def describe():
        """Nothing."""

    @app.command()
    def fail(words: Annotated[list[str] | None, typer.Argument()] = None):
        if error:
            raise error
        typer.echo(f"{words}")

    return CliRunner().invoke(app, ["fail", *args])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GaelpError("x"), 1),
        (BadInput("x"), 2),
        (ActionError("x"), 2),
        (Refused("x"), 3),
        (WaitingForPerson("x"), 4),
        (ComponentMissing("x"), 1),
        (ValueError("x"), 1),
        (OSError(28, "No space left on device"), 1),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(error, code):
    assert run(error).exit_code == code


def test_a_known_failure_is_one_message_on_stderr():
    result = run(Refused("gate said no: reward 0.61, at least 0.70"))
    assert (result.stdout, result.stderr) == ("", "error: gate said no: reward 0.61, at least 0.70\n")


def test_an_unknown_failure_says_how_to_learn_more():
    result = run(ZeroDivisionError("division by zero"))
    assert result.stderr.startswith("error: unexpected ZeroDivisionError: division by zero.")
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr


def test_debug_adds_the_traceback_and_keeps_message_and_code():
    result = run(BadInput("seen 3"), "--debug")
    assert result.exit_code == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("error: seen 3\n")
    assert result.stdout == ""


def test_brackets_in_a_message_are_shown_as_they_are():
    assert "parts[0] [red]" in run(BadInput("parts[0] [red]")).stderr


def test_arguments_after_a_lone_dash_pair_are_left_alone():
    assert "['--debug']" in run(None, "--", "--debug").stdout


def test_wrong_usage_exits_2():
    assert run(None, "--nothing").exit_code == 2
