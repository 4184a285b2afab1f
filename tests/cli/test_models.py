"""`gaelp models` lists, shows and checks versions, and promotes only what a gate let through."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from gaelp.phases.run_folder import RunFolder
from gaelp.phases.runs import RunRecord, note_run
from gaelp.types import RunId

BEGUN = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def world(registry_world, gate_evidence, databases, here):
    """A home with two approved runs and one that nobody has decided on."""
    made = registry_world.new_world(databases.quick_folder() / "models-home", here / "files", gate_evidence)
    for run in ("run-1", "run-2", "run-3"):
        record = {"config": None, "overrides": (), "driver": "train", "driver_id": ""}
        note_run(RunFolder(made.home, RunId(run)), RunRecord(run_id=run, begun_at=BEGUN, **record))
    for run in ("run-1", "run-2"):
        made.approve(run)
    verdict = made.verdict("run-3")
    made.ask(verdict)
    made.register("run-3", [verdict])
    return made


@pytest.fixture
def models(gaelp, world):
    """Run `gaelp models` in that home."""
    return lambda *args: gaelp("models", *args, "--set", f"home={world.home}", "--set", "run.name=shop")


def test_a_home_without_models_says_how_they_get_there(gaelp, here):
    (here / ".gaelp").mkdir(mode=0o700)
    assert "after it has passed a gate" in gaelp("models", "list").stdout
    assert json.loads(gaelp("models", "list", "--json").stdout) == {"versions": []}
    assert list((here / ".gaelp").iterdir()) == []  # nothing is made by looking
    refused = gaelp("models", "promote", "run-1", "--why", "because")
    assert (refused.exit_code, "registered no version" in refused.stderr) == (3, True)


def test_an_approved_run_becomes_champion_and_a_rollback_returns_to_the_one_before(models):
    done = models("promote", "run-1", "--why", "it passed", "--who", "ann")
    assert done.stdout.strip() == "Version 1 of shop is champion, because Ada approved gate simulation."
    assert json.loads(models("promote", "run-2", "--why", "better", "--json").stdout)["after"]["previous"] == 1
    listed = {entry["version"]: entry for entry in json.loads(models("list", "--json").stdout)["versions"]}
    assert {number: entry["aliases"] for number, entry in listed.items()} == {1: ["previous"], 2: ["champion"], 3: []}
    assert listed[3]["gates"] == {"simulation": "pass"}
    assert "Version 1 of shop is champion, again" in models("rollback", "--why", "it spends at night").stdout
    table = models("list").stdout
    assert [line.split()[:3] for line in table.splitlines()[2:]] == [
        ["shop", "3", "run-3"], ["shop", "2", "previous"], ["shop", "1", "champion"],
    ]  # fmt: skip


REFUSED = (
    (("promote", "run-3", "--why", "x"), 3, "nobody has decided"),
    (("promote", "run-9", "--why", "x"), 3, "run 'run-9' has registered no version"),
    (("promote", "run-1", "--why", "x", "--alias", "previous"), 2, "allowed: champion or challenger"),
    (("rollback", "--why", "x"), 3, "no previous champion"),
    (("rollback", "--why", "x", "--name", "other"), 2, "no model 'other' is registered: there are shop"),
    (("show", "7"), 2, "there are 1 to 3"),
    (("show", "best"), 2, "allowed: a number, champion, challenger, previous"),
    (("show",), 2, "no version of shop is champion yet"),
)


def test_what_cannot_be_done_is_refused_with_the_reason(models):
    for arguments, code, reason in REFUSED:
        refused = models(*arguments)
        assert (refused.exit_code, refused.stdout) == (code, ""), arguments
        assert reason in refused.stderr


def test_a_version_is_shown_with_verdicts_lineage_files_and_their_hashes(models, world):
    models("promote", "run-1", "--why", "it passed")
    shown = models("show").stdout
    for text in (
        "run-1, attempt 1",
        "simulation",
        "policy.bin",
        world.model_hash("run-1"),
        "approved by Ada",
        "Verified",
    ):
        assert text in shown
    values = json.loads(models("show", "champion", "--json").stdout)
    assert (values["verified"], values["aliases"], values["moves"][0]["approval"]["gate"]) == (
        True, ["champion"], "simulation",
    )  # fmt: skip
    assert values["manifest"]["lineage"] == {"run_id": "run-1", "attempt": 1, "parent": None}


def test_the_audit_log_has_every_version_and_every_move(models, gaelp, world):
    models("promote", "run-1", "--why", "it passed", "--who", "ann")
    home = ("--set", f"home={world.home}")
    assert gaelp("audit", "verify", *home).exit_code == 0
    assert "version 1 of shop is champion, by ann; approved by Ada" in gaelp("audit", "show", "--json", *home).stdout


def test_a_changed_file_is_named_and_the_exit_code_is_3(models, world):
    (world.home / "models/shop/1/files/policy.bin").write_bytes(b"other")
    shown = models("show", "1", "--json")
    assert (shown.exit_code, json.loads(shown.stdout)["verified"]) == (3, False)
    assert "files/policy.bin has 5 bytes" in shown.stderr
    assert models("promote", "run-1", "--why", "x").exit_code == 3
    assert models("show", "2").exit_code == 0


def test_an_alias_moved_in_mlflow_is_refused_until_mlflow_is_restored(models, world):
    models("promote", "run-1", "--why", "it passed")
    with closing(sqlite3.connect(world.home / "mlflow.db")) as database:
        database.execute("UPDATE registered_model_aliases SET version = 3")
        database.commit()
    refused = models("list")
    assert (refused.exit_code, "champion of shop is version 3; recorded is version 1" in refused.stderr) == (3, True)
    assert json.loads(models("restore", "--why", "a mistake", "--json").stdout) == {"restored": ["shop"]}
    assert json.loads(models("show", "--json").stdout)["manifest"]["version"] == 1
