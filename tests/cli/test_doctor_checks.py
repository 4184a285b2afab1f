import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from gaelp.cli.doctor_checks import check_disk, check_home_folder, check_port, check_python
from gaelp.config.origins import Origin

BASE = Origin("base", "configs/base.yaml:8")


@pytest.mark.parametrize(
    ("version", "status"), [("3.11.0", "ok"), ("3.14.2", "ok"), ("3.10.9", "broken"), ("2.7.18", "broken")]
)
def test_python_is_held_against_what_the_package_asks_for(version, status):
    assert check_python(version).status == status


def test_this_python_is_right():
    assert check_python().status == "ok"


def test_home_is_told_apart_by_whether_it_is_there(here):
    assert "can be made in" in check_home_folder(Path("home"), BASE).detail
    (here / "home").mkdir()
    assert check_home_folder(Path("home"), BASE).detail == f"{here / 'home'} can be written"
    assert check_home_folder(Path("/proc/gaelp"), BASE).status == "broken"


def test_a_home_that_somebody_named_and_that_does_not_exist_is_a_warning(here):
    named = check_home_folder(Path("hmoe"), Origin("environment", "GAELP_HOME"))
    assert (check_home_folder(Path("hmoe"), BASE).status, named.status) == ("ok", "warning")
    assert f"{here / 'hmoe'} does not exist yet" in named.detail
    assert named.way_out.startswith("GAELP_HOME names it: correct the path")


@pytest.mark.parametrize(("free", "status"), [(10**8, "broken"), (2 * 10**9, "warning"), (10**11, "ok")])
def test_free_disk_is_held_against_what_a_run_needs(here, free, status):
    assert check_disk(Path("home"), free).status == status


def test_free_disk_is_measured_where_the_home_will_be(here):
    assert str(here) in check_disk(Path("a/b/home")).detail


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), _Answer) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running.server_port
        running.shutdown()
        thread.join()


def test_a_port_is_right_if_the_service_answers_there(server):
    assert "already answers" in check_port(server, "the UI", "/api/health").detail


def test_a_port_taken_by_another_service_is_a_warning(server):
    assert check_port(server, "the UI", "/other").status == "warning"


def test_a_port_taken_by_something_that_does_not_speak_http_is_a_warning(monkeypatch):
    monkeypatch.setattr("gaelp.cli.doctor_checks.PROBE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert check_port(silent.getsockname()[1], "the UI", "/").status == "warning"


def test_a_free_port_is_right():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert check_port(port, "the UI", "/").detail == "free for the UI"
