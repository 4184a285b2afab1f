import json

import pytest

from gaelp.config import load_settings
from gaelp.config.places import repository_root


@pytest.mark.parametrize("name", ["development", "production", "quick-test", "staging"])
def test_shipped_configs_pass_the_check_by_name_and_by_path(gaelp, name):
    by_name = gaelp("config", "check", name)
    by_path = gaelp("config", "check", repository_root() / "configs" / f"{name}.yaml", "--json")
    assert (by_name.exit_code, by_path.exit_code) == (0, 0)
    assert json.loads(by_path.stdout)["hash"] in by_name.stdout


def test_a_check_says_in_plain_words_that_a_file_is_valid(gaelp):
    assert gaelp("config", "check", "production").stdout.startswith("production is valid. Hash ")


@pytest.mark.parametrize("key", ["training.agent", "approvals.policy", "budget.rules", "budget.signals", "budget.plan"])
def test_a_name_that_does_not_exist_fails_the_check(gaelp, key):
    result = gaelp("config", "check", "--set", f"{key}=nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--set: {key}: 'nowhere' not found; searched: " in result.stderr


def test_a_policy_that_asks_for_a_role_it_does_not_list_fails_the_check(here, gaelp):
    shipped = (repository_root() / "configs/approvals/live.yaml").read_text()
    (here / "own.yaml").write_text(shipped.replace("[finance, marketing]", "[finance, legal]"))
    result = gaelp("config", "check", "production", "--set", "approvals.policy=own.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the policy names the role legal, which known_roles does not list: add it there" in result.stderr


def test_a_check_without_a_name_checks_the_base(gaelp):
    result = gaelp("config", "check", "--json")
    assert json.loads(result.stdout) == {"config": "base", "hash": load_settings(environ={}).hash, "ok": True}


def test_a_check_writes_nothing(here, gaelp):
    assert gaelp("config", "check", "production").exit_code == 0
    assert list(here.iterdir()) == []


def test_where_money_can_move_a_value_that_is_missing_is_told_with_the_way_out(gaelp, installed_double):
    platform = ("--set", "platform.name=double", "--set", "platform.account=acc")
    result = gaelp("config", "check", *platform, "--set", "budget.loss_cap_micros=1")
    assert result.exit_code == 2
    assert "budget.conversion_value_micros is not set" in result.stderr
    values = ("--set", "budget.conversion_value_micros=1", "--set", "budget.loss_cap_micros=1")
    assert gaelp("config", "check", *platform, *values).exit_code == 0
    assert gaelp("config", "check", *platform, *values, "--set", "budget.rules=nowhere").exit_code == 2
    own = "budget.campaigns={spring: {conversion_value_micros: 2, loss_cap_micros: 0}}"
    assert gaelp("config", "check", *platform, "--set", own).exit_code == 0
