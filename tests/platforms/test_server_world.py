"""A server is the sandbox once it has proven it; only then does time come from it."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from gaelp.errors import GaelpError
from gaelp.platforms.server_world import ServerWorld


class Connection:
    def __init__(self, certificate="certificate.pem", time="2026-10-26T05:00:00+01:00"):
        self.settings = SimpleNamespace(endpoint="localhost:1", certificate=certificate, deadline_seconds=1.0)
        self.time = time

    def sandbox_time(self):
        return self.time


@pytest.fixture
def handshakes(monkeypatch):
    """The answers of the handshakes to come; those that were made are gone."""
    answers = []
    name = "gaelp.platforms.server_world.presents_sandbox_certificate"
    monkeypatch.setattr(name, lambda *_: answers.pop(0))
    return answers


def test_a_failed_handshake_is_tried_again_and_a_proof_is_kept(handshakes):
    server = ServerWorld(Connection())
    handshakes += [False, True]
    assert [server.is_sandbox() for _ in range(4)] == [False, True, True, True]
    assert handshakes == []


def test_without_a_certificate_nothing_is_asked_and_time_is_wall_time(handshakes):
    server = ServerWorld(Connection(certificate=None))
    assert not server.is_sandbox()
    assert abs(server.now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_the_time_of_the_sandbox_is_its_own_in_utc(handshakes):
    handshakes.append(True)
    assert ServerWorld(Connection()).now() == datetime(2026, 10, 26, 4, tzinfo=UTC)


def test_a_sandbox_that_does_not_say_its_time_is_an_error(handshakes):
    handshakes.append(True)
    with pytest.raises(GaelpError, match="of one version"):
        ServerWorld(Connection(time=None)).now()
