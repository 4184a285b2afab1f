"""Which file judged is recorded with the verdict, and production is not judged by a file that was left lying about."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from gaelp.config import load_settings
from gaelp.config.places import repository_root
from gaelp.config.settings import GateSettings
from gaelp.errors import ConfigError
from gaelp.gates import Verdict, as_markdown, check_replay, evidence_hash, judge, load_gate

SHIPPED = repository_root() / "configs" / "gates"
PATIENCE = {"remind_hours": 1, "expire_hours": 2}
LENIENT = "at_least: 0.1"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A current folder whose configs/gates/ holds a simulation gate that asks for less."""
    folder = tmp_path / "configs" / "gates"
    folder.mkdir(parents=True)
    own = folder / "simulation.yaml"
    own.write_text((SHIPPED / "simulation.yaml").read_text(encoding="utf-8").replace("at_least: 0.7", LENIENT), "utf-8")
    monkeypatch.chdir(tmp_path)
    return own


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_verdict_names_the_file_that_judged_and_its_hash(project, passing, now):
    gate = load_gate("simulation")
    assert gate.file.model_dump() == {
        "path": "configs/gates/simulation.yaml",
        "origin": "project",
        "sha256": digest(project),
    }
    verdict = judge(gate, passing(gate), now)
    page = as_markdown(verdict)
    assert f"- rules: configs/gates/simulation.yaml (project, sha256 {digest(project)[:12]})" in page
    assert f"- hash of the rules: {digest(project)}" in page
    read = Verdict.model_validate_json(verdict.canonical_json(), strict=True)
    assert read.gate.file == gate.file
    check_replay(read)
    assert judge(read.gate, read.evidence, now).gate.file == gate.file


def test_a_shipped_gate_is_called_shipped():
    file = load_gate("simulation").file
    assert (file.origin, file.sha256) == ("shipped", digest(SHIPPED / "simulation.yaml"))


def test_the_shipped_source_refuses_a_file_that_would_replace_a_gate(project):
    with pytest.raises(ConfigError, match=r"would replace the shipped gate 'simulation'.*gate\.files\.simulation"):
        load_gate("simulation", GateSettings(**PATIENCE, source="shipped"))
    project.unlink()
    assert load_gate("simulation", GateSettings(**PATIENCE, source="shipped")).file.origin == "shipped"


def test_a_file_that_the_settings_name_judges_whatever_the_source(project):
    settings = GateSettings(**PATIENCE, source="shipped", files={"simulation": "configs/gates/simulation.yaml"})
    gate = load_gate("simulation", settings)
    assert (gate.criteria[0].threshold, gate.file.origin) == (0.1, "project")


@pytest.mark.parametrize(("config", "refused"), [("production", True), ("development", False)])
def test_production_allows_the_shipped_gates_alone(project, config, refused, monkeypatch):
    settings = load_settings(str(repository_root() / "configs" / f"{config}.yaml")).settings
    if refused:
        with pytest.raises(ConfigError, match="would replace the shipped gate"):
            load_gate("simulation", settings.gate)
    else:
        assert load_gate("simulation", settings.gate).criteria[0].threshold == 0.1


def test_the_file_is_no_part_of_what_is_approved(project, passing):
    own = load_gate("simulation")
    copy = project.with_name("copy.yaml")
    shutil.copy(project, copy)
    other = load_gate(copy)
    assert own.file != other.file
    assert own.asks_the_same(other)
    assert evidence_hash(own, passing(own)) == evidence_hash(other, passing(own))
    assert not own.asks_the_same(load_gate(SHIPPED / "simulation.yaml"))


def test_a_file_cannot_say_itself_where_it_comes_from(project):
    claim = {"path": "configs/gates/simulation.yaml", "origin": "shipped", "sha256": "0" * 64}
    project.write_text(f"{project.read_text(encoding='utf-8')}file: {json.dumps(claim)}\n", encoding="utf-8")
    assert load_gate("simulation").file.origin == "project"


FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "home-before-database" / "home" / "runs"


@pytest.mark.parametrize("path", sorted(FIXTURE.glob("*/simulation.json")), ids=lambda path: path.parent.name)
def test_a_verdict_from_before_files_were_recorded_is_read_and_keeps_its_hash(path):
    stored = json.loads(path.read_bytes())["verdict"]
    verdict = Verdict.model_validate(stored)
    assert verdict.gate.file is None
    assert evidence_hash(verdict.gate, verdict.evidence) == stored["evidence_hash"]
    check_replay(verdict)
    assert {"headroom_share", "last_50_z"} < {rule.metric for rule in verdict.gate.criteria}
    assert not verdict.gate.asks_the_same(load_gate("simulation"))  # so a run that was judged by it is judged again
