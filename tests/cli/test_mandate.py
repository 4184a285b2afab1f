"""`gaelp mandate`: propose, sign with two keys, list, show, revoke; and what the audit log says of it."""

import json
import shutil
import sqlite3
import tarfile
from contextlib import closing

import pytest

from gaelp.authority import mandates
from gaelp.config.places import repository_root

LIVE = ("--set", "approvals.policy=live")
MANDATE = """\
name: pilot
account: acc
currency: USD
campaigns: [spring, summer]
model_hash: {model}
campaign_daily_micros: 9000000
account_daily_micros: 26000000
total_micros: 60000000
bid_micros: 400000
start_daily_micros: 5000000
raise_percent: 20
last_day: {last}
"""


@pytest.fixture(autouse=True)
def _begun(gaelp):
    result = gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC")
    assert result.exit_code == 0, result.stderr


@pytest.fixture
def file(here):
    path = here / "pilot.yaml"
    path.write_text(MANDATE.format(model="ab" * 32, last="2099-12-31"))
    return path


@pytest.fixture
def proposed(gaelp, file):
    return json.loads(gaelp("mandate", "propose", file, *LIVE, "--json").stdout)["mandate"]


@pytest.fixture
def sign(gaelp, keys, proposed):
    def run(name):
        return gaelp("mandate", "sign", proposed[:12], "--key", keys / f"{name}.key", "--reason", "the plan", *LIVE)

    return run


@pytest.fixture
def sign_in_sandbox(gaelp, keys, proposed):
    def run(name):
        return gaelp("mandate", "sign", proposed[:12], "--key", keys / f"{name}.key", "--reason", "the plan")

    return run


@pytest.fixture
def home(here):
    return here / ".gaelp"


def signed_in_books(home):
    with closing(sqlite3.connect(home / "ledger.db")) as books:
        return [policy for (policy,) in books.execute("SELECT policy FROM ledger_signed")]


def listed(gaelp):
    return [row["state"] for row in json.loads(gaelp("mandate", "list", *LIVE, "--json").stdout)["mandates"]]


def rows(gaelp, kind):
    shown = json.loads(gaelp("audit", "show", "--json", "--last", "500", "--kind", kind).stdout)["rows"]
    return [row["body"] for row in shown]


def test_what_is_proposed_is_shown_in_words_with_every_number(gaelp, file):
    result = gaelp("mandate", "propose", file, *LIVE)
    assert result.exit_code == 0, result.stderr
    for words in ("spring, summer", "$9.00", "$26.00", "$60.00", "$0.40", "20%", "2099-12-31"):
        assert words in result.stdout
    assert "gaelp mandate sign" in result.stderr


def test_the_last_signature_puts_it_in_force_and_the_log_has_it(gaelp, sign, proposed):
    first = sign("ann")
    assert first.exit_code == 4
    assert first.stderr.startswith("waiting: The signature of ann is recorded, and more are needed. mandate pilot")
    assert "Signed by ann. Still needed: 1 more of 2 approvers (bob can sign)" in first.stderr
    assert listed(gaelp) == ["waiting"]
    last = sign("bob")
    assert last.exit_code == 0, last.stderr
    assert "is in force" in last.stdout
    assert listed(gaelp) == ["in force"]
    [row] = rows(gaelp, "mandate.granted")
    assert (row["signed"], row["approvers"], row["action_hash"]) == (True, ["ann", "bob"], proposed)
    assert gaelp("audit", "verify", *LIVE).exit_code == 0
    assert gaelp("ledger", "verify").exit_code == 0


def test_a_late_signer_is_told_that_it_is_in_force(sign):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    late = sign("ann")
    assert (late.exit_code, "was already in force" in late.stdout) == (0, True)


def test_one_that_was_proposed_twice_is_one_and_after_its_end_another(gaelp, file, sign, proposed):
    assert json.loads(gaelp("mandate", "propose", file, *LIVE, "--json").stdout)["mandate"] == proposed
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    assert json.loads(gaelp("mandate", "propose", file, *LIVE, "--json").stdout)["mandate"] != proposed


def test_anybody_revokes_it_without_a_key_and_it_stays_revoked(gaelp, sign, proposed):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    result = gaelp("mandate", "revoke", proposed[:12], "--reason", "over", *LIVE)
    assert (result.exit_code, listed(gaelp)) == (0, ["revoked"])
    assert [row["reason"] for row in rows(gaelp, "approval.revoked")] == ["over"]
    again = sign("ann")
    assert (again.exit_code, "was revoked" in again.stderr) == (3, True)
    assert gaelp("audit", "verify", *LIVE).exit_code == 0


def test_a_kill_and_a_revoked_key_show_in_the_list(gaelp, sign, keys):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    gaelp("keys", "revoke", "bob")
    assert listed(gaelp) == ["keys revoked"]
    gaelp("kill", "drill")
    assert listed(gaelp) == ["ended"]


def test_what_was_put_in_force_under_another_policy_is_not_recorded_again(gaelp, sign, sign_in_sandbox, home):
    """A first signature under `live`, then one under the policy for the sandbox, which asks for no more."""
    assert sign("ann").exit_code == 4
    opened = sign_in_sandbox("ann")
    assert opened.exit_code == 0, opened.stderr
    late = sign("bob")
    assert (late.exit_code, "the policy asks for" in late.stderr) == (3, True), late.stderr
    again = sign_in_sandbox("bob")
    assert (again.exit_code, "was already in force" in again.stdout) == (0, True)
    assert [(row["signed"], row["policy"]) for row in rows(gaelp, "mandate.granted")] == [(False, "sandbox")]
    assert signed_in_books(home) == []
    assert [gaelp("audit", "verify", *given).exit_code for given in ((), LIVE)] == [0, 0]
    assert gaelp("ledger", "limit", "account", "acc", "50").exit_code == 0, "limits need signatures no more than before"


def test_what_was_put_in_force_with_signatures_keeps_its_record(gaelp, sign, sign_in_sandbox, home):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    again = sign_in_sandbox("ann")
    assert (again.exit_code, "was already in force" in again.stdout) == (0, True), again.stderr
    assert [(row["signed"], row["policy"]) for row in rows(gaelp, "mandate.granted")] == [(True, "live")]
    assert signed_in_books(home) == ["live"]
    assert [gaelp("audit", "verify", *given).exit_code for given in ((), LIVE)] == [0, 0]


def test_signatures_used_up_under_one_policy_do_not_open_it_under_another(sign, sign_in_sandbox, home, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(mandates, "open_mandate", lambda *_, **__: 1 / 0)
        assert sign_in_sandbox("ann").exit_code == 1
    other = sign("ann")
    assert (other.exit_code, "under another policy" in other.stderr) == (3, True), other.stderr
    assert signed_in_books(home) == []
    assert sign_in_sandbox("ann").exit_code == 0


@pytest.mark.parametrize("policy", ["live", "sandbox"])
def test_a_record_that_a_crash_prevented_is_added_by_signing_again(gaelp, sign, sign_in_sandbox, monkeypatch, policy):
    run = sign if policy == "live" else sign_in_sandbox
    with monkeypatch.context() as broken:
        broken.setattr(mandates, "report_unrecorded", lambda *_: None)
        broken.setattr(mandates, "_record_unsigned", lambda *_: None)
        assert [run(name).exit_code for name in ("ann", "bob")][-1] == 0
    assert rows(gaelp, "mandate.granted") == []
    assert run("ann").exit_code == 0
    assert [row["policy"] for row in rows(gaelp, "mandate.granted")] == [policy]
    assert gaelp("audit", "verify", *LIVE).exit_code == 0


def test_signing_one_that_a_kill_has_ended_is_refused(gaelp, sign, keys):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    gaelp("kill", "drill")
    revived(gaelp, keys)
    late = sign("ann")
    assert (late.exit_code, "has ended" in late.stderr, "gaelp mandate propose" in late.stderr) == (3, True, True)
    assert "already in force" not in late.stdout


def revived(gaelp, keys):
    done = [
        gaelp("revive", "--key", keys / f"{name}.key", "--reason", "fixed", *LIVE).exit_code for name in ("ann", "bob")
    ]
    assert done == [4, 0]


def test_a_signature_from_before_a_kill_does_not_count_after_the_revival(gaelp, file, sign, keys, proposed):
    assert sign("ann").exit_code == 4
    gaelp("kill", "drill")
    revived(gaelp, keys)
    late = sign("bob")
    assert (late.exit_code, "propose it again" in late.stderr) == (3, True), late.stderr
    assert listed(gaelp) == ["ended"]
    again = json.loads(gaelp("mandate", "propose", file, *LIVE, "--json").stdout)["mandate"]
    assert again != proposed
    codes = [
        gaelp("mandate", "sign", again, "--key", keys / f"{name}.key", "--reason", "x", *LIVE).exit_code
        for name in ("ann", "bob")
    ]
    assert (codes, listed(gaelp)) == ([4, 0], ["ended", "in force"])
    assert gaelp("audit", "verify", *LIVE).exit_code == 0


def test_a_mandate_without_signatures_is_signed_after_a_revival_as_before(gaelp, sign, keys):
    gaelp("kill", "drill")
    revived(gaelp, keys)
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    assert listed(gaelp) == ["in force"]


def test_during_a_stop_a_proposal_names_it_and_no_signature_is_taken(gaelp, file, sign, keys, proposed):
    gaelp("kill", "cost", "per", "click")
    shown = gaelp("mandate", "propose", file, *LIVE)
    assert "so nobody can sign yet" in shown.stderr
    assert "cost per click" in shown.stderr
    early = sign("ann")
    assert (early.exit_code, "nothing was signed" in early.stderr, "gaelp revive" in early.stderr) == (3, True, True)
    assert rows(gaelp, "approval.decided") == []
    revived(gaelp, keys)
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]


def test_who_signs_without_the_settings_of_a_signed_ledger_is_pointed_to_them(gaelp, file, sign, keys):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    other = json.loads(gaelp("mandate", "propose", file, "--json").stdout)["mandate"]
    refused = gaelp("mandate", "sign", other, "--key", keys / "ann.key", "--reason", "x")
    assert (refused.exit_code, "last a mandate under the policy 'live'" in refused.stderr) == (3, True)
    assert "--config production" in refused.stderr
    assert "audit verify" not in refused.stderr  # nobody has tampered with anything


def test_a_revoked_mandate_is_revoked_among_the_requests_too(gaelp, sign, proposed):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    requests = ("approvals", "list", "--all", "--json", *LIVE)
    assert [row["state"] for row in json.loads(gaelp(*requests).stdout)["requests"]] == ["used"]
    gaelp("mandate", "revoke", proposed, *LIVE)
    assert [row["state"] for row in json.loads(gaelp(*requests).stdout)["requests"]] == ["revoked"]


def test_the_next_signer_gets_the_command_with_its_settings(sign, proposed):
    assert f"gaelp mandate sign {proposed[:12]} --key FILE --reason WHY {' '.join(LIVE)}`" in sign("ann").stderr


def test_a_backup_from_before_a_kill_does_not_bring_a_mandate_back(gaelp, here, sign, keys):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    home, backup = here / ".gaelp", here / "backup.tar"
    made = gaelp("ledger", "backup", backup)
    assert made.exit_code == 0, made.stderr
    gaelp("kill", "drill")
    home.rename(here / ".gaelp.damaged")
    home.mkdir(mode=0o700)
    with tarfile.open(backup) as kept:
        kept.extractall(home, filter="data")
    shutil.copy2(here / ".gaelp.damaged" / "STOPPED", home)
    revived(gaelp, keys)
    assert listed(gaelp) == ["ended"]


def test_it_is_signed_where_it_is_shown_and_not_among_the_approvals(gaelp, keys, proposed):
    result = gaelp("approvals", "approve", proposed[:12], "--key", keys / "ann.key", "--reason", "x", *LIVE)
    assert (result.exit_code, "gaelp mandate sign" in result.stderr) == (2, True)
    shown = gaelp("mandate", "show", proposed[:12], *LIVE)
    assert json.loads(shown.stdout)["mandate"]["total_micros"] == 60_000_000


@pytest.mark.parametrize(
    ("change", "code", "seen"),
    [
        (("account: acc", "account: other"), 2, "other"),
        (("USD", "EUR"), 2, "billed in USD"),
        (("2099-12-31", "2020-01-01"), 2, "name today or a later day"),
        (("total_micros: 60000000", "total_micros: 1"), 2, "exceeds total_micros=1"),
        (("bid_micros: 400000", "bid_micros: 0.4"), 2, "bid_micros"),
        (("name: pilot", "nome: pilot"), 2, "nome"),
    ],
)
def test_a_mandate_that_cannot_be_is_refused_before_anybody_is_asked(gaelp, file, change, code, seen):
    file.write_text(file.read_text().replace(*change))
    result = gaelp("mandate", "propose", file, *LIVE)
    assert (result.exit_code, seen in result.stderr) == (code, True), result.stderr
    assert gaelp("approvals", "list", *LIVE).stdout == "Nothing waits for signatures.\n"


@pytest.mark.parametrize("given", ["abc", "MODEL_HASH", "AB" * 32, "ab" * 33])
def test_a_hash_that_is_none_is_refused_in_words(gaelp, file, given):
    file.write_text(file.read_text().replace("ab" * 32, given))
    result = gaelp("mandate", "propose", file, *LIVE)
    assert (result.exit_code, "64 hex digits" in result.stderr, "pattern" in result.stderr) == (2, True, False)


def test_the_example_in_the_docs_is_no_mandate_until_its_hashes_are_filled_in(gaelp, here):
    text = (repository_root() / "docs" / "mandate.md").read_text().split("```yaml\n")[1].split("```")[0]
    example = here / "example.yaml"
    example.write_text(text)
    assert "64 hex digits" in gaelp("mandate", "propose", example, *LIVE).stderr
    filled = text.replace("ADVERT_HASH", "cd" * 32).replace("MODEL_HASH", "ab" * 32)
    example.write_text(filled.replace("123-456-7890", "acc").replace("2026-12-01", "2099-12-31"))
    assert gaelp("mandate", "propose", example, *LIVE).exit_code == 0


def test_what_to_do_next_is_said_with_the_key_and_the_settings(gaelp, file, proposed):
    hint = gaelp("mandate", "propose", file, *LIVE).stderr
    assert f"gaelp mandate sign {proposed[:12]} --key FILE --reason WHY --set approvals.policy=live" in hint
    unsigned = gaelp("mandate", "sign", proposed[:12], *LIVE)
    assert (unsigned.exit_code, "--key FILE --reason WHY" in unsigned.stderr) == (4, True)
    created = gaelp("ledger", "create", "acc", "--currency", "USD", "--time-zone", "UTC", "--config", "production")
    assert "gaelp ledger limit total all AMOUNT --currency USD --config production" in created.stderr


def test_who_signs_twice_is_listed_once(gaelp, sign):
    assert [sign("ann").exit_code for _ in range(3)] == [4, 4, 4]
    [row] = json.loads(gaelp("mandate", "list", *LIVE, "--json").stdout)["mandates"]
    assert row["signed_by"] == "ann"


def test_an_unknown_mandate_and_a_missing_file_are_bad_input(gaelp, here, proposed):
    assert gaelp("mandate", "revoke", "ffff", *LIVE).exit_code == 2
    assert gaelp("mandate", "propose", here / "none.yaml", *LIVE).exit_code == 2


def test_the_id_of_a_proposal_is_a_result_and_its_world_is_explained(gaelp, file):
    shown = gaelp("mandate", "propose", file, *LIVE)
    wanted = json.loads(gaelp("mandate", "propose", file, *LIVE, "--json").stdout)
    assert shown.stdout.splitlines()[-1] == f"Its id: {wanted['mandate'][:12]}"
    assert "World: sandbox. No real money can be spent under it" in shown.stdout
    assert "because the settings name no ad platform (platform.name)" in shown.stderr


def test_revoking_says_what_that_changed(gaelp, sign, proposed):
    def revoke():
        return gaelp("mandate", "revoke", proposed[:12], *LIVE).stdout

    assert "never was in force, so nothing runs under it" in revoke()
    assert "was revoked before; nothing changes" in revoke()
    assert listed(gaelp) == ["revoked"]
    waiting = json.loads(gaelp("approvals", "list", "--all", "--json", *LIVE).stdout)["requests"]
    assert [row["state"] for row in waiting] == ["revoked"]


def test_a_mandate_in_force_is_revoked_and_the_books_say_who_ended_it(gaelp, sign, proposed):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    revoked = gaelp("mandate", "revoke", proposed[:12], "--reason", "too dear", *LIVE).stdout
    assert "is revoked. Campaigns that run under it: `gaelp ledger reconcile` pauses them" in revoked
    shown = gaelp("ledger", "show", *LIVE).stdout
    assert f"The mandate {proposed[:12]} has ended: revoked by " in shown
    assert ": too dear." in shown


def test_a_mandate_that_a_stop_has_ended_is_not_called_breached(gaelp, sign, proposed):
    assert [sign(name).exit_code for name in ("ann", "bob")] == [4, 0]
    gaelp("kill")
    shown = gaelp("ledger", "show", *LIVE).stdout
    [row] = [line for line in shown.splitlines() if line.startswith(f"mandate:{proposed[:12]} ")]
    assert row.endswith("ended")
    assert "has ended: the kill switch was set after it was signed." in shown
    assert "the kill switch was set after it was signed" in gaelp("mandate", "list", *LIVE).stdout
    assert "had ended before; now it is revoked as well" in gaelp("mandate", "revoke", proposed, *LIVE).stdout


def test_digits_that_begin_no_mandate_are_answered_with_the_mandates_there_are(gaelp, proposed):
    result = gaelp("mandate", "show", "zzzz", *LIVE)
    assert result.exit_code == 2
    assert f"no mandate begins with 'zzzz'; there are: {proposed[:12]} (mandate pilot until" in result.stderr


def test_where_nobody_has_proposed_a_mandate_the_list_is_empty(gaelp):
    listing = gaelp("mandate", "list")
    assert (listing.exit_code, "There are no mandates" in listing.stdout) == (0, True)
    assert json.loads(gaelp("mandate", "list", "--json").stdout) == {"mandates": []}
