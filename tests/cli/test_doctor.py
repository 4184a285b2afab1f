import json

import pytest

from gaelp.cli import doctor
from gaelp.cli.doctor_checks import DoctorCheck


@pytest.fixture
def without_imports(here, monkeypatch):
    """Leave out the import of each optional package in a process of its own, which takes seconds."""
    monkeypatch.setattr(doctor, "COMPONENTS", ())
    monkeypatch.setattr(doctor, "repository_root", lambda: here)


def test_the_doctor_finds_this_environment_fit_and_writes_nothing(here, gaelp, without_imports):
    result = gaelp("doctor", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["ok"] is True
    names = [check["name"] for check in report["checks"]]
    assert {"Python", "home", "disk", "port 4200", "packages", "RTBGym (bench peer)"} <= set(names)
    assert list(here.iterdir()) == []


def test_the_table_tells_the_way_out(gaelp, without_imports, monkeypatch):
    monkeypatch.setattr(doctor, "check_disk", lambda _: DoctorCheck("disk", "warning", "2.0 GB free", "free some"))
    result = gaelp("doctor")
    assert result.exit_code == 0
    assert "2.0 GB free" in result.stdout
    assert "disk: free some" in result.stdout


def test_something_required_that_is_broken_exits_1(gaelp, without_imports, monkeypatch):
    monkeypatch.setattr(doctor, "check_disk", lambda _: DoctorCheck("disk", "broken", "0.1 GB free"))
    result = gaelp("doctor", "--json")
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (1, False)


def test_a_home_that_cannot_be_written_exits_2_and_is_in_the_report(gaelp, without_imports):
    result = gaelp("doctor", "--json", GAELP_HOME="/proc/gaelp")
    home = next(check for check in json.loads(result.stdout)["checks"] if check["name"] == "home")
    assert (result.exit_code, home["status"]) == (2, "broken")
    assert "GAELP_HOME" in result.stderr


def test_the_doctor_takes_a_config(here, gaelp, without_imports):
    (here / "my.yaml").write_text("home: my.yaml\n")
    assert gaelp("doctor", "--config", "my.yaml").exit_code == 2


def test_without_constraints_the_ranges_are_still_checked(tmp_path, gaelp, without_imports, monkeypatch):
    monkeypatch.setattr(doctor, "pins_file", lambda: tmp_path / "constraints.txt")
    report = json.loads(gaelp("doctor", "--json").stdout)
    assert [check["status"] for check in report["checks"] if check["name"] in ("pins", "packages")] == ["warning", "ok"]
