import logging
import os
import subprocess
import sys
from functools import cache
from typing import Annotated

import pytest
import structlog
import typer
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner

from gaelp.cli import lazy_commands
from gaelp.cli.main import app
from gaelp.cli.reporting_group import ReportingGroup
from gaelp.config.places import repository_root


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    """Variables of the person who runs the tests must not reach the settings under test."""
    for name in [name for name in os.environ if name.startswith("GAELP_")]:
        monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _logging_as_before():
    """A command sets up the logs of its process, which here is that of all tests."""
    root, ours = logging.getLogger(), logging.getLogger("gaelp")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    logging.captureWarnings(False)
    structlog.reset_defaults()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# A process builds its commands once. Tests invoke thousands in one process, and building takes half of their time.
_built_once = cache(get_command)
_loaded_once = cache(lazy_commands.load_command)


@pytest.fixture
def gaelp(here, monkeypatch):
    """Run the command line in this process."""
    monkeypatch.setattr(testing, "_get_command", _built_once)
    monkeypatch.setattr(lazy_commands, "load_command", _loaded_once)

    def run(*args, **env):
        return CliRunner().invoke(app, [str(arg) for arg in args], env=env)

    return run


@pytest.fixture
def gaelp_process(here):
    """Run the command line in a process of its own; the arguments follow `python`."""

    def run(*args, **env):
        path = os.pathsep.join([str(repository_root()), os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, *(args or ("-m", "gaelp.cli"))],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": path, **env},
        )

    return run


@pytest.fixture
def keys(gaelp, here):
    """Three people with keys; two of them are trusted."""
    folder = here / "keys"
    for name, role in (("ann", "finance"), ("bob", "marketing"), ("eve", None)):
        assert gaelp("keys", "new", name, "--out", folder, "--no-passphrase").exit_code == 0
        if role:
            assert gaelp("keys", "trust", folder / f"{name}.pub.json", "--role", role).exit_code == 0
    return folder


@pytest.fixture
def run_failing():
    """Run a command that raises an error, below the group that reports it."""

    def run(error, *args):
        app = typer.Typer(cls=ReportingGroup, pretty_exceptions_enable=False)

        @app.callback()
        def describe():
            """Nothing."""

        @app.command()
        def fail(words: Annotated[list[str] | None, typer.Argument()] = None):
            if error:
                raise error
            typer.echo(f"{words}")

        return CliRunner().invoke(app, ["fail", *args])

    return run
