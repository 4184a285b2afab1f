import contextlib
import hashlib
import json
import math
import os
import resource
import stat
import struct
from datetime import UTC, datetime

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save

from gaelp.errors import BadInput, DataError, GaelpError, Refused
from gaelp.training import checkpoint
from gaelp.training.checkpoint import Header, load
from gaelp.training.checkpoint import save as save_checkpoint

CONFIG, OTHER_CONFIG = "ab" * 32, "cd" * 32
HEADER = Header(serial=3, step=1200, config_hash=CONFIG, created_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
STATE = {
    "policy": {"weight": torch.arange(6.0).reshape(2, 3), "bias": torch.tensor([math.nan, -0.0])},
    "replay": {"obs": np.arange(40, dtype=np.float32).reshape(10, 4), "done": np.array([True, False] * 5)},
    "rng": {"state": 2**127 + 5, "inc": 3},
    "rates": (1e-3, math.inf),
    "note": None,
}


@pytest.fixture
def path(tmp_path):
    save_checkpoint(tmp_path / "one.safetensors", STATE, HEADER)
    return tmp_path / "one.safetensors"


def plain(state):
    """A state as text that is equal only if it is the same in every bit."""
    match state:
        case torch.Tensor():
            return f"{state.dtype}{tuple(state.shape)}{state.numpy().tobytes().hex()}"
        case np.ndarray():
            return f"{state.dtype}{state.shape}{state.tobytes().hex()}"
        case dict():
            return str([(key, plain(value)) for key, value in state.items()])
        case tuple():
            return str(tuple(map(plain, state)))
    return repr(state)


def sealed(content):
    """The bytes of a file with a seal that holds, as somebody who knows the format could make them."""
    place = content.index(b'-1":"') + 5
    content = bytearray(content)
    content[place : place + 64] = b"0" * 64
    content[place + 65 : place + 85] = f"{len(content):020}".encode()
    content[place : place + 64] = hashlib.sha256(bytes(content)).hexdigest().encode()
    return bytes(content)


# There and back


def test_a_checkpoint_comes_back_bit_for_bit_with_its_header(path):
    loaded = load(path)
    assert plain(loaded.state) == plain(STATE)
    assert loaded.header == HEADER
    assert loaded.path == path


def test_a_checkpoint_is_a_safetensors_file_that_any_tool_opens(path):
    arrays = load_file(path)
    assert arrays["0:policy/weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert json.loads(arrays["state"].tobytes())


def test_the_seal_is_the_hash_of_the_whole_file_with_zeros_in_its_place(path):
    content = path.read_bytes()
    assert content[8:].startswith(b'{"__metadata__":{"gaelp-checkpoint-1":"')
    assert sealed(content) == content


def test_the_same_state_makes_the_same_file(path, tmp_path):
    save_checkpoint(tmp_path / "two.safetensors", STATE, HEADER)
    assert (tmp_path / "two.safetensors").read_bytes() == path.read_bytes()


def test_only_the_checkpoint_stays_in_the_folder_and_it_names_no_place(path, tmp_path):
    assert [entry.name for entry in tmp_path.iterdir()] == ["one.safetensors"]
    assert str(tmp_path).encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_checkpoint_replaces_the_one_of_the_same_name(path):
    save_checkpoint(path, {"new": 1}, HEADER)
    assert load(path).state == {"new": 1}


def test_a_state_without_arrays_and_a_single_value_can_be_saved(tmp_path):
    save_checkpoint(tmp_path / "x", 5, HEADER)
    assert load(tmp_path / "x").state == 5


def test_a_state_that_cannot_be_saved_leaves_the_file_alone(path):
    before = path.read_bytes()
    with pytest.raises(BadInput, match="saw a set"):
        save_checkpoint(path, {"x": {1}}, HEADER)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


# Damage


def flipped(content, rng, count):
    changed = bytearray(content)
    for place in rng.choice(len(content) * 8, size=count, replace=False):
        changed[place // 8] ^= 1 << int(place % 8)
    return bytes(changed)


def swapped(content, start, end):
    width = min(64, end - start, len(content) - end)
    one, other = content[start : start + width], content[end : end + width]
    return content[:start] + other + content[start + width : end] + one + content[end + width :]


DAMAGE = {
    "one bit": lambda content, start, end, rng: flipped(content, rng, 1),
    "many bits": lambda content, start, end, rng: flipped(content, rng, 40),
    "end cut off": lambda content, start, end, rng: content[:start],
    "start cut off": lambda content, start, end, rng: content[start + 1 :],
    "part cut out": lambda content, start, end, rng: content[:start] + content[end:],
    "part repeated": lambda content, start, end, rng: content[:end] + content[start:end] + content[end:],
    "blocks swapped": lambda content, start, end, rng: swapped(content, start, end),
    "bytes appended": lambda content, start, end, rng: content + rng.bytes(1 + start % 100),
    "range zeroed": lambda content, start, end, rng: content[:start] + bytes(end - start) + content[end:],
    "range of noise": lambda content, start, end, rng: content[:start] + rng.bytes(end - start) + content[end:],
}


def damaged(content, rng):
    """Content that differs by some kind of damage at a random place."""
    changed = content
    while changed == content:
        start, end = sorted(map(int, rng.choice(len(content), size=2, replace=False)))
        changed = DAMAGE[rng.choice(list(DAMAGE))](content, start, end, rng)
    return changed


def test_none_of_a_thousand_damaged_checkpoints_loads(path):
    content, rng = path.read_bytes(), np.random.default_rng(20260301)
    target = path.with_name("damaged.safetensors")
    for _ in range(1000):
        target.write_bytes(damaged(content, rng))
        with pytest.raises(DataError, match=r"damaged\.safetensors is refused: .+newest whole checkpoint"):
            load(target)


def test_no_flipped_bit_of_the_start_and_its_seal_goes_unseen(path):
    content = path.read_bytes()
    target = path.with_name("flipped")
    for place in range(8 * 140):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        target.write_bytes(changed)
        with pytest.raises(DataError, match="flipped is refused"):
            load(target)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda content: b"", r"does not start like a checkpoint \(0 of"),
        (lambda content: content[:100], r"seal is damaged or cut off \(100 bytes\)"),
        (lambda content: content[:-1], r"holds (\d+) bytes, (\d+) were written: it was cut off"),
        (lambda content: content + b"\n", "were written: it was added to"),
        (
            lambda content: content[:-1] + b"\xff",
            "content has the sha256 [0-9a-f]{64}, it was sealed with [0-9a-f]{64}",
        ),
        (lambda content: content.replace(b"checkpoint-1", b"checkpoint-2"), "format version 2, this release reads 1"),
        (lambda content: b"PK\x03\x04" + content, "does not start like a checkpoint"),
        (lambda content: content.replace(b'\\"step\\":1200', b'\\"step\\":9999'), "damaged or changed"),
    ],
    ids=["empty", "seal cut", "cut", "added", "bit", "version", "other file", "step edited"],
)
def test_the_refusal_says_what_is_wrong(path, change, seen):
    content = path.read_bytes()
    assert change(content) != content
    path.write_bytes(change(content))
    with pytest.raises(DataError, match=rf"one\.safetensors is refused: .*{seen}"):
        load(path)


def test_a_plain_safetensors_file_and_a_pickle_are_no_checkpoints(tmp_path):
    (tmp_path / "weights").write_bytes(save({"w": np.zeros(3)}))
    torch.save({"w": torch.zeros(3)}, tmp_path / "pickle")
    for name in ("weights", "pickle"):
        with pytest.raises(DataError, match=f"{name} is refused: it does not start like a checkpoint"):
            load(tmp_path / name)


@pytest.mark.parametrize("name", ["absent", "."])
def test_what_is_not_a_readable_file_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=r"cannot be read: (No such file|Is a directory)"):
        load(tmp_path / name)


# A seal made by somebody else


def forged(header=None, arrays=None, key="gaelp-checkpoint-1"):
    header = HEADER.model_dump_json() if header is None else header
    arrays = {"state": np.frombuffer(b"[1]", dtype=np.uint8)} if arrays is None else arrays
    return sealed(save(arrays, metadata={key: f"{0:064} {0:020} {header}"}))


def test_a_forged_file_of_the_right_form_loads(tmp_path):
    (tmp_path / "forged").write_bytes(forged())
    assert load(tmp_path / "forged").state == [1]


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (forged(header="{"), "header is not JSON"),
        (forged(header="[]"), "header is not a mapping"),
        (forged(header="{}"), "required key is missing"),
        (forged(header=HEADER.model_dump_json().replace("1200", "-1")), "step"),
        (forged(header=HEADER.model_dump_json().replace("{", '{"code": "import os",')), "unknown key"),
        (forged(arrays={"0:a": np.zeros(2)}), "does not say how its arrays make up a state"),
        (forged(arrays={"state": np.zeros(3)}), "cannot be read"),
        (forged(arrays={"state": np.frombuffer(b'{"pickle": "x"}', dtype=np.uint8)}), "unknown kind"),
        (forged(arrays={"state": np.frombuffer(b'{"numpy": "a"}', dtype=np.uint8)}), "missing or used twice"),
        (forged(arrays={"state": np.frombuffer(b"[1]", dtype=np.uint8), "b": np.zeros(2)}), "does not say where"),
        (sealed(forged().replace(b'"U8"', b'"F8"')), "header"),
        (sealed(forged().replace(b'"shape":[3]', b'"shape":[4]')), "header"),
    ],
    ids=range(12),
)
def test_a_resealed_file_of_the_wrong_form_is_refused_all_the_same(tmp_path, content, seen):
    (tmp_path / "forged").write_bytes(content)
    with pytest.raises(DataError, match=rf"(?s)forged (is refused|cannot be read): .*({seen})"):
        load(tmp_path / "forged")


def test_resealed_damage_never_ends_in_anything_but_a_state_or_a_refusal(path):
    content, rng, refused = path.read_bytes(), np.random.default_rng(5), 0
    place = content.index(b'-1":"') + 5 + 86
    target = path.with_name("resealed")
    for _ in range(400):
        target.write_bytes(sealed(content[:place] + damaged(content[place:], rng)))
        try:
            load(target)
        except DataError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize(("dtype", "size"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("C64", 8), ("F4", 0.5)])
def test_array_types_that_only_other_programs_write_are_refused(tmp_path, dtype, size):
    header = json.dumps(
        {
            "__metadata__": {"gaelp-checkpoint-1": f"{0:064} {0:020} {HEADER.model_dump_json()}"},
            "a": {"dtype": dtype, "shape": [int(8 / size)], "data_offsets": [0, 8]},
            "state": {"dtype": "U8", "shape": [14], "data_offsets": [8, 22]},
        },
        separators=(",", ":"),
    ).encode()
    header += b" " * (-len(header) % 8)
    (tmp_path / "x").write_bytes(sealed(struct.pack("<Q", len(header)) + header + b"\x01" * 8 + b'{"numpy": "a"}'))
    with pytest.raises(DataError, match=f"x is refused: its array 'a' holds {dtype}; allowed: BOOL"):
        load(tmp_path / "x")


# Configuration


def test_a_checkpoint_of_another_configuration_is_refused_with_both_hashes_unless_allowed(path):
    assert load(path, config_hash=CONFIG).header.step == 1200
    with pytest.raises(Refused, match=rf"one\.safetensors .*{CONFIG}, this run has {OTHER_CONFIG}"):
        load(path, config_hash=OTHER_CONFIG)
    assert load(path, config_hash=OTHER_CONFIG, allow_other_config=True).header.config_hash == CONFIG


# Writing that fails


def test_a_path_below_a_file_is_refused_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GaelpError, match=r"file/one cannot be written: (Not a directory|File exists)"):
        save_checkpoint(tmp_path / "file" / "one", STATE, HEADER)


@contextlib.contextmanager
def files_of_at_most(size):
    """As on a disk with that much room left: the system refuses to write on, in the middle of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_when_the_disk_takes_no_more_the_old_file_stays_and_the_error_says_so(path):
    with (
        pytest.raises(GaelpError, match=r"one\.safetensors cannot be written: .*File too large.* are untouched"),
        files_of_at_most(100_000),
    ):
        save_checkpoint(path, {"large": np.ones(1_000_000)}, HEADER)
    assert plain(load(path).state) == plain(STATE)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failure_while_the_file_is_made_safe_leaves_the_old_one_and_no_draft(path, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(GaelpError, match="cannot be written: No space left on device"):
        save_checkpoint(path, {"new": 1}, HEADER)
    monkeypatch.undo()
    assert plain(load(path).state) == plain(STATE)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_file_and_folder_are_made_safe_around_the_rename(tmp_path, monkeypatch):
    order, real_fsync, real_replace = [], os.fsync, os.replace

    def fsync(handle):
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_fsync(handle)

    def replace(*paths):
        order.append("rename")
        real_replace(*paths)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    save_checkpoint(tmp_path / "one", STATE, HEADER)
    assert order == ["file", "rename", "folder"]


def test_a_state_of_too_many_arrays_to_be_read_back_is_refused_when_it_is_saved(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_HEADER_BYTES_MAX", 500)
    with pytest.raises(BadInput, match="join small arrays into large ones"):
        save_checkpoint(path, {str(place): np.zeros(1) for place in range(20)}, HEADER)
    assert plain(load(path).state) == plain(STATE)
