"""The sandbox's own TLS certificate: made once for a folder, self-signed, for this machine's names alone."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gaelp.config.private_files import make_private_folder
from gaelp.config.write import write_texts
from gaelp.errors import BadInput

__all__ = ["ORGANISATION", "Certificate", "folder_certificate"]

ORGANISATION = "GAELP sandbox"  # no certificate of a real platform names it
_CERTIFICATE_NAME, _KEY_NAME = "certificate.pem", "certificate-key.pem"
_VALID = timedelta(days=730)
_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """Certificate and key in PEM; clients get the file at `path` as their root certificate."""

    path: Path
    pem: bytes
    key_pem: bytes
    fingerprint: str  # SHA-256 in hex
    expires: datetime


def folder_certificate(folder: Path, now: datetime) -> Certificate:
    """The certificate of a sandbox's folder, made where there is none; `now` is wall time.

    One that has expired is refused, not replaced: clients may have a copy of it.
    """
    path, key_path = folder / _CERTIFICATE_NAME, folder / _KEY_NAME
    if not path.exists():
        make_private_folder(folder)
        _make(path, key_path, now)
    try:
        pem, key_pem = path.read_bytes(), key_path.read_bytes()
        certificate = x509.load_pem_x509_certificate(pem)
        key = serialization.load_pem_private_key(key_pem, None)
    except (OSError, ValueError) as problem:
        raise BadInput(f"{path} and {key_path.name} cannot be used ({problem}): {_renewal(path)}") from problem
    expires = certificate.not_valid_after_utc
    if certificate.public_key() != key.public_key():
        raise BadInput(f"{key_path} is not the key of {path.name}: {_renewal(path)}")
    if now >= expires:
        raise BadInput(f"{path} expired on {expires:%Y-%m-%d}, today is {now:%Y-%m-%d}: {_renewal(path)}")
    return Certificate(path, pem, key_pem, certificate.fingerprint(hashes.SHA256()).hex(), expires)


def _renewal(path: Path) -> str:
    return (
        f"remove {path.name} and {_KEY_NAME}, start the sandbox again to have new ones made, and give clients the new"
        f" {path.name}"
    )


def _make(path: Path, key_path: Path, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANISATION),
            x509.NameAttribute(NameOID.COMMON_NAME, "localhost"),
        ]
    )
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The key first: whoever finds a certificate finds its key too.
    write_texts({key_path: key_text.decode(), path: certificate.public_bytes(serialization.Encoding.PEM).decode()})
