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
