import json
import stat

import pytest
from typer.testing import CliRunner

from gaelp.approvals import AuditLog, load_key, open_database
from gaelp.cli.main import app
from gaelp.config.places import absolute


@pytest.fixture
def keys(here, gaelp):
    """Make a key without a passphrase; the answer as JSON."""

    def make(name, *more):
        result = gaelp("keys", "new", name, "--out", here / "keys", "--no-passphrase", "--json", *more)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return make


def test_a_new_key_is_for_its_owner_alone_and_its_public_half_is_shown(here, gaelp, keys):
    made = keys("ann")
    private = here / "keys" / "ann.key"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert load_key(private).public_key == made["public_key"]
    assert json.loads((here / "keys" / "ann.pub.json").read_text())["public_key"] == made["public_key"]


def test_a_key_is_never_replaced(here, gaelp, keys):
    keys("ann")
    result = gaelp("keys", "new", "ann", "--out", here / "keys", "--no-passphrase")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "never replaced" in result.stderr


def test_keys_go_to_the_owners_own_folder_unless_told_otherwise(here, gaelp, monkeypatch):
    monkeypatch.setenv("HOME", str(here / "person"))
    assert gaelp("keys", "new", "ann", "--no-passphrase").exit_code == 0
    assert absolute("~/.config/gaelp/keys/ann.key") == here / "person/.config/gaelp/keys/ann.key"
    assert (here / "person/.config/gaelp/keys/ann.key").is_file()


def test_a_private_key_does_not_go_below_the_home_that_runs_share(here, gaelp):
    result = gaelp("keys", "new", "ann", "--out", here / ".gaelp" / "keys", "--no-passphrase")
    assert (result.exit_code, (here / ".gaelp").exists()) == (3, False)


def test_a_passphrase_comes_from_a_file(here, gaelp):
    (here / "phrase.txt").write_text("correct horse battery\n")
    result = gaelp("keys", "new", "ann", "--out", here / "keys", "--passphrase-file", here / "phrase.txt")
    assert result.exit_code == 0
    assert load_key(here / "keys/ann.key", b"correct horse battery").name == "ann"
    assert "correct horse" not in result.output


def test_a_passphrase_is_asked_for_twice_and_not_shown(here):
    args = ["keys", "new", "ann", "--out", str(here / "keys")]
    result = CliRunner().invoke(app, args, input="correct horse battery\ncorrect horse battery\n")
    assert result.exit_code == 0
    assert "correct horse" not in result.output
    assert load_key(here / "keys/ann.key", b"correct horse battery").name == "ann"


@pytest.mark.parametrize("text", ["", "short\n"])
def test_a_passphrase_that_is_no_protection_is_refused(here, gaelp, text):
    (here / "phrase.txt").write_text(text)
    result = gaelp("keys", "new", "ann", "--out", here / "keys", "--passphrase-file", here / "phrase.txt")
    assert (result.exit_code, (here / "keys").exists()) == (2, False)


def test_there_is_no_option_that_takes_a_passphrase_itself(gaelp):
    result = gaelp("keys", "new", "ann", "--passphrase", "correct horse battery")
    assert result.exit_code == 2


@pytest.mark.parametrize("name", ["../ann", "аnn", "", "a b"])
def test_a_name_that_is_no_plain_name_is_refused(here, gaelp, name):
    result = gaelp("keys", "new", name, "--out", here / "keys", "--no-passphrase")
    assert (result.exit_code, (here / "keys").exists()) == (2, False)


def test_trust_and_revocation_are_listed_and_told_in_the_audit_log(here, gaelp, keys):
    keys("ann")
    public = here / "keys" / "ann.pub.json"
    assert gaelp("keys", "trust", public, "--role", "finance", "--role", "director").exit_code == 0
    assert gaelp("keys", "revoke", "ann").exit_code == 0
    [entry] = json.loads(gaelp("keys", "list", "--json").stdout)["approvers"]
    assert (entry["name"], entry["roles"]) == ("ann", ["finance", "director"])
    assert entry["revoked_at"] is not None
    listed = gaelp("keys", "list").stdout
    assert "finance," in listed
    assert "director" in listed
    rows = AuditLog(open_database(here / ".gaelp" / "approvals.db")).rows()
    assert [row.kind for row in rows] == ["trust.added", "trust.revoked"]


def test_a_private_key_is_not_taken_for_its_public_part(here, gaelp):
    (here / "ann.key").write_text("-----BEGIN PRIVATE KEY-----")
    result = gaelp("keys", "trust", "ann.key", "--role", "finance")
    assert result.exit_code == 2
    assert "ann.key is a private key: give its public part, which ends in .pub.json" in result.stderr


def test_someone_who_is_trusted_in_another_list_of_the_same_log_is_named(here, gaelp, keys):
    keys("ann")
    gaelp("keys", "trust", here / "keys" / "ann.pub.json", "--role", "finance", "--trust", here / "other.yaml")
    (here / "mine.yaml").write_text("approvers: []\n")
    listed = gaelp("keys", "list", "--trust", here / "mine.yaml")
    assert "in another one that shares the audit log: ann" in listed.stderr
    assert gaelp("keys", "list", "--trust", here / "other.yaml").stderr == ""


def test_a_key_that_is_not_what_its_owner_signed_is_not_trusted(here, gaelp, keys):
    keys("ann")
    public = here / "keys" / "ann.pub.json"
    public.write_text(public.read_text().replace('"ann"', '"bob"'))
    result = gaelp("keys", "trust", public, "--role", "finance")
    assert result.exit_code == 3
    assert "proof" in result.stderr
    assert not (here / ".gaelp" / "approvers.yaml").exists()
    assert not (here / ".gaelp" / "approvals.db").exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("trust", "none.json", "--role", "finance"), 2),
        (("trust", "keys/ann.pub.json", "--role", "Not A Role"), 2),
        (("trust", "keys/ann.pub.json"), 2),
        (("revoke", "bob"), 2),
        (("list", "--trust", "none.yaml"), 2),
    ],
)
def test_what_cannot_be_done_is_told(here, gaelp, keys, args, code):
    keys("ann")
    result = gaelp("keys", *args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert "unexpected" not in result.stderr


def test_a_role_that_the_policy_does_not_know_is_refused_with_those_it_knows(here, gaelp, keys):
    keys("ann")
    result = gaelp("keys", "trust", here / "keys" / "ann.pub.json", "--role", "finance", "--role", "marketng")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--role marketng: the policy sandbox knows auditor, director, finance, marketing" in result.stderr
    assert "Did you mean marketing?" in result.stderr
    assert not (here / ".gaelp" / "approvers.yaml").exists()
    assert not (here / ".gaelp" / "approvals.db").exists()


def test_an_earlier_list_with_a_role_that_no_policy_knows_stays_readable(here, gaelp, keys):
    keys("ann")
    gaelp("keys", "trust", here / "keys" / "ann.pub.json", "--role", "finance")
    approvers = here / ".gaelp" / "approvers.yaml"
    approvers.write_text(approvers.read_text().replace("finance", "treasurer"))
    assert json.loads(gaelp("keys", "list", "--json").stdout)["approvers"][0]["roles"] == ["treasurer"]


def test_a_public_key_that_is_not_there_is_said_to_be_so(here, gaelp):
    result = gaelp("keys", "trust", "missing.pub.json", "--role", "finance")
    assert (result.exit_code, "missing.pub.json: there is no such file" in result.stderr) == (2, True)
    assert not (here / ".gaelp" / "approvals.db").exists()
