"""The certificate of a folder: made once, for this machine, recognisable, and refused once it has expired."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from gaelp.errors import BadInput
from gaelp.sandbox.certificate import ORGANISATION, folder_certificate

NOW = datetime.now(UTC)


def test_it_is_made_once_and_kept(tmp_path):
    first = folder_certificate(tmp_path / "sandbox", NOW)
    assert folder_certificate(tmp_path / "sandbox", NOW + timedelta(days=700)) == first
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "sandbox").iterdir()} == {0o600}
    assert folder_certificate(tmp_path / "other", NOW).fingerprint != first.fingerprint


def test_it_names_the_sandbox_and_this_machine_alone(tmp_path):
    certificate = x509.load_pem_x509_certificate(folder_certificate(tmp_path, NOW).pem)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1"]
    [organisation] = certificate.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)
    assert organisation.value == ORGANISATION


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_client_that_trusts_it_connects(tmp_path, host):
    certificate = folder_certificate(tmp_path, NOW)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate.path, certificate.path.with_name("certificate-key.pem"))
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            plain, _ = listener.accept()
            with server.wrap_socket(plain, server_side=True) as connection:
                connection.sendall(b"hello")

        thread = threading.Thread(target=answer)
        thread.start()
        client = ssl.create_default_context(cafile=certificate.path)
        with (
            socket.create_connection(listener.getsockname()) as plain,
            client.wrap_socket(plain, server_hostname=host) as connection,
        ):
            assert connection.recv(5) == b"hello"
        thread.join()


def test_an_expired_one_is_refused_with_the_way_to_a_new_one(tmp_path):
    old = folder_certificate(tmp_path, NOW - timedelta(days=900))
    with pytest.raises(BadInput, match=r"expired on .* remove certificate\.pem and certificate-key\.pem"):
        folder_certificate(tmp_path, NOW)
    for path in tmp_path.iterdir():
        path.unlink()
    assert folder_certificate(tmp_path, NOW).fingerprint != old.fingerprint


@pytest.mark.parametrize("name", ["certificate.pem", "certificate-key.pem"])
def test_damaged_files_are_refused(tmp_path, name):
    folder_certificate(tmp_path, NOW)
    (tmp_path / name).write_text("nothing")
    with pytest.raises(BadInput, match="cannot be used"):
        folder_certificate(tmp_path, NOW)


def test_a_key_of_another_certificate_is_refused(tmp_path):
    folder_certificate(tmp_path / "a", NOW)
    folder_certificate(tmp_path / "b", NOW)
    (tmp_path / "b" / "certificate-key.pem").replace(tmp_path / "a" / "certificate-key.pem")
    with pytest.raises(BadInput, match="is not the key of"):
        folder_certificate(tmp_path / "a", NOW)
