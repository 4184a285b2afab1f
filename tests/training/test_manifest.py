import hashlib
import json
import platform
import re
import socket
import struct
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from gaelp.clock import ManualClock
from gaelp.errors import BadInput, ConfigError, DataError
from gaelp.training.manifest import (
    PACKAGES,
    Manifest,
    describe_run,
    package_versions,
    parameter_hash,
    read_commit,
    read_manifest,
    write_manifest,
)

START = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
PARAMETERS = {"body.weight": torch.arange(6.0).reshape(2, 3), "body.bias": torch.zeros(2), "scale": torch.tensor(1.5)}


def described(**changes):
    options = {"run_id": "run-7", "seed": 3, "config_hash": "ab" * 32, "parameters": PARAMETERS}
    options |= {"compile_mode": "off", "clock": ManualClock(START)}
    return describe_run(**options | changes)


def git(folder, *arguments):
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    command = ("git", "-C", str(folder), *identity, *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "code.py").write_text("x = 1\n")
    git(folder, "add", "code.py")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


# The parameter hash


def test_the_hash_is_over_a_line_of_name_type_and_shape_and_then_the_bits_of_each_in_order_of_names():
    text = b'["body.bias", "torch.float32", [2]]\n' + struct.pack("<2f", 0, 0)
    text += b'["body.weight", "torch.float32", [2, 3]]\n' + struct.pack("<6f", *range(6))
    text += b'["scale", "torch.float32", []]\n' + struct.pack("<f", 1.5)
    assert parameter_hash(PARAMETERS) == hashlib.sha256(text).hexdigest()


def test_order_of_names_and_layout_in_memory_do_not_change_the_hash():
    other = dict(reversed(PARAMETERS.items()))
    other["body.weight"] = PARAMETERS["body.weight"].T.contiguous().T
    assert parameter_hash(other) == parameter_hash(PARAMETERS)


def test_a_network_hashes_like_its_state():
    network = torch.nn.Linear(2, 3)
    assert parameter_hash(dict(network.named_parameters())) == parameter_hash(network.state_dict())


@pytest.mark.parametrize(
    "change",
    [
        {"scale": torch.tensor(np.nextafter(np.float32(1.5), np.float32(2)))},
        {"scale": torch.tensor(1.5, dtype=torch.float64)},
        {"scale": torch.tensor([1.5])},
        {"body.bias": torch.tensor([0.0, -0.0])},
        {"body.bias": torch.zeros(2, dtype=torch.int32)},
        {"body.bias": torch.zeros(4, dtype=torch.float16)},
        {"body.weight": PARAMETERS["body.weight"].reshape(3, 2)},
        {"body.weight": PARAMETERS["body.weight"].to(torch.bfloat16)},
        {"more": torch.zeros(0)},
    ],
    ids=range(9),
)
def test_any_other_bit_type_shape_or_name_changes_the_hash(change):
    assert parameter_hash(PARAMETERS | change) != parameter_hash(PARAMETERS)


def test_values_that_move_to_another_name_change_the_hash():
    one, other = torch.ones(2), torch.zeros(2)
    assert parameter_hash({"a": one, "b": other}) != parameter_hash({"a": other, "b": one})
    assert parameter_hash({"a": torch.zeros(2, 0)}) != parameter_hash({"a": torch.zeros(0, 2)})
    assert re.fullmatch("[0-9a-f]{64}", parameter_hash({}))


def test_the_same_seed_gives_the_same_hash_and_another_seed_another():
    def network(seed):
        torch.manual_seed(seed)
        return torch.nn.Linear(4, 4).state_dict()

    assert parameter_hash(network(1)) == parameter_hash(network(1)) != parameter_hash(network(2))


# What a manifest says


def test_a_manifest_says_what_the_run_was_made_of():
    manifest = described()
    assert manifest.run_id == "run-7"
    assert manifest.seed == 3
    assert manifest.config_hash == "ab" * 32
    assert manifest.parameter_hash == parameter_hash(PARAMETERS)
    assert manifest.python_version == platform.python_version()
    assert manifest.torch_threads == torch.get_num_threads()
    assert manifest.compile_mode == "off"
    assert manifest.created_at == START
    assert manifest.packages.keys() == set(PACKAGES)
    assert manifest.packages["torch"] == version("torch")


def test_packages_are_those_asked_for_and_one_that_is_not_installed_is_none():
    assert package_versions(["numpy", "no-such-package"]) == {"no-such-package": None, "numpy": version("numpy")}
    assert described(packages=["numpy"]).packages == {"numpy": version("numpy")}


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"run_id": "/home/me/run"}, "run_id"),
        ({"run_id": "../run"}, "run_id"),
        ({"run_id": ""}, "run_id"),
        ({"seed": -1}, "seed"),
        ({"config_hash": "AB" * 32}, "config_hash"),
        ({"compile_mode": "a b"}, "compile_mode"),
    ],
)
def test_what_does_not_belong_into_a_manifest_is_refused_by_key(changes, seen):
    with pytest.raises(BadInput, match=seen):
        described(**changes)


def test_a_manifest_names_no_place_of_the_machine_and_nothing_of_its_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GAELP_SOME_TOKEN", "sesame-4711")
    write_manifest(tmp_path / "manifest.json", described())
    text = (tmp_path / "manifest.json").read_text()
    here = Path(__file__).resolve()
    for private in ("sesame-4711", str(tmp_path), str(here.parents[2]), str(Path.home()), socket.gethostname()):
        assert private not in text
    assert not re.search(r'"[/~]', text)


# The commit


def test_the_commit_is_that_of_the_repository_and_clean_until_something_changes(repository):
    commit = git(repository, "rev-parse", "HEAD")
    assert read_commit(repository).model_dump() == {"commit": commit, "dirty": False}
    (repository / "new.py").write_text("")
    assert read_commit(repository).model_dump() == {"commit": commit, "dirty": True}
    (repository / "new.py").unlink()
    (repository / "code.py").write_text("x = 2\n")
    assert read_commit(repository).dirty is True
    assert described(repository=repository).source.commit == commit


def test_without_a_repository_of_its_own_or_without_a_commit_there_is_none(repository, tmp_path):
    inside = repository / "installed"
    inside.mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    for folder in (inside, empty, tmp_path / "absent"):
        assert read_commit(folder).model_dump() == {"commit": None, "dirty": None}


def test_without_git_there_is_no_commit_and_no_error(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_commit(repository).commit is None


@pytest.mark.parametrize("source", [{"commit": None, "dirty": True}, {"commit": "ab" * 20, "dirty": None}])
def test_a_commit_and_whether_it_is_dirty_are_known_together(source):
    with pytest.raises(ValidationError, match="give both, or None for both"):
        Manifest.model_validate(described().model_dump() | {"source": source})


# There and back


def test_a_written_manifest_reads_as_it_was(tmp_path):
    manifest = described()
    write_manifest(tmp_path / "run" / "manifest.json", manifest)
    assert read_manifest(tmp_path / "run" / "manifest.json") == manifest
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda values: values | {"version": 2}, "version"),
        (lambda values: values | {"seed": "3"}, "seed"),
        (lambda values: values | {"token": "sesame"}, "token.*unknown key"),
        (lambda values: {key: value for key, value in values.items() if key != "seed"}, "seed.*missing"),
        (lambda values: [values], "saw a list"),
    ],
    ids=["version", "type", "unknown", "missing", "list"],
)
def test_a_manifest_that_is_wrong_is_refused_by_file_and_key(tmp_path, change, seen):
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(change(described().model_dump(mode="json"))))
    with pytest.raises(DataError, match=rf"(?s)manifest\.json.*{seen}"):
        read_manifest(path)


@pytest.mark.parametrize("text", ["", "{", "\x00"])
def test_a_file_that_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json is no readable manifest"):
        read_manifest(tmp_path / "manifest.json")


def test_a_manifest_that_is_absent_or_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        read_manifest(tmp_path / "absent.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_manifest(tmp_path / "file" / "manifest.json", described())
