"""`gaelp ledger` shows and proves the books; `gaelp kill` stops, `gaelp revive` says what a release needs."""

import json

import pytest
from sqlalchemy import text

from gaelp.budget import speed
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import (
    LEDGER_NAME,
    AdAccount,
    Cap,
    CapKind,
    Reservation,
    Stopped,
    create_ledger,
    open_account,
    post,
    reserve,
    set_limit,
)
from gaelp.cli.kill import release
from gaelp.money import Money

CAP = Cap(CapKind.ACCOUNT, "acc")


@pytest.fixture
def home(here):
    return here / ".gaelp"


@pytest.fixture
def ledger(home):
    made = create_ledger(home / LEDGER_NAME, Latch(home / LATCH_NAME))
    open_account(made, AdAccount("acc", "USD", "UTC"))
    set_limit(made, CAP, Money(50_000_000, "USD"), account_id="acc")
    reserve(made, Reservation("a", "acc", Money(20_000_000, "USD"), (CAP,)))
    reserve(made, Reservation("b", "acc", Money(5_000_000, "USD"), (CAP,)))
    post(made, "b", Money(4_000_000, "USD"))
    yield made
    made.close()


@pytest.mark.usefixtures("ledger")
def test_show_prints_every_cap_and_state(gaelp):
    shown = gaelp("ledger", "show").stdout
    assert "account:acc" in shown
    assert "$26.00" in shown  # 50 - 20 reserved - 4 spent
    found = json.loads(gaelp("ledger", "show", "--json").stdout)
    assert found["caps"][0]["headroom_micros"] == 26_000_000
    assert {one["state"]: one["transfers"] for one in found["states"]} == {"posted": 1, "reserved": 1}
    assert found["stopped"] is False


@pytest.mark.usefixtures("ledger")
def test_verify_says_that_the_books_balance(gaelp):
    result = gaelp("ledger", "verify")
    assert (result.exit_code, "the books balance" in result.stdout) == (0, True)
    assert json.loads(gaelp("ledger", "verify", "--json").stdout)["balances"] is True


def test_verify_exits_1_and_shows_what_disagrees(gaelp, ledger):
    with ledger.engine.begin() as connection:
        connection.execute(text("UPDATE ledger_cap SET posted_micros = 1"))
    result = gaelp("ledger", "verify")
    assert result.exit_code == 1
    assert "do NOT balance" in result.stdout
    assert "gaelp kill" in result.stderr
    found = json.loads(gaelp("ledger", "verify", "--json").stdout)
    assert (found["balances"], found["findings"][0]["expected"]) == (False, 4_000_000)


def test_without_a_ledger_nothing_is_made_up(gaelp, home):
    home.mkdir()
    result = gaelp("ledger", "show")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no ledger" in result.stderr
    assert not (home / LEDGER_NAME).exists()


def test_kill_stops_and_revive_waits_for_a_person(gaelp, ledger, home):
    killed = json.loads(gaelp("kill", "--reason", "drill", "--json").stdout)
    assert {part["name"]: part["outcome"] for part in killed["parts"]} == {
        "latch": "done",
        "fence": "done",
        "pause": "none",
    }
    with pytest.raises(Stopped):
        reserve(ledger, Reservation("c", "acc", Money(1, "USD"), (CAP,)))
    waiting = gaelp("revive")
    assert waiting.exit_code == 4
    assert killed["stop_id"] in waiting.stderr
    assert "drill" in waiting.stderr
    assert json.loads(gaelp("ledger", "show", "--json").stdout)["stopped"] is True
    release(home, lambda _: None)
    assert reserve(ledger, Reservation("c", "acc", Money(1, "USD"), (CAP,))).is_new
    assert json.loads(gaelp("revive", "--json").stdout) == {"stopped": False, "released": []}


def test_kill_needs_no_ledger_and_no_home(gaelp, home):
    result = gaelp("kill")
    assert result.exit_code == 0
    assert Latch(home / LATCH_NAME).is_set()
    assert "Stopped" in result.stdout


def test_kill_works_with_a_broken_database(gaelp, ledger, home):
    ledger.close()
    (home / LEDGER_NAME).write_bytes(b"not a database, but long enough to be taken for one" * 100)
    killed = json.loads(gaelp("kill", "--json").stdout)
    assert [part["outcome"] for part in killed["parts"]] == ["done", "failed", "none"]
    assert Latch(home / LATCH_NAME).is_set()


def test_the_ledger_is_measured_and_without_postgres_its_figures_are_null(gaelp, home, monkeypatch):
    monkeypatch.setattr(speed, "find_spec", lambda _: None)
    result = gaelp("bench", "ledger", "--transfers", 16, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    for figures in (found, found["eight_processes"]):
        assert figures["transfers_per_s"] > 0
        assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["max_ms"]
    assert found["postgres"] is None
    assert list(home.iterdir()) == []  # nothing is left behind
