import sys

import pytest
import typer
from typer.main import get_group
from typer.testing import CliRunner

from gaelp.cli.lazy_commands import LazyCommand, add_command
from gaelp.cli.main import app as gaelp_app

ONE_COMMAND = '''
import typer

def greet(name: str, loud: bool = False) -> None:
    """Say hello.

    A second paragraph.
    """
    typer.echo(f"HELLO {name}" if loud else f"hello {name}")
'''
ONE_GROUP = '''
import typer

app = typer.Typer(no_args_is_help=True)

@app.command()
def first() -> None:
    """Do it first."""
    typer.echo("first")

@app.command()
def second() -> None:
    """Do it second."""
'''


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A command and a group that are not imported yet, and a module that cannot be imported."""
    for name, text in (("lazy_one", ONE_COMMAND), ("lazy_group", ONE_GROUP), ("lazy_broken", "import nothing_here\n")):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    made = typer.Typer(no_args_is_help=True)
    add_command(made, "greet", "lazy_one:greet", "Say hello.")
    add_command(made, "numbers", "lazy_group:app", "Count.")
    add_command(made, "broken", "lazy_broken:app", "Fails.")
    return made


def run(app, *args, **env):
    return CliRunner().invoke(app, args, env=env)


def members(group, *words):
    """Every lazy command below a group with the words that lead to it, groups that are loaded for it included."""
    for name, command in group.commands.items():
        real = command.load() if isinstance(command, LazyCommand) else command
        if isinstance(command, LazyCommand):
            yield (*words, name), command, real
        if hasattr(real, "commands"):
            yield from members(real, *words, name)


def test_help_lists_every_command_and_imports_none(app):
    result = run(app, "--help")
    assert result.exit_code == 0
    assert all(text in result.stdout for text in ("greet", "Say hello.", "numbers", "Count.", "broken", "Fails."))
    assert not {"lazy_one", "lazy_group", "lazy_broken"} & set(sys.modules)


def test_a_command_runs_with_its_own_options_and_imports_no_other(app):
    assert run(app, "greet", "ann", "--loud").stdout == "HELLO ann\n"
    assert "lazy_group" not in sys.modules


def test_a_group_runs_its_commands(app):
    assert run(app, "numbers", "first").stdout == "first\n"


def test_the_help_of_a_group_is_the_line_it_was_added_with(app):
    shown = run(app, "numbers", "--help").stdout
    assert all(text in shown for text in ("Count.", "first", "Do it first.", "second"))


def test_an_option_that_does_not_exist_is_refused_by_the_real_command(app):
    result = run(app, "greet", "ann", "--quiet")
    assert (result.exit_code, "--quiet" in result.stderr) == (2, True)


def test_a_name_that_is_nearly_right_is_answered_with_the_nearest(app):
    for words, nearest in ((("gret",), "greet"), (("numbers", "frist"), "first")):
        result = run(app, *words)
        assert result.exit_code == 2
        assert f"Did you mean '{nearest}'" in result.stderr


def test_a_module_that_cannot_be_imported_fails_only_its_own_command(app):
    assert isinstance(run(app, "broken").exception, ModuleNotFoundError)
    assert run(app, "greet", "ann").exit_code == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [("gaelp gr", ["greet"]), ("gaelp greet --l", ["--loud"]), ("gaelp numbers ", ["first", "second"])],
)
def test_completion_offers_commands_groups_and_options(app, words, offered):
    env = {"_GAELP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert CliRunner().invoke(app, [], prog_name="gaelp", env=env).stdout.split() == offered


def test_every_line_of_help_is_the_first_of_the_command_it_stands_for():
    listed = list(members(get_group(gaelp_app)))
    assert {("kill",), ("up",), ("bench", "pipeline"), ("gate",)} <= {words for words, _, _ in listed}
    wrong = [
        f"gaelp {' '.join(words)}: listed as {lazy.help!r}, its own help begins with {first!r}"
        for words, lazy, real in listed
        if lazy.help != (first := " ".join((real.help or "").split("\n\n")[0].split()))
    ]
    assert wrong == []
