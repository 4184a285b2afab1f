"""Ed25519 key pairs: make one, keep its private half to its owner, sign and verify."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from pydantic import ConfigDict

from gaelp.approvals.canonical import tagged
from gaelp.approvals.field_types import PublicKeyHex, SignatureHex
from gaelp.config.base import Frozen
from gaelp.config.names import Name, check_name
from gaelp.config.places import shown
from gaelp.errors import BadInput, DataError, Refused

__all__ = [
    "PublicKeyFile",
    "SigningKey",
    "check_public_key",
    "load_key",
    "needs_passphrase",
    "new_key",
    "save_key",
    "signed_by",
]

_HEADER = re.compile(rb"\Aapprover: ([A-Za-z0-9._-]{1,64})\n-----BEGIN ")
_OWNER_ONLY = 0o600
_OTHERS = 0o077
_KEY_BYTES_MAX = 16_384
_FIELD_PRIME = 2**255 - 19
# The points of small order: with one of these as a "public key", a signature fits messages nobody signed.
_WEAK_KEYS = frozenset(
    (
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key and whose it is; its repr shows nothing of the key."""

    name: str
    private: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """The public half, in hex."""
        return self.private.public_key().public_bytes_raw().hex()

    def sign(self, domain: str, value: object) -> str:
        """The signature (hex) over the tagged canonical bytes of a value."""
        return self.private.sign(tagged(domain, value)).hex()


class PublicKeyFile(Frozen):
    """What the owner of a key hands to whoever keeps the list of trusted approvers."""

    model_config = ConfigDict(strict=True)

    name: Name
    public_key: PublicKeyHex
    proof: SignatureHex  # by the key itself, over name and key: neither was mistyped or exchanged

    @classmethod
    def of(cls, key: SigningKey) -> "PublicKeyFile":
        """The public half of a key, with its proof."""
        proof = key.sign("public-key", {"name": key.name, "public_key": key.public_key})
        return cls(name=key.name, public_key=key.public_key, proof=proof)

    def check(self) -> None:
        """Refuse a key that is unfit, or whose owner did not sign this name."""
        check_public_key(self.public_key)
        if not signed_by(self.public_key, self.proof, "public-key", self.model_dump(exclude={"proof"})):
            raise Refused(
                f"the public key of {self.name!r} does not match its proof: name or key were changed after the key was"
                " made. Ask its owner for the file again."
            )


def new_key(name: str) -> SigningKey:
    """A new key pair from the system's randomness."""
    return SigningKey(check_name(name, "the name of an approver", error=BadInput), Ed25519PrivateKey.generate())


def save_key(key: SigningKey, path: Path, passphrase: bytes | None) -> None:
    """Write the private key for its owner alone; a file that is there is never replaced."""
    lock = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    pem = key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        raise Refused(
            f"{shown(path)} is there already, and a private key is never replaced: choose another name or --out"
        ) from None
    with os.fdopen(handle, "wb") as file:
        file.write(f"approver: {key.name}\n".encode("ascii") + pem)
        file.flush()
        os.fsync(file.fileno())


def load_key(path: Path, passphrase: bytes | None = None) -> SigningKey:
    """The key in a file that `gaelp keys new` wrote; one that others can read is refused."""
    if not isinstance(passphrase, bytes | None):
        raise BadInput(
            f"the passphrase is {type(passphrase).__name__}; allowed: bytes, such as passphrase.encode(), or None"
        )
    raw = _read_private(path)
    header = _HEADER.match(raw)
    if header is None:
        raise DataError(f"{shown(path)} is not a private key of GAELP: name the file that `gaelp keys new` wrote")
    try:
        private = load_pem_private_key(raw, passphrase)
    except TypeError:
        how, way_out = ("without", "leave it out") if passphrase else ("with", "give it")
        raise BadInput(f"the key {shown(path)} was written {how} a passphrase: {way_out}") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadInput(
            f"the key {shown(path)} cannot be opened: the passphrase is another one, or the file is damaged"
        ) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise DataError(f"{shown(path)} holds {type(private).__name__}; allowed: Ed25519. Make one: `gaelp keys new`")
    return SigningKey(header[1].decode("ascii"), private)


def needs_passphrase(path: Path) -> bool:
    """Whether the key in a file opens with a passphrase only."""
    return b"ENCRYPTED" in _read_private(path)


def signed_by(public_key: str, signature: str, domain: str, value: object) -> bool:
    """Whether the signature is of that key over that value."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(
            bytes.fromhex(signature), tagged(domain, value)
        )
    except (InvalidSignature, ValueError):
        return False
    return True


def check_public_key(public_key: str) -> None:
    """Refuse what is not one well-formed point, and the few points that any signature fits."""
    raw = bytes.fromhex(public_key)
    number = int.from_bytes(raw, "little") & (2**255 - 1)  # the last bit is the sign
    if number >= _FIELD_PRIME or number.to_bytes(32, "little").hex() in _WEAK_KEYS:
        raise Refused(
            f"the public key {public_key[:16]}… is unfit: signatures nobody made would match it."
            " Make a key with `gaelp keys new`."
        )


def _read_private(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(_KEY_BYTES_MAX)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise BadInput(
            f"the key {shown(path)} cannot be read: {reason}. Name the file that `gaelp keys new` wrote."
        ) from None
    if mode & _OTHERS:
        raise Refused(
            f"the private key {shown(path)} can be read by others (mode {mode & 0o777:o}); allowed: its owner alone."
            f" Run `chmod 600 {shown(path)}`, and make a new key if others may have seen it."
        )
    return raw
