"""`gaelp kill` stops whatever else is broken, pauses the platform and tells people."""

import json

import pytest

from gaelp.budget.latch import LATCH_NAME, Latch


@pytest.fixture
def home(here):
    folder = here / ".gaelp"
    folder.mkdir()
    return folder


def test_settings_that_cannot_be_read_do_not_keep_anybody_from_stopping(gaelp, home):
    result = gaelp("kill", "--set", "no.such.key=1")
    assert (result.exit_code, "Neither fence nor platform was reached" in result.stderr) == (1, True)
    assert Latch(home / LATCH_NAME).is_set()


def test_without_settings_and_home_it_says_that_nothing_is_stopped(gaelp, here):
    result = gaelp("kill", "--config", "no-such-config")
    assert (result.exit_code, "NOT STOPPED" in result.stderr) == (1, True)


def test_the_home_of_the_environment_is_stopped_too(gaelp, home, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert gaelp("kill", "--set", "no.such.key=1", GAELP_HOME=str(elsewhere)).exit_code == 1
    assert Latch(elsewhere / LATCH_NAME).is_set()


def test_what_runs_on_the_platform_is_paused(gaelp, home, installed_double):
    told = ("--set", f"home={home}", "--set", "platform.name=double", "--set", "platform.account=acc")
    result = gaelp("kill", "--json", *told)
    parts = {part["name"]: part["outcome"] for part in json.loads(result.stdout)["parts"]}
    assert parts == {"latch": "done", "fence": "none", "pause": "done"}


def test_a_platform_that_cannot_be_reached_is_told_and_all_the_same_it_is_stopped(gaelp, home, installed_double):
    told = ("--set", f"home={home}", "--set", "platform.name=broken", "--set", "platform.account=acc")
    result = gaelp("kill", *told)
    assert result.exit_code == 0
    assert "no credentials" in result.stdout
    assert Latch(home / LATCH_NAME).is_set()


def test_an_alert_that_cannot_be_sent_does_not_undo_the_stop(gaelp, home):
    url = "http://127.0.0.1:9/hook"  # nobody listens on the discard port
    told = ("--set", "alerts.first.webhook.attempts=1")
    result = gaelp("kill", *told, GAELP__ALERTS__FIRST__WEBHOOK__URL=url)
    assert result.exit_code == 0
    assert "The alert did not reach webhook" in result.stderr
    assert url not in result.stderr + result.stdout
    assert Latch(home / LATCH_NAME).is_set()


def test_the_stop_does_not_wait_for_what_is_heavy(gaelp_process):
    heavy = {"gaelp.platforms", "gaelp.content", "mlflow"}
    code = f"import sys; import gaelp.bootstrap; print(sorted({heavy} & set(sys.modules)))"
    assert gaelp_process("-c", code).stdout.strip() == "[]"
