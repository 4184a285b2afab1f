import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gaelp.approvals import load_key, new_key, save_key
from gaelp.approvals.keys import PublicKeyFile, check_public_key, needs_passphrase, signed_by
from gaelp.errors import BadInput, DataError, Refused

WEAK = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]


@pytest.mark.parametrize("passphrase", [None, b"correct horse battery"])
def test_a_saved_key_comes_back_with_its_name_and_signs_the_same(tmp_path, passphrase):
    key = new_key("ann")
    path = tmp_path / "folder" / "ann.key"
    save_key(key, path, passphrase)
    again = load_key(path, passphrase)
    assert (again.name, again.public_key) == ("ann", key.public_key)
    assert again.sign("approval", {"a": 1}) == key.sign("approval", {"a": 1})
    assert needs_passphrase(path) == (passphrase is not None)


def test_a_private_key_is_for_its_owner_alone_and_never_replaced(tmp_path):
    path = tmp_path / "ann.key"
    save_key(new_key("ann"), path, None)
    before = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(Refused, match="never replaced"):
        save_key(new_key("ann"), path, None)
    assert path.read_bytes() == before


def test_a_private_key_that_others_can_read_is_refused(tmp_path):
    path = tmp_path / "ann.key"
    save_key(new_key("ann"), path, None)
    path.chmod(0o640)
    with pytest.raises(Refused, match="chmod 600"):
        load_key(path)


@pytest.mark.parametrize(
    ("stored", "given", "message"),
    [
        (b"correct horse battery", None, "give it"),
        (b"correct horse battery", b"wrong", "another one"),
        (None, b"wrong", "leave it out"),
    ],
)
def test_a_key_opens_with_its_own_passphrase_only(tmp_path, stored, given, message):
    save_key(new_key("ann"), tmp_path / "ann.key", stored)
    with pytest.raises(BadInput, match=message):
        load_key(tmp_path / "ann.key", given)


def test_a_key_shows_nothing_of_itself(tmp_path):
    key = new_key("ann")
    assert repr(key) == "SigningKey(name='ann')"


@pytest.mark.parametrize("raw", [b"", b"approver: ann\n-----BEGIN x", b"not a key"])
def test_what_is_no_key_is_refused(tmp_path, raw):
    path = tmp_path / "ann.key"
    path.write_bytes(raw)
    path.chmod(0o600)
    with pytest.raises((BadInput, DataError)):
        load_key(path)


def test_a_signature_holds_for_its_key_its_domain_and_its_value_only():
    ann, bob = new_key("ann"), new_key("bob")
    signature = ann.sign("approval", {"a": 1})
    assert signed_by(ann.public_key, signature, "approval", {"a": 1})
    assert not signed_by(bob.public_key, signature, "approval", {"a": 1})
    assert not signed_by(ann.public_key, signature, "audit-head", {"a": 1})
    assert not signed_by(ann.public_key, signature, "approval", {"a": 2})
    assert not signed_by(ann.public_key, "zz" * 64, "approval", {"a": 1})


@pytest.mark.parametrize("weak", WEAK)
def test_a_public_key_that_a_made_up_signature_fits_is_refused(weak):
    forged = bytes([1]) + bytes(63)
    fits = 0
    for number in range(100):
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(weak)).verify(forged, b"%d" % number)
            fits += 1
        except Exception:  # noqa: BLE001, S110 - any way of saying no
            pass
    assert fits  # so the danger is real
    with pytest.raises(Refused, match="unfit"):
        check_public_key(weak)


@pytest.mark.parametrize("other", ["ed" + "ff" * 30 + "7f", "ee" + "ff" * 30 + "ff", "ff" * 32])
def test_a_public_key_written_in_a_second_way_is_refused(other):
    with pytest.raises(Refused, match="unfit"):
        check_public_key(other)


def test_a_public_key_file_proves_that_its_owner_took_that_name():
    offered = PublicKeyFile.of(new_key("ann"))
    offered.check()
    with pytest.raises(Refused, match="proof"):
        offered.model_copy(update={"name": "bob"}).check()
    with pytest.raises(Refused, match="proof"):
        offered.model_copy(update={"public_key": new_key("ann").public_key}).check()


def test_a_passphrase_as_text_is_called_by_its_name(tmp_path):
    save_key(new_key("ann"), tmp_path / "ann.key", b"correct horse battery")
    with pytest.raises(BadInput, match="the passphrase is str; allowed: bytes"):
        load_key(tmp_path / "ann.key", "correct horse battery")
