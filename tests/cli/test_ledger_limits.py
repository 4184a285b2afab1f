"""Limits of books under signatures: what is asked for, what is refused, and what the audit log says afterwards."""

import contextlib
import getpass
import json
import sqlite3
import threading

import pytest

from gaelp.approvals import ApprovalStore
from gaelp.authority import limit_changes
from gaelp.budget.latch import Latch
from gaelp.budget.ledger import AdAccount, create_ledger, open_account
from gaelp.clock import SystemClock
from gaelp.database.engine import connect_engine

LIVE = ("--set", "approvals.policy=live")
DAY = ("ledger", "limit", "account_day", "acc")


@pytest.fixture
def home(here):
    return here / ".gaelp"


@pytest.fixture(autouse=True)
def _begun(gaelp):
    result = gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "America/New_York")
    assert result.exit_code == 0, result.stderr


@pytest.fixture
def sign(gaelp, keys):
    """Run a command as somebody with a key."""

    def run(name, *words):
        return gaelp(*words, "--key", keys / f"{name}.key", "--reason", "the plan")

    return run


@pytest.fixture
def signed(sign):
    """Books with a limit of 50 a day that two people signed for."""
    assert [sign(name, *DAY, "50", "--config", "production").exit_code for name in ("ann", "bob")] == [4, 0]


def day_limit(gaelp):
    caps = json.loads(gaelp("ledger", "show", "--json").stdout)["caps"]
    return {cap["kind"]: cap["limit_micros"] // 1_000_000 for cap in caps}.get("account_day")


def text(gaelp, kind="limit.set"):
    rows = json.loads(gaelp("audit", "show", "--json", "--last", "500", "--kind", kind).stdout)["rows"]
    return [row["body"] for row in rows]


# Books that once took signatures


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize(
    ("more", "env"),
    [((), {}), (("--set", "approvals.policy=sandbox"), {}), ((), {"GAELP__APPROVALS__POLICY": "sandbox"})],
)
def test_a_limit_that_two_people_signed_is_not_raised_by_forgetting_the_configuration(gaelp, more, env):
    result = gaelp(*DAY, "70", *more, **env)
    assert (result.exit_code, day_limit(gaelp)) == (3, 50)
    assert "--config production" in result.stderr
    assert "approvals.policy=live" in result.stderr
    assert len(text(gaelp)) == 1


@pytest.mark.usefixtures("signed")
def test_other_limits_of_signed_books_take_signatures_too(gaelp):
    assert gaelp("ledger", "limit", "account", "acc", "1").exit_code == 3
    assert gaelp("ledger", "limit", "total", "all", "1", "--currency", "USD").exit_code == 3


@pytest.mark.usefixtures("signed")
def test_a_breached_cap_of_signed_books_is_not_reopened_unsigned(gaelp, home):
    gaelp("ledger", "limit", *DAY[2:], "0", *LIVE)
    with sqlite3.connect(home / "ledger.db") as connection:
        connection.execute(
            "INSERT INTO ledger_cap SELECT 'account_day:acc:2026-01-01', kind, subject, '2026-01-01', account_id,"
            " currency, limit_micros, 0, 0, 1 FROM ledger_limit"
        )
    assert gaelp("ledger", "reopen", "account_day:acc:2026-01-01").exit_code == 3
    assert text(gaelp, "cap.reopened") == []


@pytest.mark.usefixtures("installed_double")
def test_where_the_platform_is_live_a_sandbox_policy_is_not_taken(gaelp, home, here):
    platform = ("--set", "platform.name=double", "--set", "platform.account=acc", "--set", f"home={home}")
    assert gaelp(*DAY, "70", *platform).exit_code == 4


@pytest.mark.usefixtures("signed")
def test_the_log_says_who_signed_for_a_limit_and_which_action(gaelp):
    [row] = text(gaelp)
    assert (row["cap"], row["before"], row["limit"], row["account"]) == ("account_day:acc", "none", "$50.00", "acc")
    assert (row["signed"], row["approvers"], row["policy"], row["quorum"]) == (True, ["ann", "bob"], "live", 2)
    [used] = text(gaelp, "approval.used")
    assert row["action_hash"] == used["action_hash"]
    assert row["policy_hash"] == used["authorisation"]["policy_hash"]
    assert row["trust_hash"] == used["authorisation"]["terms"]["trust_hash"]


def test_the_log_says_that_a_limit_was_not_signed_and_who_was_at_the_keyboard(gaelp):
    assert gaelp(*DAY, "50").exit_code == 0
    assert gaelp(*DAY, "20").exit_code == 0
    assert [(row["signed"], row["by"], row["account"]) for row in text(gaelp)] == [
        (False, getpass.getuser(), "acc")
    ] * 2
    assert [(row["before"], row["limit"]) for row in text(gaelp)] == [("none", "$50.00"), ("$50.00", "$20.00")]


# Nothing is signed away or recorded that does not happen


@pytest.mark.parametrize(
    "words",
    [
        ("account_day", "acc", "9223372036854"),
        ("account_day", "acc", "-5"),
        ("account_day", "acc", "50", "--account", "all"),
        ("account_day", "acc", "50", "--account", "a:b"),
        ("account_day", "acc", "50", "--currency", "EUR"),
        ("campaign_day", "spring", "50", "--account", "a:b"),
        ("total", "some", "50", "--currency", "USD"),
        ("total", "all", "50", "--currency", "USD", "--account", "acc"),
        ("episode", "e" * 195, "50", "--account", "acc"),
    ],
)
def test_what_cannot_be_set_is_refused_before_anybody_signs_and_is_not_recorded(gaelp, sign, words):
    result = sign("ann", "ledger", "limit", *words, *LIVE)
    assert result.exit_code == 2, result.stderr
    assert "unexpected" not in result.stderr
    assert (text(gaelp), text(gaelp, "approval.requested"), text(gaelp, "approval.used")) == ([], [], [])


def test_a_total_keeps_its_currency(gaelp):
    assert gaelp("ledger", "limit", "total", "all", "50", "--currency", "USD").exit_code == 0
    result = gaelp("ledger", "limit", "total", "all", "50", "--currency", "EUR")
    assert (result.exit_code, "has the currency USD, not EUR" in result.stderr) == (2, True)


def test_a_negative_amount_is_called_by_its_name(gaelp):
    assert "AMOUNT is -5; allowed: 0 or more" in gaelp(*DAY, "-5").stderr


def test_a_crash_after_the_signatures_were_used_is_repeated_without_new_ones(gaelp, sign, monkeypatch):
    assert sign("ann", *DAY, "50", *LIVE).exit_code == 4
    with monkeypatch.context() as power_cut:
        power_cut.setattr(limit_changes, "set_limit", lambda *_, **__: 1 / 0)
        assert sign("bob", *DAY, "50", *LIVE).exit_code == 1
    assert (day_limit(gaelp), text(gaelp), len(text(gaelp, "approval.used"))) == (None, [], 1)
    again = gaelp(*DAY, "50", *LIVE)
    assert (again.exit_code, day_limit(gaelp)) == (0, 50), again.stderr
    assert [row["approvers"] for row in text(gaelp)] == [["ann", "bob"]]


def test_a_crash_before_the_log_was_written_is_fixed_by_the_next_command(gaelp, sign, monkeypatch):
    assert sign("ann", *DAY, "50", *LIVE).exit_code == 4
    with monkeypatch.context() as power_cut:
        power_cut.setattr(limit_changes, "report_unrecorded", lambda *_: 1 / 0)
        assert sign("bob", *DAY, "50", *LIVE).exit_code == 1
    assert (day_limit(gaelp), text(gaelp)) == (50, [])
    assert gaelp(*DAY, "50", *LIVE).exit_code == 0
    assert [row["signed"] for row in text(gaelp)] == [True]  # and no row that says 50 -> 50
    assert gaelp(*DAY, "50", *LIVE).exit_code == 0
    assert [row["signed"] for row in text(gaelp)] == [True]
    assert gaelp("audit", "verify").exit_code == 0


def test_a_limit_that_somebody_lowers_meanwhile_is_not_raised_back_by_one_that_seemed_equal(gaelp, monkeypatch):
    assert gaelp(*DAY, "7").exit_code == 0
    real, before = limit_changes.set_limit, []

    def late(*given, **more):
        if not before:
            before.append(gaelp_in_between(gaelp, monkeypatch, real))
        return real(*given, **more)

    monkeypatch.setattr(limit_changes, "set_limit", late)
    result = gaelp(*DAY, "7")
    assert (result.exit_code, day_limit(gaelp)) == (3, 1)
    assert "the limit is $1.00 now and was $7.00" in result.stderr
    assert [row["limit"] for row in text(gaelp)] == ["$7.00", "$1.00"]


def gaelp_in_between(gaelp, monkeypatch, real):
    monkeypatch.setattr(limit_changes, "set_limit", real)
    assert gaelp(*DAY, "1").exit_code == 0


def test_of_several_last_signers_at_once_each_says_the_truth(gaelp_process, gaelp, sign, keys, here):
    assert sign("ann", *DAY, "50", *LIVE).exit_code == 4
    results = []

    def last():
        words = (*DAY, "50", *LIVE, "--key", str(keys / "bob.key"), "--reason", "the plan")
        results.append(gaelp_process("-m", "gaelp.cli", *words))

    threads = [threading.Thread(target=last) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 in [each.returncode for each in results], results
    for each in results:
        assert (each.returncode == 0 and "at most $50.00" in each.stdout) or (
            each.returncode == 3 and "is $50.00 now" in each.stderr
        ), each
    assert [row["signed"] for row in text(gaelp)].count(True) == 1
    assert len(text(gaelp, "approval.requested")) == 1
    assert gaelp("audit", "verify").exit_code == 0


# Lowering always passes


@pytest.mark.usefixtures("signed")
def test_lowering_needs_no_list_of_approvers(gaelp, home):
    (home / "approvers.yaml").write_text("approvers: [")
    assert gaelp(*DAY, "20", *LIVE).exit_code == 0
    assert (day_limit(gaelp), text(gaelp)[-1]["limit"]) == (20, "$20.00")


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("damage", ["damaged", "gone", "empty"])
def test_lowering_passes_without_the_approvals_and_what_was_not_recorded_is_said(gaelp, home, damage):
    for name in ("approvals.db-wal", "approvals.db-shm"):
        (home / name).unlink(missing_ok=True)
    (home / "approvals.db").unlink()
    if damage != "gone":
        (home / "approvals.db").write_bytes(
            b"no database, but long enough for one" * 99 if damage == "damaged" else b""
        )
    result = gaelp(*DAY, "20", *LIVE)
    assert (result.exit_code, day_limit(gaelp)) == (1, 20)
    assert "DONE, BUT NOT RECORDED" in result.stderr


@pytest.mark.usefixtures("signed")
def test_lost_approvals_are_not_recreated(gaelp, home, sign, keys):
    for path in home.glob("approvals.db*"):
        path.unlink()
    result = sign("ann", *DAY, "70", *LIVE)
    assert (result.exit_code, "is not there" in result.stderr) == (3, True)
    assert not (home / "approvals.db").exists()
    ApprovalStore(home / "approvals.db", SystemClock())  # a new one, which is not the true one
    result = sign("ann", *DAY, "70", *LIVE)
    assert (result.exit_code, "does not know 1 of them" in result.stderr) == (3, True)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "that the log does not have" in result.stderr) == (3, True)


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize(
    "command",
    [
        ("audit", "verify"),
        ("audit", "show"),
        ("approvals", "list"),
        ("approvals", "show", "00000000"),
        ("keys", "revoke", "bob"),
        ("keys", "trust", "keys/eve.pub.json", "--role", "finance"),
        ("revive",),
    ],
)
def test_no_command_recreates_lost_approvals_and_each_says_that_they_are_lost(gaelp, home, command):
    gaelp("kill")
    for path in home.glob("approvals.db*"):
        path.unlink()
    result = gaelp(*command)
    assert (result.exit_code, "does not know 1 of them" in result.stderr) == (3, True), result.stderr
    assert not (home / "approvals.db").exists()
    trusted = json.loads(gaelp("keys", "list", "--json").stdout)["approvers"]
    assert [(each["name"], each["revoked_at"]) for each in trusted] == [("ann", None), ("bob", None)]


def test_looking_at_approvals_begins_none(gaelp, home):
    assert gaelp("approvals", "list").stdout == "Nothing waits for signatures.\n"
    assert gaelp("approvals", "show", "00").exit_code == 2
    assert not (home / "approvals.db").exists()


# What was changed behind the back of the signatures


def by_hand(home, *statements):
    with sqlite3.connect(home / "ledger.db") as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("damage", ["DROP TABLE ledger_signed", "DELETE FROM ledger_signed"])
def test_books_made_to_forget_their_signatures_raise_nothing_and_are_found(gaelp, home, damage):
    by_hand(home, damage)
    assert gaelp(*DAY, "70").exit_code in (1, 3)
    assert gaelp("ledger", "limit", "account", "acc", "1").exit_code in (1, 3)
    assert (day_limit(gaelp), len(text(gaelp))) == (50, 1)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "ledger_signed" in result.stderr) == (3, True)


@pytest.mark.usefixtures("signed")
def test_a_signed_row_that_the_books_do_not_remember_is_named(gaelp, home):
    by_hand(home, "DELETE FROM ledger_signed")
    seq = json.loads(gaelp("audit", "show", "--json", "--kind", "limit.set").stdout)["rows"][0]["seq"]
    assert f"row {seq}: limit.set of account_day:acc was signed for" in gaelp("audit", "verify").stderr
    by_hand(home, "INSERT INTO ledger_signed VALUES ('ab', 'live', 'limit.set', '{}', 0)")
    assert "the ledger records a signed limit.set (action ab)" in gaelp("audit", "verify").stderr


@pytest.mark.usefixtures("signed")
def test_a_limit_changed_by_hand_is_named_also_after_it_was_set_to_that(gaelp, home):
    assert gaelp("audit", "verify").exit_code == 0
    by_hand(home, "UPDATE ledger_limit SET limit_micros = 99000000")
    result = gaelp("audit", "verify")
    assert (result.exit_code, "limit account_day:acc: $99.00 is in force, row" in result.stderr) == (3, True)
    for amount in ("99", "10"):
        assert gaelp(*DAY, amount).exit_code == 0
        result = gaelp("audit", "verify")
        assert (result.exit_code, "of account_day:acc to $99.00 by" in result.stderr) == (3, True)
        assert "has no signatures" in result.stderr


@pytest.mark.parametrize("statement", ["INSERT INTO ledger_limit VALUES ('account', 'acc', 'acc', 'USD', 9)", None])
def test_a_limit_without_a_row_and_a_row_without_a_limit_are_named(gaelp, home, statement):
    assert gaelp(*DAY, "50").exit_code == 0
    by_hand(home, statement or "DELETE FROM ledger_limit")
    result = gaelp("audit", "verify")
    assert result.exit_code == 3
    assert ("no row of the log is about it" if statement else "none is in force, row") in result.stderr


def test_where_the_books_cannot_be_opened_it_is_said_that_limits_were_not_compared(gaelp, home):
    assert gaelp(*DAY, "50").exit_code == 0
    lose_books(home)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "NOT compared with the ledger" in result.stderr) == (0, True)
    assert json.loads(gaelp("audit", "verify", "--json").stdout)["limits_compared"] is False


@pytest.mark.usefixtures("signed")
def test_a_step_that_could_not_be_recorded_is_recorded_by_the_next_command(gaelp, home):
    log, away = home / "approvals.db", home / "away.db"
    log.rename(away)
    assert gaelp(*DAY, "40").exit_code == 1
    away.rename(log)
    assert "limit account_day:acc: $40.00 is in force" in gaelp("audit", "verify").stderr
    assert [gaelp(*DAY, "40").exit_code for _ in range(2)] == [0, 0]
    assert [(row["before"], row["limit"]) for row in text(gaelp)] == [("none", "$50.00"), ("$50.00", "$40.00")]
    log.rename(away)
    assert gaelp(*DAY, "20").exit_code == 1
    away.rename(log)
    assert gaelp(*DAY, "10").exit_code == 0
    assert [(row["before"], row["limit"]) for row in text(gaelp)][2:] == [("$40.00", "$20.00"), ("$20.00", "$10.00")]
    assert gaelp("audit", "verify").exit_code == 0


# Books that are lost, recreated or replaced by a copy


def lose_books(home):
    for path in home.glob("ledger.db*"):
        path.unlink()


def create(gaelp, *more):
    return gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "America/New_York", *more)


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_lost_books_are_not_recreated_while_the_log_has_signatures(gaelp, home, left):
    lose_books(home)
    if left == "an empty file":
        (home / "ledger.db").touch()
    result = create(gaelp, "--config", "production")
    assert (result.exit_code, "Restore the newest backup" in result.stderr) == (3, True), result.stderr
    assert "have every limit signed again" in result.stderr
    assert gaelp("ledger", "show").exit_code == 2


@pytest.mark.usefixtures("signed")
def test_a_log_of_signatures_without_its_books_does_not_verify(gaelp, home):
    lose_books(home)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "cannot be opened" in result.stderr) == (3, True), result.stderr


def test_lost_books_are_recreated_if_nobody_has_signed(gaelp, home):
    assert gaelp(*DAY, "50").exit_code == 0
    lose_books(home)
    assert create(gaelp).exit_code == 0


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("which", ["recreated", "an older copy"])
def test_used_signatures_set_no_limit_of_other_books(gaelp, home, sign, which):
    lose_books(home)
    with contextlib.closing(create_ledger(home / "ledger.db", Latch(home / "STOPPED"))) as other:
        open_account(other, AdAccount("acc", "USD", "America/New_York"))
        if which == "an older copy":
            [used] = text(gaelp, "approval.used")
            same = used["consumer"].split()[1].rstrip(":")
            with other.database.engine.begin() as connection:
                connection.exec_driver_sql("UPDATE ledger_identity SET books = ?", (same,))
    result = gaelp(*DAY, "50", *LIVE)
    assert (result.exit_code, "this ledger has no record of 1 of them" in result.stderr) == (3, True), result.stderr
    assert sign("ann", *DAY, "60", *LIVE).exit_code == 3
    assert day_limit(gaelp) is None
    assert gaelp("audit", "verify").exit_code == 3


def test_a_crash_after_the_signatures_were_used_is_not_fixed_in_other_books(gaelp, home, sign, monkeypatch):
    assert sign("ann", *DAY, "50", *LIVE).exit_code == 4
    with monkeypatch.context() as power_cut:
        power_cut.setattr(limit_changes, "set_limit", lambda *_, **__: 1 / 0)
        assert sign("bob", *DAY, "50", *LIVE).exit_code == 1
    by_hand(home, "UPDATE ledger_identity SET books = 'other'")  # as in books that were recreated
    result = gaelp(*DAY, "50", *LIVE)
    assert (result.exit_code, day_limit(gaelp)) == (4, None), result.stderr
    assert "Signed by nobody" in result.stderr


@pytest.mark.usefixtures("signed")
def test_a_signed_limit_names_its_books(gaelp, home):
    by_hand(home, "UPDATE ledger_identity SET books = 'other'")
    result = gaelp("audit", "verify")
    assert (result.exit_code, "this one is other: another ledger was put" in result.stderr) == (3, True), result.stderr


def test_books_from_before_they_had_a_name_are_given_one(gaelp, home, sign):
    by_hand(home, "DROP TABLE ledger_identity")
    assert [sign(name, *DAY, "50", *LIVE).exit_code for name in ("ann", "bob")] == [4, 0]
    assert len(text(gaelp)[0]["books"]) == 32
    assert gaelp("audit", "verify").exit_code == 0


# What is still needed


def test_one_person_twice_is_reported_as_one(gaelp, sign):
    sign("ann", *DAY, "50", *LIVE)
    result = sign("ann", *DAY, "50", *LIVE)
    assert result.exit_code == 4
    assert "needs the signatures of 2 people" in result.stderr
    assert "Signed by ann. Still needed: 1 more of 2 approvers" in result.stderr


def test_a_missing_role_is_named(gaelp, sign, keys):
    gaelp("keys", "trust", keys / "eve.pub.json", "--role", "marketing")
    sign("bob", *DAY, "50", *LIVE)
    result = sign("eve", *DAY, "50", *LIVE)
    assert result.exit_code == 4
    assert "Signed by bob, eve. Still needed: 1 more with the role finance" in result.stderr


def test_after_the_books_are_begun_every_limit_that_an_order_needs_is_named(gaelp):
    said = gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "America/New_York").stderr
    for kind in ("campaign_day CAMPAIGN", "campaign CAMPAIGN", "account_day acc", "account acc", "total all"):
        assert f"gaelp ledger limit {kind} AMOUNT" in said


@pytest.mark.parametrize("zone", ["localtime", "Factory", "posix/Europe/Berlin", "right/UTC", "Nowhere/City"])
def test_a_time_zone_that_is_no_place_is_refused(gaelp, zone):
    assert gaelp("ledger", "create", "other", "--currency", "USD", "--time-zone", zone).exit_code == 2


def test_limits_and_lost_approvals_are_found_on_postgres_too(gaelp, keys, databases):
    url = databases.fresh_place("postgres")
    place = {"GAELP__BUDGET__DATABASE_URL": url}
    gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC", **place)
    for name in ("ann", "bob"):
        gaelp(*DAY, "50", *LIVE, "--key", keys / f"{name}.key", "--reason", "the plan", **place)
    whole = gaelp("audit", "verify", **place)
    assert whole.exit_code == 0, whole.stderr
    engine = connect_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE ledger_limit SET limit_micros = 99000000")
    assert "$99.00 is in force" in gaelp("audit", "verify", **place).stderr
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE requests, approvals, uses, used_nonces, audit")
    engine.dispose()
    for command in (("audit", "verify"), ("approvals", "list"), ("keys", "revoke", "bob")):
        lost = [gaelp(*command, **place) for _ in range(2)]
        assert [each.exit_code for each in lost] == [3, 3], lost[0].stderr


# Asking others to sign


def test_without_a_key_nothing_is_stored(gaelp, keys):
    result = gaelp(*DAY, "50", *LIVE)
    assert (result.exit_code, "Nothing is stored yet" in result.stderr) == (4, True)
    assert "--request" in result.stderr
    assert text(gaelp, "approval.requested") == []


def test_a_key_that_nobody_trusts_leaves_no_request(gaelp, sign):
    assert sign("eve", *DAY, "50", *LIVE).exit_code == 3
    assert text(gaelp, "approval.requested") == []


def test_a_request_is_stored_on_purpose_signed_by_others_and_then_carried_out(gaelp, keys):
    asked = gaelp(*DAY, "50", "--request", *LIVE)
    [row] = json.loads(gaelp("approvals", "list", "--json", *LIVE).stdout)["requests"]
    assert (asked.exit_code, f"Requested as {row['action']}" in asked.stderr) == (4, True)
    assert f"`gaelp approvals approve {row['action']} --key FILE --reason WHY {' '.join(LIVE)}`" in asked.stderr
    for name in ("ann", "bob"):
        gaelp("approvals", "approve", row["action"], "--key", keys / f"{name}.key", "--reason", "the plan", *LIVE)
    assert gaelp(*DAY, "50", *LIVE).exit_code == 0
    assert day_limit(gaelp) == 50


def test_a_request_for_a_limit_that_has_changed_meanwhile_does_not_wait(gaelp, sign):
    sign("ann", *DAY, "50", *LIVE)
    assert [sign(name, *DAY, "70", *LIVE).exit_code for name in ("ann", "bob")] == [4, 0]
    rows = json.loads(gaelp("approvals", "list", "--all", "--json", *LIVE).stdout)["requests"]
    assert [row["state"] for row in rows] == ["superseded", "used"]


def test_a_limit_that_was_the_same_before_says_so(gaelp):
    gaelp(*DAY, "50")
    assert gaelp(*DAY, "50").stdout == "account_day acc: at most $50.00, as before.\n"


def test_who_asks_again_for_a_rejected_limit_learns_who_rejected_it_and_why(gaelp, sign, keys):
    live = ("--config", "production")
    asked = gaelp(*DAY, "50", "--request", *live).stderr
    action = asked.split("Requested as ")[1][:12]
    assert f"gaelp approvals approve {action} --key FILE --reason WHY --config production`" in asked
    gaelp("approvals", "reject", action, "--key", keys / "ann.key", "--reason", "too much", *live)
    again = sign("bob", *DAY, "50", *live)
    assert again.exit_code == 4
    assert "The same was rejected before by ann on" in again.stderr
    assert "(too much)" in again.stderr


@pytest.mark.parametrize("command", [("keys", "list"), ("ledger", "show")])
def test_where_there_is_no_home_the_advice_fits_the_command(gaelp, here, command):
    said = gaelp(*command, GAELP_HOME=str(here / "new")).stderr
    assert "`gaelp ledger create` with a ledger" in said
    assert "`gaelp keys trust` with the list of approvers" in said
