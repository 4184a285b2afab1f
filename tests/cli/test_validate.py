"""`gaelp validate` and `gaelp history plan` refuse what they cannot judge, with the way out."""

import json
import shutil

import pytest


@pytest.fixture(scope="module")
def trained_home(tmp_path_factory, history_home):
    folder = tmp_path_factory.mktemp("trained") / "home"
    settings = history_home.settings_of(folder)
    history_home.trained(settings, "passed")
    return folder, history_home


def test_without_a_trained_agent_the_command_says_how_to_get_one(gaelp, tmp_path):
    result = gaelp("validate", "--config", "quick-test", "--set", f"home={tmp_path / 'empty'}")
    assert result.exit_code == 2
    assert "gaelp train" in result.stderr


def test_an_agent_that_did_not_pass_gate_1_takes_no_look(gaelp, trained_home, tmp_path):
    folder, _ = trained_home
    shutil.copytree(folder, tmp_path / "home")
    path = next((tmp_path / "home").glob("runs/*/simulation/1/result.json"))
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["verdict"]["outcome"] = "fail"
    path.write_text(json.dumps(stored), encoding="utf-8")
    result = gaelp("validate", "--config", "quick-test", "--run", "passed", "--set", f"home={tmp_path / 'home'}")
    assert result.exit_code == 3
    assert "three times only" in " ".join(result.stderr.split())


def test_a_plan_needs_a_log(gaelp, tmp_path):
    result = gaelp("history", "plan", "--config", "quick-test", "--set", f"home={tmp_path / 'empty'}")
    assert result.exit_code == 2
    assert "gaelp data synthesize" in " ".join(result.stderr.split())


@pytest.mark.slow
def test_the_plan_of_a_synthesized_log_names_weeks_and_costs(gaelp, tmp_path, history_home):
    home = tmp_path / "home"
    settings = history_home.settings_of(home)
    history_home.provide(settings)
    options = [word for each in (f"home={home}", *history_home.SMALL) for word in ("--set", each)]
    result = gaelp("history", "plan", "--config", "quick-test", *options, "--json")
    assert result.exit_code == 0, result.stderr
    plan = json.loads(result.stdout)
    assert plan["campaigns"] == 6
    assert plan["own_spread"] == pytest.approx(0.4, abs=0.02)
    assert len(plan["spreads"]) == 4
