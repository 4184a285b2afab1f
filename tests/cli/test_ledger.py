"""`gaelp ledger` shows and proves the books; `gaelp kill` stops, `gaelp revive` says what a release needs."""

import json
import sys
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from gaelp.bench import ledger_speed
from gaelp.bootstrap import kill_switch
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import (
    LEDGER_NAME,
    AdAccount,
    Cap,
    CapKind,
    Reservation,
    SpendingStopped,
    create_ledger,
    open_account,
    post,
    reserve,
    set_limit,
)
from gaelp.config import load_settings
from gaelp.money import Money
from gaelp.platforms import InvoiceAmount, PlatformInvoice

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
    outcome = json.loads(gaelp("ledger", "show", "--json").stdout)
    assert outcome["caps"][0]["headroom_micros"] == 26_000_000
    assert {each["state"]: each["transfers"] for each in outcome["states"]} == {"posted": 1, "reserved": 1}
    assert outcome["stopped"] is False


@pytest.mark.usefixtures("ledger")
def test_verify_says_that_the_books_balance(gaelp):
    result = gaelp("ledger", "verify")
    assert (result.exit_code, "the ledger balances" in result.stdout) == (0, True)
    assert "Checked: balances, states, days, currencies" in result.stderr
    assert json.loads(gaelp("ledger", "verify", "--json").stdout)["balances"] is True


def test_verify_counts_the_caps_that_show_lists(gaelp):
    gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC")
    assert "There are no limits yet, so nothing may be spent" in gaelp("ledger", "show").stdout
    for number, caps in ((1, "1 cap:"), (2, "2 caps:")):
        gaelp("ledger", "limit", "campaign", f"c{number}", "5", "--account", "acc")
        assert f"0 transfers, 0 journal entries, 0 adjustments and {caps}" in gaelp("ledger", "verify").stdout
    assert json.loads(gaelp("ledger", "verify", "--json").stdout)["caps"] == 2


def test_verify_exits_1_and_shows_what_disagrees(gaelp, ledger):
    with ledger.database.engine.begin() as connection:
        connection.execute(text("UPDATE ledger_cap SET posted_micros = 1"))
    result = gaelp("ledger", "verify")
    assert result.exit_code == 1
    assert "does NOT balance" in result.stdout
    assert "gaelp kill" in result.stderr
    outcome = json.loads(gaelp("ledger", "verify", "--json").stdout)
    assert (outcome["balances"], outcome["findings"][0]["expected"]) == (False, 4_000_000)


def test_verify_reports_damage_as_a_finding(gaelp, ledger):
    with ledger.database.engine.begin() as connection:
        connection.execute(text("UPDATE ledger_transfer SET caps = 'junk' WHERE key = 'a'"))
        connection.execute(text("DELETE FROM ledger_account"))
    verified = gaelp("ledger", "verify")
    assert (verified.exit_code, "defect" in verified.stderr) == (1, False)
    assert "junk" in verified.stdout
    outcome = json.loads(gaelp("ledger", "verify", "--json").stdout)["findings"]
    assert {(each["where"], each["what"]) for each in outcome} >= {("a", "caps and state"), ("b", "account")}


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
    with pytest.raises(SpendingStopped):
        reserve(ledger, Reservation("c", "acc", Money(1, "USD"), (CAP,)))
    waiting = gaelp("revive")
    assert waiting.exit_code == 4
    assert killed["stop_id"] in waiting.stderr
    assert "drill" in waiting.stderr
    assert json.loads(gaelp("ledger", "show", "--json").stdout)["stopped"] is True
    kill_switch(load_settings(None, overrides=[f"home={home}"]).settings).release(lambda _: None)
    assert reserve(ledger, Reservation("c", "acc", Money(1, "USD"), (CAP,))).is_new
    assert json.loads(gaelp("revive", "--json").stdout) == {"stopped": False, "released": []}


def test_kill_needs_no_ledger(gaelp, home):
    home.mkdir(parents=True, exist_ok=True)
    result = gaelp("kill")
    assert Latch(home / LATCH_NAME).is_there()
    assert (result.exit_code, "STOPPED IN PART" in result.stderr) == (1, True)


def test_kill_works_with_a_broken_database(gaelp, ledger, home):
    ledger.close()
    (home / LEDGER_NAME).write_bytes(b"not a database, but long enough to be taken for one" * 100)
    killed = json.loads(gaelp("kill", "--json").stdout)
    assert [part["outcome"] for part in killed["parts"]] == ["done", "failed", "none"]
    assert Latch(home / LATCH_NAME).is_set()


def test_the_ledger_is_measured_and_without_postgres_its_figures_are_null(gaelp, home, monkeypatch):
    monkeypatch.setattr(ledger_speed, "find_spec", lambda _: None)
    result = gaelp("bench", "ledger", "--transfers", 16, "--json")
    assert result.exit_code == 0, result.stderr
    outcome = json.loads(result.stdout)
    for figures in (outcome, outcome["eight_processes"]):
        assert figures["transfers_per_s"] > 0
        assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["max_ms"]
    assert outcome["postgres"] is None
    assert list(home.iterdir()) == []  # nothing is left behind


# Beginning the books, and what may be spent


@pytest.fixture
def begun(gaelp):
    result = gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "America/New_York")
    assert result.exit_code == 0, result.stderr


def shown(gaelp):
    return {cap["id"]: cap for cap in json.loads(gaelp("ledger", "show", "--json").stdout)["caps"]}


@pytest.mark.usefixtures("begun")
def test_a_limit_is_shown_before_anything_is_spent_under_it(gaelp):
    assert gaelp("ledger", "limit", "account", "acc", "50").exit_code == 0
    assert gaelp("ledger", "limit", "total", "all", "1000", "--currency", "USD").exit_code == 0
    assert gaelp("ledger", "limit", "account_day", "acc", "20.50").exit_code == 0
    outcome = shown(gaelp)
    assert outcome["account:acc"]["headroom_micros"] == 50_000_000
    assert outcome["total:all"]["limit_micros"] == 1_000_000_000
    [day] = [cap for name, cap in outcome.items() if name.startswith("account_day:acc:")]
    assert day["headroom_micros"] == 20_500_000


@pytest.mark.usefixtures("begun")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("weekly", "acc", "50"), "allowed: episode, campaign_day"),
        (("account", "acc", "fifty"), "is not an amount"),
        (("account", "acc", "-1"), "limit of account acc"),
        (("account", "acc", "50 EUR"), "USD"),
        (("campaign", "spring", "5"), "name it with --account"),
        (("account", "other", "5"), "is not known to the ledger"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_and_nothing_is_set(gaelp, words, said):
    result = gaelp("ledger", "limit", "--", *words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert shown(gaelp) == {}


@pytest.mark.usefixtures("begun")
def test_raising_a_limit_takes_two_signatures_where_money_can_move(gaelp, keys):
    live = ("--set", "approvals.policy=live")
    raised = ("ledger", "limit", "account", "acc", "50", *live)
    assert gaelp(*raised).exit_code == 4
    first = gaelp(*raised, "--key", keys / "ann.key", "--reason", "the plan")
    assert (first.exit_code, "Signed by ann" in first.stderr) == (4, True)
    assert shown(gaelp) == {}
    assert gaelp(*raised, "--key", keys / "bob.key", "--reason", "the plan").exit_code == 0
    assert shown(gaelp)["account:acc"]["limit_micros"] == 50_000_000


@pytest.mark.usefixtures("begun")
def test_signatures_for_one_limit_do_not_carry_another_nor_the_same_again(gaelp, keys):
    live = ("--set", "approvals.policy=live")

    def signed(amount, name):
        words = ("--key", keys / f"{name}.key", "--reason", "the plan")
        return gaelp("ledger", "limit", "account", "acc", amount, *live, *words).exit_code

    assert (signed("50", "ann"), signed("60", "bob")) == (4, 4)
    assert signed("50", "bob") == 0
    assert gaelp("ledger", "limit", "account", "acc", "10", *live).exit_code == 0  # lower: always
    assert shown(gaelp)["account:acc"]["limit_micros"] == 10_000_000
    assert gaelp("ledger", "limit", "account", "acc", "50", *live).exit_code == 4  # 10 -> 50 was never signed
    assert (signed("50", "ann"), signed("50", "bob")) == (4, 0)
    gaelp("ledger", "limit", "account", "acc", "10", *live)
    assert gaelp("ledger", "limit", "account", "acc", "50", *live).exit_code == 4  # what was used is used up
    assert json.loads(gaelp("audit", "verify", "--json").stdout)["ok"] is True


def test_a_breached_cap_is_reopened_by_people_once_its_cost_is_within_its_limit(gaelp, ledger, keys):
    live = ("--set", "approvals.policy=live")
    post(ledger, "a", Money(60_000_000, "USD"))  # the platform billed more than there was
    assert shown(gaelp)["account:acc"]["breached"] is True
    assert gaelp("ledger", "reopen", "account:other").exit_code == 2
    assert gaelp("ledger", "reopen", "account:acc", *live).exit_code == 3  # before anybody has to sign
    set_limit(ledger, CAP, Money(70_000_000, "USD"), account_id="acc")
    assert gaelp("ledger", "reopen", "account:acc", *live).exit_code == 4
    for name, code in (("ann", 4), ("bob", 0)):
        signed = ("--key", keys / f"{name}.key", "--reason", "seen")
        assert gaelp("ledger", "reopen", "account:acc", *live, *signed).exit_code == code
    assert shown(gaelp)["account:acc"]["breached"] is False


@pytest.mark.usefixtures("begun")
def test_reconcile_without_a_platform_says_what_to_set(gaelp):
    result = gaelp("ledger", "reconcile")
    assert (result.exit_code, "platform.name" in result.stderr) == (2, True)


@pytest.mark.usefixtures("begun")
def test_reconcile_reports_what_it_did_and_fails_if_a_part_could_not_be_done(
    gaelp, here, installed_double, monkeypatch
):
    # The double's folder is the current one; the books are in the other.
    message = ("--set", f"home={here / '.gaelp'}", "--set", "platform.name=double", "--set", "platform.account=acc")
    message += ("--set", "approvals.policy=live")
    assert gaelp("ledger", "limit", "account_day", "acc", "20", "--set", f"home={here / '.gaelp'}").exit_code == 0
    done = gaelp("ledger", "reconcile", *message)
    assert (done.exit_code, "Posted $0.00, adjusted $0.00." in done.stdout) == (0, True), done.stderr
    monkeypatch.setattr(sys.modules["platform_double"].PlatformDouble, "read_costs", lambda *_: 1 / 0)
    failed = gaelp("ledger", "reconcile", *message)
    assert (failed.exit_code, "booking costs could not be done" in failed.stderr) == (1, True)


@pytest.mark.usefixtures("begun")
def test_reconcile_explains_invoices_and_fails_for_what_has_no_reason(gaelp, here, installed_double, monkeypatch):
    home = ("--set", f"home={here / '.gaelp'}")
    message = (
        *home,
        "--set",
        "platform.name=double",
        "--set",
        "platform.account=acc",
        "--set",
        "approvals.policy=live",
    )
    assert gaelp("ledger", "limit", "account_day", "acc", "20", *home).exit_code == 0
    none = gaelp("ledger", "reconcile", "--invoice", *message)
    assert (none.exit_code, "There is no invoice yet" in none.stdout) == (0, True), none.stderr
    issued = datetime.now(UTC) - timedelta(days=1)
    month = (issued.date().replace(day=1) - timedelta(days=1)).replace(day=1)

    def invoices(_platform, _first, _last):
        return (PlatformInvoice("n1", month, issued, (InvoiceAmount("other", 70_000),)),)

    monkeypatch.setattr(sys.modules["platform_double"].PlatformDouble, "read_invoices", invoices)
    wrong = gaelp("ledger", "reconcile", "--invoice", *message)
    assert (wrong.exit_code, "WITHOUT EXPLANATION" in wrong.stdout) == (1, True)
    assert f"invoices differ without an explanation ({month:%Y-%m}: $0.07)" in wrong.stderr
    [invoice] = json.loads(gaelp("ledger", "reconcile", "--invoice", "--json", *message).stdout)["invoices"]
    assert (invoice["invoice"], invoice["unexplained_micros"]) == ("n1", 70_000)


def test_a_home_made_for_the_books_is_its_owners_alone(gaelp, home):
    assert not home.exists()
    assert gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC").exit_code == 0
    assert home.stat().st_mode & 0o777 == 0o700
