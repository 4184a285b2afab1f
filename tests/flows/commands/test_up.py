"""Two homes side by side: the second `gaelp up` takes free ports and says which."""

import socket

import pytest

from flows import server as server_module
from flows.commands import up as up_module
from flows.home_secret import password_file
from flows.server import choose_api_url
from flows.server_record import Up
from gaelp.config import load_settings


@pytest.fixture
def taken():
    """A port that another program listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def shipped(taken, tmp_path):
    loaded = load_settings(None, overrides=[f"home={tmp_path}"], environ={})
    settings = loaded.settings.model_copy(update={"api": loaded.settings.api.model_copy(update={"port": taken})})
    return type(loaded)(settings, loaded.origins)


def test_the_shipped_port_of_the_emergency_stop_gives_way_and_the_new_one_is_printed(taken, tmp_path, capsys):
    chosen = up_module._with_free_api_port(shipped(taken, tmp_path)).api
    assert chosen.port != taken
    with socket.create_server((chosen.host, chosen.port)):
        pass
    said = capsys.readouterr().err
    assert said.startswith(f"port {taken} is in use")
    assert f"take port {chosen.port}" in said
    assert "prefect/up.json" in said


def test_a_shipped_port_that_is_free_is_kept_in_silence(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert up_module._with_free_api_port(shipped(port, tmp_path)).api.port == port
    assert capsys.readouterr().err == ""


def test_a_port_that_the_user_named_is_never_replaced(taken, tmp_path):
    loaded = load_settings(None, overrides=[f"home={tmp_path}", f"api.port={taken}"], environ={})
    assert up_module._with_free_api_port(loaded) == loaded.settings


def test_another_port_for_prefect_is_printed_in_a_plain_line(taken, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(server_module, "_DEFAULT_PORT", taken)
    url = choose_api_url(tmp_path, {}, None)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"port {taken} is in use")
    assert line.endswith(url.removeprefix("http://127.0.0.1:").removesuffix("/api"))


@pytest.mark.parametrize("columns", [60, 80])
def test_what_is_up_is_shown_without_breaking_words_and_commands_stay_whole(tmp_path, monkeypatch, capsys, columns):
    monkeypatch.setattr("gaelp.cli.output._text_columns", lambda _: columns)
    monkeypatch.setattr(up_module, "is_own", lambda *_: True)
    here = Up(pid=1, api_url="http://127.0.0.1:4200/api", money_url="http://127.0.0.1:4280")
    up_module._show(here, tmp_path, "is up")
    lines = capsys.readouterr().out.splitlines()
    assert f'         export PREFECT_API_AUTH_STRING="$(cat {password_file(tmp_path)})"' in lines
    assert "         prefect deployment run gaelp/full-pipeline" in lines
    sentences = [line for line in lines if str(tmp_path) not in line]
    assert max(map(len, sentences)) <= columns
    assert all(line.startswith("  ") for line in lines[1:])
