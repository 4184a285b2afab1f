"""The list of approvers is changed in the audit log first; what the log says about keys holds in every home."""

import pytest

from gaelp.approvals import AuditLog, Trust, approvals_place, load_trust, new_key, open_database, trusted_approvers
from gaelp.approvals.keys import PublicKeyFile
from gaelp.authority.trust_changes import revoke_key, trust_key
from gaelp.config import load_settings
from gaelp.errors import BadInput, Refused


@pytest.fixture
def settings(tmp_path):
    return load_settings(None, environ={}, overrides=[f"home={tmp_path / 'home'}"]).settings


@pytest.fixture
def listed(tmp_path):
    return tmp_path / "approvers.yaml"


def kinds(settings):
    return [row.kind for row in AuditLog(open_database(approvals_place(settings))).rows()]


def test_a_key_is_trusted_with_a_role_of_the_policy_and_revoked_for_good(settings, listed):
    offered = PublicKeyFile.of(new_key("ann"))
    with pytest.raises(BadInput, match="--role boss: the policy sandbox knows auditor, director, finance, marketing"):
        trust_key(settings, listed, offered, ("boss",))
    assert trust_key(settings, listed, offered, ("finance",)) == load_trust(listed)
    assert revoke_key(settings, listed, "ann") == load_trust(listed)
    assert kinds(settings) == ["trust.added", "trust.revoked"]
    listed.unlink()  # a list from before, or of another machine, does not bring the key back
    with pytest.raises(Refused, match="this key of 'ann' was revoked"):
        trust_key(settings, listed, offered, ("finance",))
    trust_key(settings, listed, PublicKeyFile.of(new_key("ann")), ("finance",))
    assert trusted_approvers(settings, listed).has_key_in_force("ann")


def test_a_revocation_that_did_not_reach_the_list_is_completed_without_another_row(settings, listed):
    before = trust_key(settings, listed, PublicKeyFile.of(new_key("ann")), ("finance",))
    revoked = revoke_key(settings, listed, "ann")
    listed.write_text(before.model_dump_json())
    assert trusted_approvers(settings, listed) == revoked
    assert revoke_key(settings, listed, "ann") == revoked == load_trust(listed)
    assert kinds(settings) == ["trust.added", "trust.revoked"]
    with pytest.raises(BadInput, match="no key in force"):
        revoke_key(settings, listed, "ann")


def test_where_there_is_no_list_nobody_is_trusted(settings, listed):
    assert trusted_approvers(settings, listed) == Trust()
