import json
import sqlite3

import pytest


@pytest.fixture
def log(here, gaelp):
    """A log of three rows and an auditor whose key is trusted."""
    for name, role in (("ann", "finance"), ("bob", "marketing"), ("aud", "auditor")):
        assert gaelp("keys", "new", name, "--out", here / "keys", "--no-passphrase").exit_code == 0
        assert gaelp("keys", "trust", here / "keys" / f"{name}.pub.json", "--role", role).exit_code == 0
    return here / ".gaelp" / "approvals.db"


@pytest.fixture
def publish(here, gaelp):
    def run(name="aud", heads=here / "elsewhere" / "heads.jsonl"):
        return gaelp("audit", "publish", "--key", here / "keys" / f"{name}.key", "--heads", heads)

    return run


def change(log, *statements):
    """Change the tables and leave no trace in the triggers, as somebody would who knows of them."""
    connection = sqlite3.connect(log, isolation_level=None)
    triggers = connection.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    left = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for _, table, statement in triggers:
        if table in left:
            connection.execute(statement)
    connection.close()


def test_rows_are_shown_newest_last_and_by_kind(log, gaelp):
    shown = json.loads(gaelp("audit", "show", "--json", "--last", "2").stdout)["rows"]
    assert [(row["seq"], row["body"]["name"]) for row in shown] == [(1, "bob"), (2, "aud")]
    assert "trust.added" in gaelp("audit", "show").stdout
    assert json.loads(gaelp("audit", "show", "--kind", "other", "--json").stdout) == {"rows": []}


def test_a_whole_log_verifies_with_and_without_heads(here, log, gaelp, publish):
    assert publish().exit_code == 0
    plain = gaelp("audit", "verify")
    assert (plain.exit_code, plain.stdout) == (0, "whole: 3 rows\n")
    assert "--heads" in plain.stderr
    with_heads = gaelp("audit", "verify", "--heads", here / "elsewhere/heads.jsonl", "--json")
    answer = json.loads(with_heads.stdout)
    assert (answer["ok"], answer["rows"], answer["heads"]) == (True, 3, 1)


def test_a_changed_row_is_named(log, gaelp):
    change(log, "UPDATE audit SET body = replace(body, 'marketing', 'finance') WHERE seq = 1")
    result = gaelp("audit", "verify")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "row 1: changed" in result.stderr


def test_a_log_cut_short_is_seen_with_its_heads(here, log, gaelp, publish):
    publish()
    change(log, "DELETE FROM audit WHERE seq = 2")
    assert gaelp("audit", "verify").exit_code == 0
    result = gaelp("audit", "verify", "--heads", here / "elsewhere/heads.jsonl")
    assert result.exit_code == 3
    assert "row 2: missing" in result.stderr


def test_heads_that_are_missing_empty_or_damaged_vouch_for_nothing(here, log, gaelp):
    assert gaelp("audit", "verify", "--heads", here / "none.jsonl").exit_code == 2
    (here / "heads.jsonl").write_text("")
    assert gaelp("audit", "verify", "--heads", here / "heads.jsonl").exit_code == 3
    (here / "heads.jsonl").write_text("{}\n")
    assert gaelp("audit", "verify", "--heads", here / "heads.jsonl").exit_code == 2


def test_a_head_is_published_by_an_auditor_and_elsewhere(here, log, publish):
    assert publish("ann").exit_code == 3
    assert publish(heads=here / ".gaelp" / "heads.jsonl").exit_code == 3
    assert not (here / "elsewhere").exists()


def test_where_there_is_no_log_none_is_made(here, gaelp):
    for args in (("show",), ("verify",)):
        assert gaelp("audit", *args).exit_code == 2
    assert not (here / ".gaelp").exists()


def test_a_log_that_was_taken_out_is_missed_and_not_made_anew(log, gaelp):
    change(log, "DROP TABLE audit")
    for _ in range(2):
        result = gaelp("audit", "verify")
        assert (result.exit_code, "the table audit is gone" in result.stderr) == (3, True)
        assert "gaelp audit verify" not in result.stderr


def test_a_file_without_anything_in_it_is_no_log(log, gaelp):
    for path in log.parent.glob("approvals.db*"):
        path.unlink()
    log.touch()
    assert gaelp("audit", "verify").exit_code == 3
    assert log.read_bytes() == b""


def test_a_damaged_file_is_not_whole(log, gaelp):
    for path in log.parent.glob("approvals.db*"):
        path.unlink()
    log.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "gaelp audit verify" in result.stderr) == (3, False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE requests SET body = replace(body, 'kill-switch', 'kill-switcH')",
        "UPDATE requests SET body = 'x'",
        "DELETE FROM requests",
    ],
)
def test_a_changed_request_is_not_whole(log, here, gaelp, statement):
    gaelp("kill")
    assert gaelp("revive", "--key", here / "keys" / "ann.key", "--reason", "fixed").exit_code == 4
    change(log, statement)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "gaelp audit verify" in result.stderr) == (3, False)


def test_triggers_that_are_gone_or_do_nothing_are_named(log, gaelp):
    with sqlite3.connect(log) as connection:
        connection.execute("DROP TRIGGER uses_no_DELETE")
        connection.execute("DROP TRIGGER audit_no_UPDATE")
        connection.execute("CREATE TRIGGER audit_no_UPDATE BEFORE UPDATE ON audit BEGIN SELECT 1; END")
    result = gaelp("audit", "verify")
    assert (result.exit_code, "missing or were replaced: uses_no_DELETE, audit_no_UPDATE" in result.stderr) == (3, True)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM used_nonces", "is missing"),
        ("DELETE FROM used_nonces WHERE nonce = (SELECT MIN(nonce) FROM used_nonces)", "is missing"),
        ("INSERT INTO used_nonces SELECT 'ab', action_hash FROM uses", "is stored"),
    ],
)
def test_used_nonces_that_differ_from_the_log_are_not_whole(here, log, gaelp, statement, said):
    gaelp("kill")
    for name in ("ann", "bob"):
        gaelp("revive", "--key", here / "keys" / f"{name}.key", "--reason", "fixed")
    assert gaelp("audit", "verify").exit_code == 0
    change(log, statement)
    result = gaelp("audit", "verify")
    assert (result.exit_code, "used_nonces: nonce" in result.stderr, said in result.stderr) == (3, True, True)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("what", ["revive", "limit"])
def test_what_one_person_did_under_a_policy_of_their_own_is_named(here, gaelp, monkeypatch, tmp_path_factory, what):
    assert gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC").exit_code == 0
    assert gaelp("kill").exit_code == 0
    own = tmp_path_factory.mktemp("own")
    (own / "configs" / "approvals").mkdir(parents=True)
    (own / "configs" / "approvals" / "live.yaml").write_text(
        "{quorum: 1, valid_minutes_max: 1440, escalate_after_minutes: 240, expire_after_minutes: 2880, why: mine}"
    )
    command = ("revive",) if what == "revive" else ("ledger", "limit", "account", "acc", "9")
    key = ("--key", here / "keys" / "bob.key", "--reason", "because")
    settings = ("--set", f"home={here / '.gaelp'}", "--set", "approvals.policy=live")
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(own)
        done = gaelp(*command, *key, *settings)
        assert done.exit_code == 0, done.stderr
        assert gaelp("audit", "verify", *settings).exit_code == 0  # where this policy is in force, nothing is wrong
    used = json.loads(gaelp("audit", "show", "--kind", "approval.used", "--json").stdout)["rows"]
    result = gaelp("audit", "verify")
    assert result.exit_code == 3
    assert f"row {used[0]['seq']}: " in result.stderr
    assert "1 more of 2 approvers, 1 more with the role finance" in result.stderr
    assert used[0]["body"]["authorisation"]["terms"]["quorum"] == 1
