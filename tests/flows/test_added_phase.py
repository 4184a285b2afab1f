"""A phase joins the pipeline by three files: its module, its gate, one line in the list."""

import filecmp
import json
import os
import subprocess
import sys

import pytest
import yaml

from gaelp.config.places import repository_root

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def differing(mine, theirs):
    """Files that are not the same in both trees."""
    compared = filecmp.dircmp(mine, theirs, ignore=["__pycache__"])
    names = [*compared.left_only, *compared.right_only, *compared.diff_files]
    for name in compared.common_dirs:
        names += differing(mine / name, theirs / name)
    return names


def test_a_phase_of_three_files_joins_the_flow_and_sees_what_the_first_proved(own_source, tmp_path):
    source = own_source.copy_source(tmp_path / "source")
    touched = own_source.add_phase(source, "history")
    assert len(touched) == 3
    changed = [name for tree in own_source.TREES for name in differing(source / tree, repository_root() / tree)]
    assert sorted(changed) == sorted(["declared.py", "history.py", "history.yaml", "kill_switch_of_tests.py"])
    recipe = {
        "algorithm": "ppo",
        "settings": {"network": {"hidden": [8]}, "steps_per_update": 24, "normalise_obs": True},
        "rule": "mpc",
        "arena": {"rows": 16, "validation_episodes": 8},
        "loop": {"rounds": 1, "validate_every": 1},
    }
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "GAELP_"))}
    environ = kept | {"GAELP_HOME": str(tmp_path / "home"), "PYTHONPATH": str(source)}
    words = ["run", "--config", "quick-test", "--approve", "auto", "--json", "--set", "training.agent=recipe.yaml"]
    words += ["--set", "training.tracking=false", "--set", "training.rounds=1"]
    done = subprocess.run(
        [sys.executable, "-m", "gaelp.cli", *words],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    simulated, second = json.loads(done.stdout)["phases"]
    assert (simulated["phase"], second["phase"]) == ("simulation", "history")
    assert second["text"] == f"saw simulation 1 {simulated['model_hash']}"
    assert (tmp_path / "home" / "runs" / second["run_id"] / "history" / "1" / "result.json").is_file()
    status = subprocess.run(
        [sys.executable, "-m", "gaelp.cli", "status", second["run_id"]],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "phase history, attempt 1: toy" in status
    assert "gate history, attempt 1" in status
