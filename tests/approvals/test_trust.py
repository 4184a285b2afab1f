from datetime import timedelta

import pytest
from pydantic import ValidationError

from gaelp.approvals import Approver, Trust, load_trust, new_key
from gaelp.approvals.keys import PublicKeyFile
from gaelp.approvals.trust import change_trust
from gaelp.errors import BadInput, ConfigError, Refused


def offered(name):
    return PublicKeyFile.of(new_key(name))


def test_the_list_survives_its_file_and_a_missing_file_trusts_nobody(tmp_path, office):
    path = tmp_path / "approvers.yaml"
    assert load_trust(path) == Trust()
    change_trust(path, lambda _: office.trust)
    assert load_trust(path) == office.trust


def test_a_key_counts_from_when_it_was_added_until_it_is_revoked(office):
    trust = Trust().with_key(offered("ann"), ("finance",), office.now)
    trust = trust.without("ann", office.now + timedelta(days=1))
    [entry] = trust.keys_of("ann")
    second = timedelta(seconds=1)
    assert not entry.trusted_at(office.now - second)
    assert entry.trusted_at(office.now)
    assert entry.trusted_at(office.now + timedelta(days=1) - second)
    assert not entry.trusted_at(office.now + timedelta(days=1))


def test_roles_end_with_the_key(office):
    later = office.now + timedelta(days=1)
    assert office.trust.roles_of("ann", office.now) == {"finance"}
    assert office.trust.without("ann", later).roles_of("ann", later) == frozenset()


def test_a_new_key_may_follow_a_revoked_one(office):
    trust = office.trust.without("ann", office.now).with_key(offered("ann"), ("finance",), office.now)
    assert [entry.revoked_at is None for entry in trust.keys_of("ann")] == [False, True]


def test_one_key_cannot_speak_for_two_names(office):
    again = PublicKeyFile.of(office.key("ann"))
    with pytest.raises(Refused, match="trusted already"):
        office.trust.with_key(again, ("finance",), office.now)
    twice = [
        entry.model_copy(update={"name": name})
        for entry, name in zip(office.trust.approvers[:1] * 2, "ab", strict=True)
    ]
    with pytest.raises(ValidationError, match="same key"):
        Trust(approvers=tuple(twice))


@pytest.mark.parametrize("name", ["ann", "Ann", "ANN"])
def test_one_name_has_one_key_at_a_time_whatever_its_case(office, name):
    with pytest.raises(Refused, match="one at a time"):
        office.trust.with_key(offered(name), ("finance",), office.now)
    other = Approver(name=name, public_key=new_key("x").public_key, roles=("finance",), added_at=office.now)
    with pytest.raises(ValidationError, match="two keys in force"):
        Trust(approvers=(*office.trust.approvers, other))


def test_a_key_whose_proof_does_not_fit_is_not_trusted(office):
    with pytest.raises(Refused, match="proof"):
        office.trust.with_key(offered("dan").model_copy(update={"name": "eve"}), ("finance",), office.now)


def test_who_is_not_in_force_cannot_be_revoked(office):
    with pytest.raises(BadInput, match="ann, aud, bob, cyd"):
        office.trust.without("dan", office.now)


def test_a_weak_key_in_the_file_is_refused_when_it_is_read(tmp_path, office):
    path = tmp_path / "approvers.yaml"
    change_trust(path, lambda _: office.trust)
    path.write_text(path.read_text().replace(office.key("ann").public_key, "01" + "00" * 31))
    with pytest.raises(ConfigError, match="unfit"):
        load_trust(path)
