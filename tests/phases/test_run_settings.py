"""A run keeps the settings it was begun with, whatever happens to the files."""

import hashlib
import json

import pytest
import yaml

from gaelp.config import load_settings
from gaelp.errors import BadInput, DataError
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.run_settings import keep_settings, read_settings

URL = "GAELP__BUDGET__DATABASE_URL"


@pytest.fixture
def mine(tmp_path):
    return tmp_path / "mine.yaml"


@pytest.fixture
def load(tmp_path, mine):
    def load(environ=None, **config):
        mine.write_text(yaml.safe_dump(config), encoding="utf-8")
        return load_settings(mine, overrides=[f"home={tmp_path}"], environ=environ or {})

    return load


@pytest.fixture
def run(tmp_path):
    return RunFolder(tmp_path, "r")


def test_a_file_edited_after_the_beginning_changes_nothing_and_is_named_with_its_keys(load, run, mine):
    begun = load(training={"rounds": 5}, evaluation={"episodes": 100})
    assert keep_settings(run, begun).differences == ()
    kept = keep_settings(run, load(training={"rounds": 7}, evaluation={"episodes": 100}))
    assert kept.settings == begun.settings
    [said] = kept.differences
    assert "mine.yaml" in said
    assert "training.rounds is 7 now; the run keeps 5" in said


def test_nothing_is_said_where_nothing_differs(load, run):
    keep_settings(run, load(training={"rounds": 5}))
    assert keep_settings(run, load(training={"rounds": 5})).differences == ()


def test_the_policy_of_the_gates_is_recorded_with_the_run(load, run):
    keep_settings(run, load(approvals={"policy": "live"}))
    assert not keep_settings(run, load(approvals={"policy": "sandbox"})).policy.sandbox
    assert read_settings(run).policy.quorum == 2


def test_a_policy_file_edited_after_the_beginning_changes_nothing(load, run, tmp_path):
    lax = {"quorum": 1, "sandbox": True, "valid_minutes_max": 5, "why": "x"}
    lax |= {"escalate_after_minutes": 1, "expire_after_minutes": 2}
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump(lax | {"quorum": 2, "sandbox": False}), encoding="utf-8")
    loaded = load(approvals={"policy": str(policy)})
    keep_settings(run, loaded)
    policy.write_text(yaml.safe_dump(lax), encoding="utf-8")
    assert not keep_settings(run, loaded).policy.sandbox


def test_a_secret_is_not_written_down_and_comes_from_the_environment(load, run):
    secret = "postgresql://ann:planted-secret@db/gaelp"
    keep_settings(run, load({URL: secret}))
    assert "planted-secret" not in run.settings.read_text(encoding="utf-8")
    kept = keep_settings(run, load({URL: secret.replace("db", "other")}))
    assert kept.settings.budget.database_url.get_secret_value().endswith("@other/gaelp")
    assert kept.differences == ()
    with pytest.raises(BadInput, match=f"there is none now: set {URL}"):
        keep_settings(run, load())


def test_a_record_that_cannot_be_read_is_named(load, run):
    keep_settings(run, load())
    run.settings.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="does not say which settings run 'r' was begun with"):
        keep_settings(run, load())


def edited(run, change):
    record = json.loads(run.settings.read_text(encoding="utf-8"))
    change(record)
    run.settings.write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["policy"].update(sandbox=True),
        lambda record: record["policy"].update(quorum=1),
        lambda record: record["values"]["approvals"].update(policy="sandbox"),
        lambda record: record["values"]["budget"].update(rules="other"),
    ],
)
def test_an_edited_record_is_refused(load, run, change):
    loaded = load(approvals={"policy": "live"})
    keep_settings(run, loaded)
    edited(run, lambda record: None)  # written in another form, it says the same
    read_settings(run)
    edited(run, change)
    for use in (lambda: read_settings(run), lambda: keep_settings(run, loaded)):
        with pytest.raises(DataError, match=r"settings\.json was edited: .* Restore it from a copy"):
            use()


def test_a_laxer_recorded_policy_does_not_hold_against_what_its_name_asks_for_now(load, run):
    loaded = load(approvals={"policy": "live"})
    keep_settings(run, loaded)

    def forge(record):  # as a record from before policies were covered, whose fingerprint says nothing of them
        record["policy"]["sandbox"] = True
        text = json.dumps(record["values"], sort_keys=True, separators=(",", ":"))
        record["fingerprint"] = hashlib.sha256(text.encode()).hexdigest()

    edited(run, forge)
    assert read_settings(run).policy.sandbox
    assert not read_settings(run).policy_in_force().sandbox
    assert not keep_settings(run, loaded).policy.sandbox
