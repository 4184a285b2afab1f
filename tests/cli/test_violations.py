"""`gaelp violations` shows what is open and settles it once, with a name."""

import json
from datetime import UTC, datetime

import pytest

from gaelp.bootstrap import violations
from gaelp.budget.violations import Violation
from gaelp.config import load_settings


@pytest.fixture
def stored(here):
    (here / ".gaelp").mkdir()
    store = violations(load_settings(None, overrides=[f"home={here / '.gaelp'}"]).settings)
    at = datetime(2026, 11, 16, tzinfo=UTC)
    return store.add(Violation(severity="critical", scope="spring", rule="read-back-differs", what="twice", at=at))


@pytest.mark.usefixtures("stored")
def test_an_open_violation_is_listed_until_somebody_settles_it(gaelp):
    assert "read-back-differs" in gaelp("violations", "list").stdout
    assert gaelp("violations", "resolve", 1, "--who", "ann", "--how", "set back").exit_code == 0
    assert gaelp("violations", "list").stdout.strip() == "No open violations."
    [settled] = json.loads(gaelp("violations", "list", "--all", "--json").stdout)["violations"]
    assert (settled["resolution"]["by"], settled["resolution"]["text"]) == ("ann", "set back")


@pytest.mark.usefixtures("stored")
def test_settling_twice_without_words_or_what_is_not_there_is_refused(gaelp):
    assert gaelp("violations", "resolve", 1, "--who", "ann", "--how", " ").exit_code == 2
    assert gaelp("violations", "resolve", 7, "--who", "ann", "--how", "set back").exit_code == 2
    assert gaelp("violations", "resolve", 1, "--who", "ann", "--how", "set back").exit_code == 0
    assert gaelp("violations", "resolve", 1, "--who", "bob", "--how", "me too").exit_code == 3


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("number", [99999999999999999999999, 2**63, 0])
def test_a_number_that_no_violation_can_have_is_bad_input(gaelp, number):
    refused = gaelp("violations", "resolve", number, "--who", "bob", "--how", "set back")
    assert (refused.exit_code, f"there is no violation {number}" in refused.stderr) == (2, True)


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("who", ["a\nb", "a\tb", "a\x1b[2Jb"])
def test_who_settles_is_one_printable_line(gaelp, who):
    refused = gaelp("violations", "resolve", 1, "--who", who, "--how", "set back")
    assert (refused.exit_code, "one printable line" in refused.stderr) == (2, True)
    assert "read-back-differs" in gaelp("violations", "list").stdout


def test_a_long_violation_fits_a_terminal_and_is_whole_in_json(gaelp, stored, here, monkeypatch):
    long = "spring: " + "the platform has another daily budget than ordered; " * 12
    store = violations(load_settings(None, overrides=[f"home={here / '.gaelp'}"]).settings)
    store.add(stored.model_copy(update={"id": 0, "what": long}))
    monkeypatch.setattr("gaelp.cli.output._PIPE_COLUMNS", 80)
    shown = gaelp("violations", "list").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "read-back-differs: spring" in shown
    assert "…" in shown
    assert json.loads(gaelp("violations", "list", "--json").stdout)["violations"][1]["what"] == long
