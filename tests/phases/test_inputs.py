import shutil
from pathlib import Path

import pytest

from gaelp.config import load_settings
from gaelp.config.places import repository_root
from gaelp.config.schema import leaf_keys, types_at
from gaelp.config.settings import Settings
from gaelp.errors import ConfigError
from gaelp.phases.inputs import REFERENCES, check_inputs


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*overrides):
    check_inputs(load_settings(overrides=overrides, environ={}))


# Keys that hold text or a path and refer to nothing that could be missing.
REFER_TO_NOTHING = {
    *("home", "run.name", "platform.account", "api.host", "gateway.host"),
    *("storage.project", "storage.dataset"),
    *("history.name", "history.zone", "history.splits.held_out_key"),
    *(f"platform.google_ads.{name}" for name in ("customer_id", "login_customer_id", "endpoint")),
    *(f"platform.meta_ads.{name}" for name in ("account_id", "page_id", "business_id", "endpoint")),
    # A certificate appears when its sandbox is started for the first time.
    *("platform.google_ads.certificate", "platform.meta_ads.certificate"),
    *("personas.llm.endpoint", "personas.llm.model"),
    *("alerts.first.email.host", "alerts.first.email.user", "alerts.first.email.sender"),
    *("alerts.second.email.host", "alerts.second.email.user", "alerts.second.email.sender"),
}

# A name that does not exist, and the nearest that does.
MISSING = {
    "market.name": ("calmm", "calm"),
    "personas.set": ("person", "personas"),
    "training.agent": ("pppo", "ppo"),
    "training.curriculum": ("quik", "quick"),
    "approvals.policy": ("liv", "live"),
    "scale.rules": ("releas", "release"),
    "budget.rules": ("campain", "campaign"),
    "budget.signals": ("signal", "signals"),
    "budget.plan": ("singals", "signals"),
}


def test_the_shipped_files_are_valid(here):
    check()


def test_every_key_that_could_refer_to_something_is_resolved_or_known_to_refer_to_nothing():
    leaves = {".".join(path): types_at(Settings, path) for path in leaf_keys(Settings)}
    named = {key for key, types in leaves.items() if str in types or Path in types}
    assert named - REFERENCES.keys() == REFER_TO_NOTHING


@pytest.mark.parametrize("key", MISSING)
def test_a_name_that_does_not_exist_is_reported_with_line_key_what_exists_and_the_nearest(here, key):
    section, name = key.split(".")
    missing, nearest = MISSING[key]
    (here / "my.yaml").write_text(f"run: {{seed: 1}}\n{section}:\n  {name}: {missing}\n")
    with pytest.raises(ConfigError) as caught:
        check_inputs(load_settings("my.yaml", environ={}))
    assert str(caught.value).startswith(f"my.yaml:3: {key}: {missing!r} not found; searched: ")
    assert "Known names: " in str(caught.value)
    assert str(caught.value).endswith(f"Did you mean {nearest}?")


def test_a_platform_that_is_not_installed_is_reported_with_those_that_are(installed_double):
    with pytest.raises(ConfigError, match=r"--set: platform\.name: there is no platform 'duoble'; installed: .*double"):
        check("platform.name=duoble", "platform.account=acc")
    check("platform.name=double", "platform.account=acc")


def test_a_list_of_approvers_may_be_missing_but_not_wrong(here):
    check("approvals.trust=later.yaml")
    (here / "later.yaml").write_text("approvers: {ann: 3}\n")
    with pytest.raises(ConfigError, match=r"--set: approvals\.trust: later\.yaml:1: "):
        check("approvals.trust=later.yaml")


def test_a_file_of_another_kind_is_refused(here):
    with pytest.raises(ConfigError, match=r"--set: budget\.plan: .*signals\.yaml has none of the expected keys"):
        check("budget.plan=signals")


def test_each_wrong_file_is_reported_with_the_key_that_names_it(here):
    (here / "market.yaml").write_text("name: mine\nday: 3\n")
    with pytest.raises(ConfigError) as caught:
        check("market.name=market.yaml", "personas.set=nobody")
    assert "--set: market.name: market.yaml:2: day: unknown key" in str(caught.value)
    assert "--set: personas.set: 'nobody' not found" in str(caught.value)
    assert str(caught.value).endswith("Known names: personas.")


def test_a_persona_with_a_wrong_value_is_named(here):
    shutil.copytree(repository_root() / "configs" / "personas", here / "mine")
    persona = min((here / "mine").iterdir())
    persona.write_text(persona.read_text() + "\nshoe_size: 43\n")
    with pytest.raises(ConfigError, match=f"mine/{persona.name}:.*shoe_size: unknown key"):
        check("personas.set=./mine")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "simulaton: simulation",
            "there is no gate 'simulaton'; there are history, history-without-propensities, pilot, scale, simulation.",
        ),
        ("pilot: nowhere.yaml", "'nowhere.yaml' not found"),
        ("pilot: wrong.yaml", "wrong.yaml"),
    ],
)
def test_a_gate_file_that_no_run_could_use_is_reported_with_line_and_key(here, entry, message):
    (here / "wrong.yaml").write_text("name: pilot\nfollows: pilot\ncriteria: 3\n")
    (here / "my.yaml").write_text(f"gate:\n  files:\n    scale: pilot\n    {entry}\n")
    with pytest.raises(ConfigError) as caught:
        check_inputs(load_settings("my.yaml", environ={}))
    name = entry.partition(":")[0]
    assert str(caught.value).startswith(f"my.yaml:4: gate.files.{name}: ")
    assert message in str(caught.value)


def test_a_platform_without_its_account_is_reported_in_the_users_file(here):
    (here / "my.yaml").write_text("run: {seed: 1}\nplatform: {name: gogle}\n")
    with pytest.raises(ConfigError, match=r"^my\.yaml:2: platform: name and account belong together"):
        load_settings("my.yaml", environ={})
