"""`gaelp revive` releases a stop when enough people have signed for exactly that stop."""

import json

import pytest

from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import LEDGER_NAME, create_ledger, read_fence

pytestmark = pytest.mark.usefixtures("ledger")


@pytest.fixture
def home(here):
    return here / ".gaelp"


@pytest.fixture
def ledger(home):
    made = create_ledger(home / LEDGER_NAME, Latch(home / LATCH_NAME))
    yield made
    made.close()


def revive(gaelp, keys, name, *more):
    return gaelp("revive", "--key", keys / f"{name}.key", "--reason", "fixed", *more)


def test_two_people_release_the_stop_and_one_does_not(gaelp, keys, ledger, home):
    killed = json.loads(gaelp("kill", "--json").stdout)
    first = revive(gaelp, keys, "ann")
    assert first.exit_code == 4
    assert "Signed by ann" in first.stderr
    assert Latch(home / LATCH_NAME).is_set()
    assert read_fence(ledger) is not None
    second = revive(gaelp, keys, "bob", "--json")
    assert json.loads(second.stdout) == {"stopped": False, "released": [killed["stop_id"]]}
    assert not Latch(home / LATCH_NAME).is_set()
    assert read_fence(ledger) is None


def test_the_next_signer_gets_the_command_with_its_settings(gaelp, keys):
    gaelp("kill")
    said = revive(gaelp, keys, "ann", "--config", "production").stderr
    assert "`gaelp revive --key FILE --reason WHY --config production`" in said


def test_a_person_reads_sentences_about_the_alerts_and_no_log_lines(gaelp, keys):
    stopped = gaelp("kill", "--config", "production").stderr
    assert "Alert: Spending is stopped. It reaches nobody else" in stopped
    revive(gaelp, keys, "ann", "--config", "production")
    released = revive(gaelp, keys, "bob", "--config", "production").stderr
    assert "Alert: Spending is allowed again." in released
    assert not any(mark in stopped + released for mark in ("alert_key", "{", "[critical"))


def test_one_person_twice_is_one_person(gaelp, keys, home):
    gaelp("kill")
    revive(gaelp, keys, "ann")
    assert revive(gaelp, keys, "ann").exit_code == 4
    assert Latch(home / LATCH_NAME).is_set()


def test_a_stranger_releases_nothing(gaelp, keys, home):
    gaelp("kill")
    revive(gaelp, keys, "ann")
    assert revive(gaelp, keys, "eve").exit_code == 3
    assert Latch(home / LATCH_NAME).is_set()


def test_approvals_of_one_stop_do_not_release_the_next(gaelp, keys, home):
    gaelp("kill")
    revive(gaelp, keys, "ann")
    gaelp("kill", "--reason", "another")
    assert revive(gaelp, keys, "bob").exit_code == 4
    assert Latch(home / LATCH_NAME).is_set()


def test_an_approval_without_a_reason_is_not_signed(gaelp, keys):
    gaelp("kill")
    assert gaelp("revive", "--key", keys / "ann.key").exit_code == 2


def test_who_is_trusted_is_what_the_settings_say_and_not_what_stands_in_the_home(gaelp, keys, home):
    gaelp("kill")
    assert revive(gaelp, keys, "ann", "--set", "approvals.trust=kept-elsewhere.yaml").exit_code == 3
    assert Latch(home / LATCH_NAME).is_set()


def test_a_release_that_found_no_ledger_does_not_speak_for_the_fence(gaelp, keys, ledger, home):
    gaelp("kill")
    ledger.close()
    (home / LEDGER_NAME).unlink()
    revive(gaelp, keys, "ann")
    released = revive(gaelp, keys, "bob")
    assert (released.exit_code, "its fence is still raised" in released.stdout) == (0, True)


def test_every_stop_since_the_last_release_is_listed_and_all_its_alerts_are_closed(gaelp, keys, ledger):
    gaelp("kill", "the bid is ten times too high")
    again = gaelp("kill", "to be sure")
    assert "stopped already" in again.stdout
    assert "the bid is ten times too high; again at" in " ".join(again.stdout.split())
    assert [stop.reason for stop in read_fence(ledger).earlier] == ["the bid is ten times too high"]
    assert len(json.loads(gaelp("alerts", "list", "--json").stdout)["pending"]) == 2
    first = revive(gaelp, keys, "ann")
    assert "the bid is ten times too high; again at" in first.stderr
    assert ": to be sure" in first.stderr
    assert revive(gaelp, keys, "bob").exit_code == 0
    assert json.loads(gaelp("alerts", "list", "--json").stdout)["pending"] == []
