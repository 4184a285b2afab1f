"""Each channel against a real server on loopback: what arrives, what is tried again, and what is given up."""

import io
import ipaddress
import json
import socket
import socketserver
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email import message_from_string, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr, ValidationError

from gaelp.clock import ManualClock
from gaelp.config.alert_settings import EmailSettings, WebhookSettings
from gaelp.errors import ComponentMissing
from gaelp.observability import logs
from gaelp.observability.alert_channels import (
    CallableChannel,
    EmailChannel,
    LogChannel,
    WebhookChannel,
)
from gaelp.observability.alerts import Alert, Dispatcher
from gaelp.observability.redact import register_secrets

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ALERT = Alert(
    severity="critical",
    source="budget",
    key="spend-rate-3h/c1",
    title="Six times the plan – stopped",
    body="spend_3h_micros is 60; asked: at most 10",
    at=NOW,
    context={"campaign": "c1", "spend_micros": 60},
)


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# The log


def test_the_log_gets_one_line_at_the_level_of_the_alert():
    stream = io.StringIO()
    logs.configure(format="json", stream=stream)
    LogChannel().send(ALERT)
    line = json.loads(stream.getvalue())
    assert (line["level"], line["event"], line["alert_key"]) == ("critical", ALERT.title, ALERT.key)
    assert line["context"] == {"campaign": "c1", "spend_micros": 60}


# The webhook


class Web(ThreadingHTTPServer):
    """Answers with the given statuses, one after the other; 0 hangs up, -1 answers too late."""

    def __init__(self, *statuses):
        super().__init__(("127.0.0.1", 0), WebHandler)
        self.statuses, self.requests, self.released = list(statuses), [], threading.Event()

    def handle_error(self, request, client_address):
        """A client that has gone is expected here."""


class WebHandler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        status = self.server.statuses.pop(0)
        if status == 0:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if status == -1:
            self.server.released.wait(5)
            return
        self.send_response(status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Quiet."""


def webhook(server, sleeps=None, **changes):
    url = SecretStr(f"http://127.0.0.1:{server.server_address[1]}/hook?token=s3cr3t-t0ken")
    sleep = (lambda _: None) if sleeps is None else sleeps.append
    return WebhookChannel(WebhookSettings(url=url, **changes), sleep=sleep)


def test_a_webhook_gets_the_whole_alert_as_json():
    with running(Web(204)) as server:
        webhook(server).send(ALERT)
    [(path, headers, body)] = server.requests
    assert path == "/hook?token=s3cr3t-t0ken"
    assert headers["Content-Type"] == "application/json"
    assert Alert.model_validate(body) == ALERT


@pytest.mark.parametrize("busy", [500, 503, 429, 408, 0])
def test_a_busy_or_lost_server_is_asked_again_after_a_growing_wait(busy):
    sleeps = []
    with running(Web(busy, busy, 200)) as server:
        webhook(server, sleeps, wait_seconds=0.5).send(ALERT)
    assert sleeps == [0.5, 1.0]
    assert len({headers["Idempotency-Key"] for _, headers, _ in server.requests}) == 1


def test_the_attempts_are_bounded_and_the_address_is_not_told():
    with running(Web(500, 500, 500, 200)) as server, pytest.raises(ComponentMissing, match="status 500") as seen:
        webhook(server, attempts=3).send(ALERT)
    assert len(server.requests) == 3
    assert "s3cr3t" not in str(seen.value)


@pytest.mark.parametrize("refusal", [400, 401, 404, 302])
def test_a_refusal_or_a_redirect_is_not_tried_again(refusal):
    with running(Web(refusal, 200)) as server, pytest.raises(ComponentMissing, match=f"status {refusal}"):
        webhook(server).send(ALERT)
    assert len(server.requests) == 1


def test_a_server_that_never_answers_costs_the_timeout_and_no_more():
    with running(Web(-1)) as server:
        with pytest.raises(
            ComponentMissing, match=r"the channel webhook did not take the alert: no answer within 0.2 s"
        ):
            webhook(server, attempts=1, timeout_seconds=0.2).send(ALERT)
        server.released.set()


@contextmanager
def dripping(start):
    """A server that answers this at once, and then a byte every now and then until the end; gives its port."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(start)
                while not over.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            over.set()
            thread.join()


def drip_fed(port):
    """A webhook there, tried once, and how long that may take."""
    url = SecretStr(f"http://127.0.0.1:{port}/")
    return WebhookChannel(WebhookSettings(url=url, attempts=1, timeout_seconds=0.5))


def test_the_status_is_enough_however_long_the_rest_of_the_answer_takes():
    with dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n") as port:
        began = time.monotonic()
        drip_fed(port).send(ALERT)
        assert time.monotonic() - began < 5


def test_a_server_that_drips_its_answer_costs_the_timeout_and_no_more():
    with dripping(b"HTTP/1.1 200 OK\r\nX-Long: ") as port:
        began = time.monotonic()
        with pytest.raises(ComponentMissing, match=r"no answer within 0.5 s"):
            drip_fed(port).send(ALERT)
        assert time.monotonic() - began < 5


def test_a_server_that_is_not_there_is_named_by_what_happened():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = WebhookSettings(url=SecretStr(f"http://127.0.0.1:{taken.getsockname()[1]}/"), attempts=2)
        with pytest.raises(ComponentMissing, match="ConnectError"):
            WebhookChannel(settings, sleep=lambda _: None).send(ALERT)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "no address", "http://[::1/"])
def test_an_address_that_is_none_fails_as_a_channel_does(url):
    with pytest.raises(ComponentMissing, match="did not take the alert"):
        WebhookChannel(WebhookSettings(url=SecretStr(url)), sleep=lambda _: None).send(ALERT)


def test_the_log_of_the_http_library_does_not_show_a_webhooks_address(caplog):
    with dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as port, caplog.at_level("INFO", "httpx"):
        url = f"http://127.0.0.1:{port}/planted-hook-address"
        register_secrets([url])
        WebhookChannel(WebhookSettings(url=SecretStr(url))).send(ALERT)
    assert [record.name for record in caplog.records] == ["httpx"]
    assert "planted-hook-address" not in caplog.text


# E-mail


class Smtp(socketserver.ThreadingTCPServer):
    """A mail server that keeps what it is sent; with a context it offers STARTTLS; it rejects what is in `refuse`."""

    daemon_threads = True

    def __init__(self, *, tls=None, refuse=(), greeting="220 ready"):
        super().__init__(("127.0.0.1", 0), SmtpHandler)
        self.tls, self.refuse, self.greeting = tls, refuse, greeting
        self.mails, self.encrypted, self.logins = [], [], []

    def handle_error(self, request, client_address):
        """A client that has gone is expected here."""


class SmtpHandler(socketserver.StreamRequestHandler):
    encrypted = False

    def say(self, line):
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self):
        self.say(self.server.greeting)
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            if verb == "QUIT":
                return self.say("221 bye")
            getattr(self, f"on_{verb.lower()}", self.on_other)(line)
        return None

    def finish(self):
        super().finish()
        self.rfile.close()
        self.connection.close()

    def on_ehlo(self, _):
        self.say("250-local")
        if self.encrypted:
            self.say("250-AUTH PLAIN")
        self.say("250 STARTTLS" if self.server.tls and not self.encrypted else "250 8BITMIME")

    def on_starttls(self, _):
        self.say("220 go ahead")
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)
        self.encrypted = True

    def on_auth(self, line):
        self.server.logins.append(line)
        self.say("235 welcome")

    def on_rcpt(self, line):
        refused = any(address in line for address in self.server.refuse)
        self.say("550 unknown" if refused else "250 ok")

    def on_data(self, _):
        self.say("354 go on")
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.decode())
        self.server.mails.append(message_from_string("".join(lines), policy=policy.default))
        self.server.encrypted.append(self.encrypted)
        self.say("250 taken")

    def on_other(self, _):
        self.say("250 ok")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1: the server's context, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    began = datetime.now(UTC) - timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(began).not_valid_after(began + timedelta(days=9))
    signed = builder.add_extension(address, critical=False)
    signed = signed.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(
        key, hashes.SHA256()
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    pem = signed.public_bytes(serialization.Encoding.PEM)
    path.write_bytes(key.private_bytes(*plain) + pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cadata=pem.decode())


def settings(server, **changes):
    values = {"host": "127.0.0.1", "port": server.server_address[1], "sender": "gaelp@example.com", "starttls": False}
    return EmailSettings(**{**values, "recipients": ("ops@example.com", "cfo@example.com"), **changes})


def test_a_mail_says_all_there_is_to_know():
    with running(Smtp()) as server:
        EmailChannel(settings(server)).send(ALERT)
    [mail] = server.mails
    assert mail["Subject"] == "[gaelp critical] Six times the plan – stopped"
    assert (mail["To"], mail["From"]) == ("ops@example.com, cfo@example.com", "gaelp@example.com")
    text = mail.get_content()
    assert all(part in text for part in (ALERT.body, ALERT.source, ALERT.key, '"spend_micros": 60', "2026-11-16T12:00"))


def test_with_starttls_nothing_is_said_in_the_clear_and_the_login_goes_through(certificate):
    with running(Smtp(tls=certificate[0])) as server:
        given = settings(server, starttls=True, user="gaelp", password=SecretStr("pw-for-mail"))
        EmailChannel(given, tls=certificate[1]).send(ALERT)
    assert server.encrypted == [True]
    assert len(server.logins) == 1


def test_a_server_with_a_certificate_nobody_vouches_for_gets_nothing(certificate):
    refused = pytest.raises(ComponentMissing, match="CERTIFICATE_VERIFY_FAILED")
    with running(Smtp(tls=certificate[0])) as server, refused:
        EmailChannel(settings(server, starttls=True)).send(ALERT)
    assert server.mails == []


def test_a_server_without_starttls_gets_nothing_where_it_is_asked_for():
    with running(Smtp()) as server, pytest.raises(ComponentMissing, match="STARTTLS"):
        EmailChannel(settings(server, starttls=True)).send(ALERT)
    assert server.mails == []


def test_a_refused_recipient_is_a_failure_though_the_other_got_it():
    refused = pytest.raises(ComponentMissing, match=r"refused \['cfo@example.com'\]")
    with running(Smtp(refuse=("cfo@example.com",))) as server, refused:
        EmailChannel(settings(server)).send(ALERT)
    assert len(server.mails) == 1


def test_a_mail_server_that_is_busy_or_silent_is_a_failure():
    with running(Smtp(greeting="421 too busy")) as server, pytest.raises(ComponentMissing, match="too busy"):
        EmailChannel(settings(server)).send(ALERT)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        given = EmailSettings(
            host="127.0.0.1", port=silent.getsockname()[1], sender="a@b", recipients=("c@d",), timeout_seconds=0.2
        )
        with pytest.raises(ComponentMissing, match=r"timed out|within 0\.2 s"):
            EmailChannel(given).send(ALERT)


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"user": "gaelp"}, "belong together"),
        ({"user": "gaelp", "password": "pw", "starttls": False}, "in the clear"),
        ({"recipients": ("ops@example.com\r\nBcc: x@y",)}, "no mail addresses"),
        ({"recipients": ()}, "at least 1"),
    ],
)
def test_settings_that_would_harm_are_refused(changes, seen):
    values = {"host": "localhost", "port": 25, "sender": "a@b", "recipients": ("c@d",)}
    with pytest.raises(ValidationError, match=seen):
        EmailSettings(**{**values, **changes})


# All of them together


def test_a_dead_webhook_does_not_keep_the_mail_from_arriving_and_the_mail_says_it_is_dead():
    with running(Web(500, 500)) as web, running(Smtp()) as smtp:
        channels = [webhook(web, attempts=2), EmailChannel(settings(smtp)), CallableChannel("event", lambda _: None)]
        delivery = Dispatcher(channels, ManualClock(NOW)).send(ALERT)
    assert delivery.reached == ("email", "event")
    assert [mail["Subject"] for mail in smtp.mails] == [
        "[gaelp critical] Six times the plan – stopped",
        "[gaelp warning] The alert channel webhook does not deliver",
    ]


def test_a_mail_server_that_never_ends_its_greeting_costs_the_timeout_and_no_more():
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def greet():
            connection, _ = server.accept()
            with connection, suppress(OSError):
                while not over.wait(0.05):
                    connection.sendall(b"220-wait\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        given = EmailSettings(
            host="127.0.0.1", port=server.getsockname()[1], sender="a@b", recipients=("c@d",), timeout_seconds=0.5
        )
        began = time.monotonic()
        try:
            with pytest.raises(ComponentMissing, match=r"did not take the alert within 0.5 s"):
                EmailChannel(given).send(ALERT)
            assert time.monotonic() - began < 5
        finally:
            over.set()
            thread.join()
