"""The server of `gaelp up` as an attacker meets it: a web page, another program, another name for this machine."""

import base64
import json
import socket

import httpx
import psutil
import pytest
from prefect.utilities.schema_tools import validation
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from flows.connection import ERROR_MESSAGE
from flows.guarded_server import explain_patterns

EVIL = "http://evil.example"


def test_a_form_says_in_words_what_is_wrong_and_shows_no_pattern(monkeypatch):
    checks = validation._VALIDATOR.VALIDATORS
    monkeypatch.setitem(checks, "pattern", checks["pattern"])  # restored afterwards
    explain_patterns()
    fields = {"verdict": {"type": "string", "pattern": "^f866c54d", ERROR_MESSAGE: "not the code"}}
    schema = {"type": "object", "properties": fields | {"other": {"type": "string", "pattern": "^a$"}}}
    assert validation.validate({"verdict": "f866c54d", "other": "a"}, schema) == []
    errors = validation.validate({"verdict": "0", "other": "b"}, schema)
    assert [error.message for error in errors] == ["not the code", "'b' does not match '^a$'"]


@pytest.fixture
def attack(pipeline, tmp_path):
    """Two requests that had a shell command executed: change a deployment's steps, then start a run of it."""
    marker = tmp_path / "executed"

    def send(headers):
        before = pipeline.what_would_run()
        url = f"{pipeline.api}/deployments/{before[0]}"
        step = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {marker}"}}
        answers = [
            httpx.patch(url, json={"pull_steps": [step]}, headers=headers, timeout=60),
            httpx.post(f"{url}/create_flow_run", json={"state": {"type": "SCHEDULED"}}, headers=headers, timeout=60),
        ]
        assert pipeline.what_would_run() == before
        assert not marker.exists()
        return [answer.status_code for answer in answers]

    return send


def test_a_page_of_another_origin_changes_nothing_even_if_it_knew_the_password(pipeline, attack):
    secrets = pipeline.login | pipeline.csrf()
    assert attack({"Origin": EVIL}) == [403, 403]
    assert attack(secrets | {"Origin": EVIL}) == [403, 403]
    assert attack(secrets | {"Origin": "null"}) == [403, 403]
    assert attack(secrets | {"Origin": f"http://127.0.0.1:{pipeline.money}"}) == [403, 403], "another local program"


@pytest.mark.parametrize("name", ["evil.example", "evil.example:4200", "127.0.0.1.evil.example", "localhost@evil", ""])
def test_another_name_for_this_machine_is_refused_so_that_dns_rebinding_fails(pipeline, attack, name):
    assert attack(pipeline.login | pipeline.csrf() | {"Host": name}) == [421, 421]
    assert attack({"Host": name, "Origin": f"http://{name}"}) == [421, 421]


def test_a_program_on_this_machine_needs_the_password_and_a_csrf_token(pipeline, attack):
    wrong = base64.b64encode(b"gaelp:wrong-password").decode()
    assert attack(pipeline.csrf()) == [401, 401]
    assert attack(pipeline.csrf() | {"Authorization": f"Basic {wrong}"}) == [401, 401]
    assert attack(pipeline.login) == [403, 403]


def test_no_route_answers_without_the_password(pipeline):
    schema = httpx.get(f"{pipeline.api}/openapi.json", headers=pipeline.login, timeout=60).json()
    token = pipeline.csrf()
    routes = [(verb, path) for path, verbs in schema["paths"].items() for verb in verbs]
    assert len(routes) > 150
    with httpx.Client(base_url=pipeline.api, headers=token, timeout=60) as client:
        answered = {route for route in routes if client.request(*route).status_code != 401}
    assert answered <= {("get", "/health"), ("get", "/ready")}


def test_a_preflight_allows_the_servers_own_origin_alone(pipeline):
    asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "content-type"}
    own = f"http://127.0.0.1:{pipeline.port}"
    for origin, status, allowed in ((EVIL, 403, None), (own, 200, own)):
        answer = httpx.options(f"{pipeline.api}/deployments/filter", headers=asked | {"Origin": origin})
        assert (answer.status_code, answer.headers.get("access-control-allow-origin")) == (status, allowed)


def test_the_ui_cannot_be_framed_by_another_page(pipeline):
    assert httpx.get(f"http://127.0.0.1:{pipeline.port}/").headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(("name", "origin"), [("127.0.0.1", EVIL), ("evil.example", None)])
def test_a_websocket_is_refused_to_pages_and_names_from_elsewhere(pipeline, name, origin):
    url = f"ws://{name}:{pipeline.port}/api/logs/out"
    with (
        socket.create_connection(("127.0.0.1", pipeline.port)) as sock,
        pytest.raises(WebSocketException, match="HTTP 403"),
        connect(url, sock=sock, subprotocols=["prefect"], origin=origin),
    ):
        pass


@pytest.mark.parametrize("token", ["of-the-home", "gaelp:wrong-password", None])
def test_a_websocket_needs_the_password(pipeline, token):
    sent = pipeline.password if token == "of-the-home" else token
    with connect(f"ws://127.0.0.1:{pipeline.port}/api/logs/out", subprotocols=["prefect"]) as channel:
        channel.send(json.dumps({"type": "auth", "token": sent}))
        if token == "of-the-home":
            assert "auth_success" in channel.recv(timeout=30)
        else:
            with pytest.raises(WebSocketException, match="1008"):
                channel.recv(timeout=30)


def test_the_password_is_in_its_own_private_file_and_nowhere_else(pipeline):
    ended = pipeline.failed_run()
    path = pipeline.home / "prefect" / "password"
    assert path.stat().st_mode & 0o077 == 0
    spellings = [pipeline.password.encode(), base64.b64encode(pipeline.password.encode())]
    files = [*pipeline.home.rglob("*"), *pipeline.folder.rglob("*")]
    searched = {file: file.read_bytes() for file in files if file.is_file() and file != path}
    assert {"prefect.db", "server.log", "up.log"} <= {file.name for file in searched}
    searched["the flow run"] = str(ended).encode()
    for process in psutil.process_iter(["cmdline"]):
        searched[process] = " ".join(process.info["cmdline"] or ()).encode()
    assert [place for place, text in searched.items() if any(spelling in text for spelling in spellings)] == []
