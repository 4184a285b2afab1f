"""`gaelp init` writes what works as generated: a valid configuration, and an agent that conforms and trains."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
import yaml

from gaelp.agents import agent_config, find_agent
from gaelp.agents.conformance import check_learner
from gaelp.config.places import repository_root
from gaelp.gates import load_gate
from gaelp.phases.data_evidence import without_data_rules

FILES = (
    "agents/mine/mine_agent.py",
    "agents/mine/pyproject.toml",
    "agents/mine/test_mine_agent.py",
    "configs/agents/mine.yaml",
    "gaelp.yaml",
)


@pytest.fixture
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def installed(gaelp, here, monkeypatch):
    """A project with the agent `mine`, installed as pip would: by the metadata that its build system makes."""
    assert gaelp("init", "--agent", "mine").exit_code == 0
    package = here / "agents/mine"
    made = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('.')"
    subprocess.run([sys.executable, "-c", made], cwd=package, check=True, capture_output=True, timeout=60)
    monkeypatch.syspath_prepend(package)
    yield here
    sys.modules.pop("mine_agent", None)


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def flat(values, above=""):
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def test_a_configuration_is_written_that_the_check_accepts(gaelp, here):
    result = gaelp("init", "shop")
    assert (result.exit_code, files_in(here)) == (0, ["shop/gaelp.yaml"])
    assert "Wrote shop/gaelp.yaml" in result.stderr
    assert "  cd shop\n  gaelp config check gaelp.yaml\n" in result.stdout
    assert gaelp("config", "check", "shop/gaelp.yaml").exit_code == 0
    assert yaml.safe_load((here / "shop/gaelp.yaml").read_text())["run"]["name"] == "shop"


def test_every_key_has_its_default_and_a_sentence(gaelp, here):
    gaelp("init", "shop")
    text = (here / "shop/gaelp.yaml").read_text()
    base = dict(flat(yaml.safe_load((repository_root() / "configs/base.yaml").read_text())))
    written = dict(flat(yaml.safe_load(text)))
    assert {key: value for key, value in written.items() if base[key] != value} == {
        "run.name": "shop",
        "run.until": "simulation",
    }
    values = [line for line in text.splitlines() if re.match(r" *\w+: \S", line)]
    assert [line for line in values if not re.search(r" # \w.{10,}", line)] == []
    assert {key.split(".")[0] for key in base} - {key.split(".")[0] for key in written} == {
        *("history", "pilot", "scale", "budget", "platform", "alerts", "api", "gateway")  # phases 2 to 4
    }


def test_a_folder_whose_name_no_run_may_have_leaves_the_name_my_project(gaelp, here):
    assert gaelp("init", "spring sale").exit_code == 0
    assert yaml.safe_load((here / "spring sale/gaelp.yaml").read_text())["run"]["name"] == "my-project"


@pytest.mark.parametrize("existing", FILES)
def test_nothing_is_overwritten_and_what_exists_is_named(gaelp, here, existing):
    (here / existing).parent.mkdir(parents=True, exist_ok=True)
    (here / existing).write_text("mine")
    result = gaelp("init", "--agent", "mine")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{existing} exists already, and nothing was written" in result.stderr
    assert (files_in(here), (here / existing).read_text()) == ([existing], "mine")


def test_a_write_that_fails_leaves_no_file(gaelp, here):
    (here / "agents").write_text("a file where a folder belongs")
    result = gaelp("init", "--agent", "mine")
    assert (result.exit_code, files_in(here)) == (2, ["agents"])
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("name", ["", "Mine", "1st", "my-agent", "class", "ppo", "qr_dqn", "a" * 41, "../up"])
def test_a_name_that_no_agent_may_have_is_refused(gaelp, here, name):
    result = gaelp("init", "--agent", name)
    assert (result.exit_code, files_in(here)) == (2, [])
    assert f"--agent: saw {name!r}; allowed:" in result.stderr


@pytest.mark.usefixtures("_one_thread")
def test_the_generated_agent_is_found_short_and_conforms(installed):
    kind = find_agent("mine")
    check_learner(kind, agent_config(kind, {"steps_per_update": 6}))
    source = (installed / "agents/mine/mine_agent.py").read_text()
    without_text = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    assert len([line for line in without_text.splitlines() if line.strip()]) < 60
    assert "tarter" not in "".join((installed / path).read_text() for path in FILES)


def test_the_generated_test_is_one_for_each_demand(installed):
    environ = {**os.environ, "PYTHONPATH": str(repository_root())}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:bqemulator",
            "--collect-only",
            "agents/mine",
        ],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    assert "test_conforms[BoxActions-it_learns]" in done.stdout


@pytest.mark.usefixtures("_one_thread")
def test_the_generated_agent_trains_and_beats_its_rule(gaelp, installed):
    gate = without_data_rules(load_gate("simulation"))  # what is tried here is training, not the jobs after it
    (installed / "gate.yaml").write_text(
        yaml.safe_dump(gate.model_dump(mode="json", exclude_none=True, exclude={"file"}))
    )
    words = ["train", "--config", "gaelp.yaml", "--json", "--run", "first"]
    small = {
        "market.name": "signals",
        "training.agent": "mine",
        "training.rounds": "5",
        "training.tracking": "false",
        "evaluation.episodes": "8",
        "gate.files.simulation": "gate.yaml",
    }
    result = gaelp(*words, *(word for key, value in small.items() for word in ("--set", f"{key}={value}")))
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learned"]


def test_every_name_gives_classes_that_hide_no_import(gaelp, here):
    for name in ("step", "tensor", "batch", "x"):
        assert gaelp("init", name, "--agent", name).exit_code == 0
        classes = re.findall(
            r"^class (\w+)", (here / name / f"agents/{name}/{name}_agent.py").read_text(), re.MULTILINE
        )
        assert classes == [f"{name.capitalize()}AgentConfig", f"{name.capitalize()}Agent"]
