"""Decide whether a server is the sandbox: by the certificate that it presents over a real TLS connection."""

import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from gaelp.platforms.sandbox_identity import SANDBOX_ORGANISATION

__all__ = ["presents_sandbox_certificate"]

_TLS_PORT = 443


def presents_sandbox_certificate(endpoint: str, certificate: Path, seconds: float) -> bool:
    """Whether the server at `host:port` has the sandbox's own certificate; False without a certain answer.

    The file alone proves nothing: it must be a self-signed certificate of the sandbox, and the server must present it
    and hold its key, which the handshake proves.
    """
    try:
        expected = x509.load_pem_x509_certificate(certificate.read_bytes())
        return _is_of_sandbox(expected) and _presented(endpoint, certificate, seconds) == _fingerprint(expected)
    except (OSError, ValueError):
        return False


def _is_of_sandbox(certificate: x509.Certificate) -> bool:
    names = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return certificate.issuer == certificate.subject and [name.value for name in names] == [SANDBOX_ORGANISATION]


def _presented(endpoint: str, certificate: Path, seconds: float) -> bytes:
    host, _, port = endpoint.partition(":")
    context = ssl.create_default_context(cafile=str(certificate))
    with (
        socket.create_connection((host, int(port or _TLS_PORT)), timeout=seconds) as connection,
        context.wrap_socket(connection, server_hostname=host) as secured,
    ):
        presented = secured.getpeercert(binary_form=True)
    return _fingerprint(x509.load_der_x509_certificate(presented)) if presented else b""


def _fingerprint(certificate: x509.Certificate) -> bytes:
    return certificate.fingerprint(hashes.SHA256())
