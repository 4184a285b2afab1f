"""A secret in the environment shows up nowhere: not in output, not in logs, not in a traceback."""

import pytest

SECRET = "sk-planted/4f9c+secret=="
NAME = "GAELP__PERSONAS__LLM__API_KEY"
LLM = {"GAELP__PERSONAS__LLM__ENDPOINT": "http://127.0.0.1:8000/v1", "GAELP__PERSONAS__LLM__MODEL": "small"}

CRASH = """
import typer
from gaelp.cli.main import app, run
from gaelp.cli.startup import prepare
from gaelp.config import load_settings

@app.command()
def crash() -> None:
    llm = load_settings().settings.personas.llm
    key = llm.api_key.get_secret_value()
    raise RuntimeError(f"401 for key {key} of {llm!r}, header {key.encode()!r}, url ?key={key}")

run()
"""

LOG = """
import logging, sys, urllib.parse
from gaelp.cli.startup import prepare
from gaelp.observability import get_logger

loaded = prepare(None, ["logging.level=debug", "logging.format=" + sys.argv[1]])
key = loaded.settings.personas.llm.api_key.get_secret_value()
log = get_logger("gaelp.test")
log.info("asked", key=key, settings=loaded.settings, url="http://h/?k=" + urllib.parse.quote(key, safe=""))
logging.getLogger("other.library").warning("sent %s", key)
try:
    raise ValueError(key)
except ValueError:
    log.exception("failed")
"""


@pytest.fixture(params=["value", "file"])
def planted(request, here):
    """The environment with a secret in it, given as a value or as a file."""
    if request.param == "value":
        return {**LLM, NAME: SECRET}
    (here / "key").write_text(f"{SECRET}\n")
    return {**LLM, f"{NAME}_FILE": str(here / "key")}


@pytest.mark.parametrize(
    "args",
    [
        ("config", "show", "--origin"),
        ("config", "show", "--origin", "--json"),
        ("config", "check", "--json", "--debug"),
        ("config", "show", "--set", "run.seed=x", "--debug"),
        ("config", "show", "--config", SECRET, "--debug"),
        ("config", "show", "--set", f"personas.llm.api_key={SECRET}", "--debug"),
        ("config", "show", "--set", f"personas.llm.model=[{SECRET}", "--set", "run.seed=x", "--debug"),
    ],
)
def test_a_planted_secret_is_in_no_output(gaelp, planted, args):
    result = gaelp(*args, **planted)
    assert result.exit_code in (0, 2)
    assert SECRET not in result.output


def test_a_secret_in_use_is_shown_as_stars(gaelp, planted):
    result = gaelp("config", "show", "--json", **planted)
    assert result.exit_code == 0
    assert '"**********"' in result.stdout


@pytest.mark.parametrize("args", [(), ("--debug",)])
def test_a_planted_secret_is_not_told_by_a_crash(gaelp_process, planted, args):
    done = gaelp_process("-c", CRASH, "crash", *args, **planted)
    assert done.returncode == 1
    assert "unexpected RuntimeError: 401 for key" in done.stderr
    assert ("Traceback" in done.stderr) == bool(args)
    assert SECRET not in done.stdout + done.stderr
    assert "4f9c" not in done.stdout + done.stderr


@pytest.mark.parametrize("log_format", ["human", "json"])
def test_a_planted_secret_is_in_no_log_line(gaelp_process, planted, log_format):
    done = gaelp_process("-c", LOG, log_format, **planted)
    assert done.returncode == 0
    assert all(word in done.stderr for word in ("asked", "sent", "failed", "ValueError"))
    assert "4f9c" not in done.stdout + done.stderr


def test_the_crash_would_show_the_secret_without_protection(gaelp_process, planted):
    unprotected = CRASH.replace("\nrun()\n", "\ncrash()\n")
    assert SECRET in gaelp_process("-c", unprotected, **planted).stderr
