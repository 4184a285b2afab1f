import ast
import re
import resource
import sys

import pytest

from gaelp.cli.installation import installed_version

HEAVY = (
    "pydantic",
    "structlog",
    "torch",
    "prefect",
    "apache_beam",
    "numba",
    "pandas",
    "pyarrow",
    "great_expectations",
    "matplotlib",
    "scipy",
)

LOADED_BY_HELP = f"""
import sys
sys.argv = ["gaelp", "--help"]
from gaelp.cli.main import run
try:
    run()
except SystemExit:
    ours = [name for name in sys.modules if name.split(".")[0] in ("gaelp", "flows", "tasks", *{HEAVY})]
    print(ours, file=sys.stderr)
"""


def test_the_version_is_that_of_the_package(gaelp):
    result = gaelp("--version")
    assert (result.exit_code, result.stdout) == (0, f"gaelp {installed_version()}\n")


@pytest.mark.parametrize(
    "args", [("--help",), ("-h",), ("config", "--help"), ("config", "show", "-h"), ("doctor", "-h")]
)
def test_help_is_given_and_exits_0(gaelp, args):
    result = gaelp(*args)
    assert result.exit_code == 0
    assert "Usage: gaelp" in result.stdout


def test_help_teaches_with_examples_layers_and_exit_codes(gaelp):
    text = re.sub(r"\s+", " ", gaelp("--help").stdout)
    assert "gaelp config show --config quick-test --origin" in text
    assert "GAELP__A__B" in text
    assert (
        "Exit codes: 0 done, 2 bad input, 3 refused by a gate or guard, 4 waiting for a person, 1 anything else, "
        "130 stopped with Ctrl-C" in text
    )


@pytest.mark.parametrize("args", [("nothing",), ("config", "nothing"), ("--nothing",), ("config", "show", "--set")])
def test_wrong_usage_exits_2_and_leaves_stdout_empty(gaelp, args):
    result = gaelp(*args)
    assert (result.exit_code, result.stdout) == (2, "")


def test_help_loads_neither_a_command_nor_what_commands_need(gaelp_process):
    loaded = set(ast.literal_eval(gaelp_process("-c", LOADED_BY_HELP).stderr))
    needed = {"main", "interruption", "lazy_commands", "output", "reporting_group", "text_table"}
    assert loaded - {f"gaelp.cli.{name}" for name in needed} == {
        *("gaelp", "gaelp.cli", "gaelp.errors"),
        *("flows", "flows.commands", "flows.commands.register"),
    }


def test_help_answers_within_six_tenths_of_a_second(gaelp_process):
    def seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    # Time on the processor: a machine that is busy elsewhere says nothing about us.
    before = seconds()
    assert gaelp_process("-m", "gaelp.cli", "--help").returncode == 0
    assert seconds() - before < 0.6


def test_completion_offers_the_names_of_configs(gaelp_process):
    done = gaelp_process(
        "-m",
        "gaelp.cli",
        _GAELP_COMPLETE="complete_bash",
        COMP_WORDS="gaelp config show --config qui",
        COMP_CWORD="4",
    )
    assert done.stdout.split() == ["quick-test"]


def test_a_closed_pipe_ends_quietly(gaelp_process):
    command = f"{sys.executable} -m gaelp.cli config show --json | true"
    done = gaelp_process(
        "-c", f"import subprocess; print(subprocess.run({command!r}, shell=True, capture_output=True).stderr)"
    )
    assert "Traceback" not in done.stdout
