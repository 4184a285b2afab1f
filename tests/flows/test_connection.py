"""A server that is not the home's own: it is not adopted, and is not sent the password."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from flows import server as server_module
from flows.connection import NoServer, connect, is_own
from flows.environment import prefect_home
from flows.home_secret import password
from flows.server import choose_api_url, running_server
from flows.server_record import claimed
from gaelp.errors import BadInput


class Stranger:
    """A server that answers 200 to whatever it is asked; with a `relay`, what that server answers."""

    def __init__(self):
        self.asked = []
        self.relay = None
        stranger = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                stranger.asked.append(f"{self.path}\n{self.headers}")
                body = httpx.get(f"{stranger.relay}{self.path}").content if stranger.relay else b"true"
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.api_url = f"http://127.0.0.1:{self.port}/api"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def stranger(monkeypatch):
    """A stranger on the usual port."""
    made = Stranger()
    monkeypatch.setattr(server_module, "_DEFAULT_PORT", made.port)
    yield made
    made.close()


@pytest.fixture
def home(tmp_path):
    prefect_home(tmp_path).mkdir()
    return tmp_path


def test_a_stranger_on_the_usual_port_is_not_adopted_and_a_free_port_is_taken(stranger, home):
    chosen = choose_api_url(home, {}, None)
    assert chosen != stranger.api_url
    with pytest.raises(BadInput, match=f"port {stranger.port} is in use"):
        choose_api_url(home, {}, stranger.port)
    with pytest.raises(NoServer, match="gaelp up"):
        connect(home, {})


def test_a_server_that_accepts_anything_does_not_prove_to_be_the_homes_own(stranger, home):
    with claimed(home, stranger.api_url, ""), pytest.raises(NoServer):  # it took the port of a server that died
        connect(home, {})
    assert not is_own(stranger.api_url, home)
    assert stranger.asked
    assert not any(password(home) in asked or "uthorization" in asked for asked in stranger.asked)


def test_a_proof_that_another_server_passes_on_does_not_count(pipeline, stranger):
    stranger.relay = f"http://127.0.0.1:{pipeline.port}"
    assert is_own(pipeline.api, pipeline.home)
    assert not is_own(stranger.api_url, pipeline.home)


def test_another_homes_server_is_not_taken_for_the_own_one(pipeline, home):
    assert not is_own(pipeline.api, home)


def test_a_shared_server_that_the_user_names_gets_the_users_password_and_not_the_homes(stranger, home):
    environ = {"PREFECT_API_URL": stranger.api_url, "PREFECT_API_AUTH_STRING": "of-the-team"}
    connect(home, environ)
    assert environ["PREFECT_API_AUTH_STRING"] == "of-the-team"
    with running_server(stranger.api_url, home, environ) as own:
        assert not own
        assert environ["PREFECT_API_AUTH_STRING"] == "of-the-team"


def test_a_shared_server_that_asks_for_a_password_is_refused_without_one(pipeline, home):
    environ = {"PREFECT_API_URL": pipeline.api}
    with pytest.raises(BadInput, match="PREFECT_API_AUTH_STRING"), running_server(pipeline.api, home, environ):
        pass
