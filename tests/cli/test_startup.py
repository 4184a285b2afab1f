"""What every command that does work does first."""

from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["train", "run", "up"])
def test_what_starts_a_run_refuses_a_name_that_does_not_exist_before_it_does_anything(gaelp, here, command):
    result = gaelp(command, "--set", "approvals.policy=nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --set: approvals.policy: 'nowhere' not found; searched: ")
    assert list(here.iterdir()) == []


@pytest.fixture
def open_home(here):
    home = here / "home"
    home.mkdir()
    home.chmod(0o755)
    return home


def mode_of(path):
    return path.stat().st_mode & 0o777


def test_a_home_that_others_could_enter_is_made_private_and_that_is_said_once(gaelp, open_home):
    said = [gaelp("violations", "list", GAELP_HOME=str(open_home)).stderr for _ in range(2)]
    assert mode_of(open_home) == 0o700
    assert ["now it is private (mode 700)" in text for text in said] == [True, False]


def test_a_home_whose_rights_cannot_be_changed_is_used_and_reported(gaelp, open_home, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    result = gaelp("violations", "list", GAELP_HOME=str(open_home))
    assert result.exit_code == 0
    assert "cannot be made private" in result.stderr


def test_a_stop_does_not_touch_the_rights_of_the_home(gaelp, open_home, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
    gaelp("kill", "because", GAELP_HOME=str(open_home))
    assert (open_home / "STOPPED").exists()
    assert mode_of(open_home) == 0o755
