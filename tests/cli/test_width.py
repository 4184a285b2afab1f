"""Lists fit: 100 columns piped, 80 in a terminal of 80, messages there too; only a word or a command may be longer."""

import re

import pytest
from typer.testing import CliRunner

from gaelp.bootstrap import violations
from gaelp.budget.violations import Violation
from gaelp.cli import output
from gaelp.cli.main import app
from gaelp.clock import SystemClock
from gaelp.config import load_settings

pytestmark = pytest.mark.usefixtures("sentences_as_wide_as_the_screen")

MANDATE = """\
name: pilot-november-of-the-northern-region
account: 123-456-7890
currency: USD
campaigns: [spring-sale-of-the-northern-region, summer-sale-of-the-northern-region]
model_hash: {model}
campaign_daily_micros: 9000000
account_daily_micros: 26000000
total_micros: 60000000
bid_micros: 400000
start_daily_micros: 5000000
raise_percent: 20
last_day: 2099-12-31
"""
LIVE = ("--config", "production")
LISTS = (
    ("alerts", "list"),
    ("approvals", "list", "--all", *LIVE),
    ("audit", "show", *LIVE),
    ("audit", "verify", *LIVE),
    ("config", "show", "--origin", *LIVE),
    ("content", "queue"),
    ("gate", "list"),
    ("keys", "list", *LIVE),
    ("ledger", "show", *LIVE),
    ("ledger", "verify", *LIVE),
    ("mandate", "list", *LIVE),
    ("mandate", "propose", "pilot.yaml", *LIVE),
    ("mandate", "sign", "none-begins-so", *LIVE),
    ("market", "list"),
    ("revive", *LIVE),
    ("runs",),
    ("violations", "list"),
)
EXIT_CODES = {"mandate sign": 2, "revive --config": 4}  # of those that list something and then fail


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a command in a home in which everything has happened that can be listed."""
    place = tmp_path_factory.mktemp("width")
    home, keys, mandate = place / "home", place / "keys", place / "pilot.yaml"
    mandate.write_text(MANDATE.format(model="ab" * 32))

    def gaelp(*words):
        given = [str(mandate) if word == mandate.name else str(word) for word in words]
        return CliRunner().invoke(app, given, env={"GAELP_HOME": str(home)})

    def sign(name, *words):
        return gaelp(*words, "--key", keys / f"{name}.key", "--reason", "as planned for November", *LIVE)

    for name, role in (("ann", "finance"), ("bartholomew", "marketing")):
        gaelp("keys", "new", name, "--out", keys, "--no-passphrase")
        gaelp("keys", "trust", keys / f"{name}.pub.json", "--role", role, *LIVE)
    gaelp("ledger", "create", "123-456-7890", "--currency", "USD", "--time-zone", "America/New_York", *LIVE)
    for name in ("ann", "bartholomew"):
        sign(name, "ledger", "limit", "total", "all", "1000000", "--currency", "USD")
    sign("ann", "ledger", "limit", "account_day", "123-456-7890", "5000")
    proposed = gaelp("mandate", "propose", mandate.name, *LIVE).stdout.split()[-1]
    for name in ("ann", "bartholomew"):
        assert sign(name, "mandate", "sign", proposed).exit_code in (0, 4)
    gaelp("kill", "the cost per click is ten times what it was yesterday, and nobody at the agency answers")
    gaelp("kill", "to be sure")
    sign("ann", "revive")
    settings = load_settings(None, environ={}, overrides=[f"home={home}"]).settings
    what = "the platform has a budget that nobody ordered: " + "https://ads.example.com/" + "c" * 90
    now = SystemClock().now()
    violations(settings).add(
        Violation(severity="critical", scope="campaign spring", rule="budget-read-back", what=what, at=now)
    )
    return gaelp


def too_long(text, columns):
    """The lines that are longer although they could be broken."""
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        pieces = re.sub(r"`[^`]*`", lambda command: "x" * len(command[0]), line).split()
        is_command = line.startswith("  gaelp ")
        if len(line) > columns and len(pieces) > 1 and not is_command:
            yield line


def shown(run, words):
    result = run(*words)
    messages = "".join(line for line in result.stderr.splitlines(True) if '"logger"' not in line)
    assert result.exit_code == EXIT_CODES.get(" ".join(words[:2]), 0), result.stdout + messages
    return result.stdout, messages


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_no_list_is_wider_than_a_hundred_columns_where_it_is_piped(run, words):
    piped, _ = shown(run, words)
    assert list(too_long(piped, 100)) == []


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_no_list_or_message_is_wider_than_its_terminal(run, monkeypatch, words):
    for name in ("columns_of", "_text_columns"):
        monkeypatch.setattr(output, name, lambda _: 80)
    monkeypatch.setattr(output, "_is_terminal", lambda _: True)
    assert [line for text in shown(run, words) for line in too_long(text, 80)] == []
