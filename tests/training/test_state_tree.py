import ast
import collections
import contextlib
import enum
import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from gaelp.errors import BadInput, DataError
from gaelp.training.state_tree import flatten, unflatten

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]

arrays = st.sampled_from(DTYPES).flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, min_side=0)))
tensors = arrays.map(torch.tensor)
bfloats = npst.arrays("uint16", npst.array_shapes(min_dims=0)).map(lambda raw: torch.tensor(raw).view(torch.bfloat16))
scalars = st.sampled_from(DTYPES).flatmap(lambda dtype: npst.from_dtype(np.dtype(dtype)))
nan_bits = st.integers(0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF).map(
    lambda bits: struct.unpack(">d", bits.to_bytes(8))[0]
)
text = st.text(st.characters(), max_size=8)  # lone surrogates too
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(2**200), 2**200), st.floats(), nan_bits, text)
leaves |= st.one_of(arrays, tensors, bfloats, scalars)
states = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(text | st.integers(1 - 2**63, 2**63 - 1), inner, max_size=4),
    ),
    max_leaves=12,
)


def same(one, other):
    """Whether two states are equal in type, order and every bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and bits(one) == bits(other)
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return struct.pack(">d", one) == struct.pack(">d", other)
    return one == other


def bits(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


def there_and_back(state):
    return unflatten(*flatten(state))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(states)
def test_any_state_comes_back_in_type_order_and_every_bit(state):
    assert same(there_and_back(state), state)


@pytest.mark.parametrize(
    "state",
    [
        2**63,
        -(2**63),
        2**128 - 1,
        2**50_000,
        -0.0,
        math.nan,
        -math.inf,
        5e-324,
        True,
        1,
        1.0,
        "",
        "\ud800 /\x00",
        (),
        [],
        {},
        {1: "number", "1": "text"},
        {"dict": [1]},
        {"torch": "0:a"},
        ((1, [2, ()]), None),
        np.array(2**64 - 1, dtype=np.uint64),
        np.float64(0.1),
        np.bool_(True),
        np.zeros((3, 0, 2), dtype=np.int8),
        torch.tensor(7),
        torch.zeros(0),
        torch.tensor([1.5, math.nan, -0.0], dtype=torch.bfloat16),
        {"a/b": torch.zeros(2), "a": {"b": torch.ones(3)}, "ü\ud800": torch.zeros(1)},
    ],
    ids=lambda state: type(state).__name__,
)
def test_the_awkward_ones_come_back_as_they_were(state):
    assert same(there_and_back(state), state)


def test_views_come_back_whole_whatever_their_strides():
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    read_only = base.copy()
    read_only.flags.writeable = False
    state = [
        base.T,
        base[::-1, ::2],
        read_only,
        torch.tensor(base).T,
        torch.tensor(base)[:, 1],
        torch.ones(1).expand(3),
    ]
    assert same(there_and_back(state), state)


def test_what_comes_back_is_writable_and_shares_no_memory_with_the_state():
    tensor, array = torch.zeros(3), np.zeros(3)
    back = there_and_back({"once": tensor, "twice": tensor, "array": array})
    for name in back:
        back[name] += 1
    assert tensor.sum() == array.sum() == 0
    assert [float(value.sum()) for value in back.values()] == [3.0, 3.0, 3.0]


def test_a_network_and_its_optimizer_go_on_exactly_where_they_were():
    def trained(steps, state=None):
        torch.manual_seed(0)
        network = torch.nn.Linear(3, 2)
        optimizer = torch.optim.Adam(network.parameters(), betas=(0.8, 0.9))
        if state:
            network.load_state_dict(state["network"])
            optimizer.load_state_dict(state["optimizer"])
        for _ in range(steps):
            optimizer.zero_grad()
            network(torch.ones(4, 3)).square().sum().backward()
            optimizer.step()
        return {"network": network.state_dict(), "optimizer": optimizer.state_dict()}

    halfway = there_and_back(trained(3))
    assert halfway["optimizer"]["param_groups"][0]["betas"] == (0.8, 0.9)
    assert same(there_and_back(trained(2, halfway)), there_and_back(trained(5)))


def test_the_plain_part_is_one_line_of_strict_ascii_json_and_the_same_each_time():
    state = {"ü": [1, 2.5, math.inf, 2**200, None], "w": torch.ones(2)}
    _, skeleton = flatten(state)
    assert skeleton.isascii()
    assert "\n" not in skeleton
    assert "Infinity" not in skeleton
    assert flatten(state)[1] == skeleton


def test_arrays_carry_the_path_they_stand_at():
    found, _ = flatten({"policy": [{"weight": np.zeros(1)}], "count": torch.tensor(1)})
    assert list(found) == ["0:policy/0/weight", "1:count"]


class Colour(enum.IntEnum):
    RED = 1


Pair = collections.namedtuple("Pair", "a b")
CIRCLE: list = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ({1, 2}, "saw a set"),
        (b"bytes", "saw a bytes"),
        (1j, "saw a complex"),
        (Colour.RED, "Colour"),
        (Pair(1, 2), "Pair"),
        (collections.defaultdict(list), "defaultdict"),
        (Path("x"), "Path"),
        (print, "builtin_function"),
        (torch.nn.Parameter(torch.ones(1)), r"Parameter.*\.detach"),
        (torch.ones(1, requires_grad=True), r"requires a gradient.*\.detach"),
        (torch.ones(1, dtype=torch.complex64), "complex64"),
        (torch.ones(1).to(torch.float8_e5m2), "float8_e5m2"),
        (torch.ones(2).to_sparse(), "sparse"),
        (torch.ones(2, device="meta"), "meta"),
        (np.ma.masked_array([1, 2]), "MaskedArray.*asarray"),
        (np.array(["a"]), "array of <U1"),
        (np.array([object()]), "array of object"),
        (np.array([1.0], dtype=">f8"), "array of >f8"),
        (np.datetime64("2026-01-01"), "datetime64"),
        (np.longdouble(1), "longdouble|float128"),
        ({(1, 2): 3}, "key that is a tuple"),
        ({True: 3}, "key that is a bool"),
        ({2**63: 3}, r"key that is a int; allowed: .*below 2\*\*63"),
        ({None: 3}, "key that is a NoneType"),
        (CIRCLE, "more than 100 levels deep, or holds itself"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_come_back_exactly_is_refused_with_its_place(value, seen):
    with pytest.raises(BadInput, match=rf"learner/3.*{seen}"):
        flatten({"learner": {3: value}})


@pytest.mark.parametrize(
    ("skeleton", "seen"),
    [
        ("{", "cannot be read"),
        ("[NaN]", "NaN, which is not JSON"),
        ("9" * 5000, "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ('{"pickle": "gASVAAAA"}', r"unknown kind \['pickle'\]"),
        ('{"int": "0x1", "float": "00"}', "unknown kind"),
        ("{}", "unknown kind"),
        ('{"int": 1}', "a int where text"),
        ('{"int": "zz"}', "cannot be read"),
        ('{"float": "00"}', "float of 1 bytes"),
        ('{"float": "zz"}', "cannot be read"),
        ('{"tuple": "ab"}', "a str where a list"),
        ('{"dict": {"a": 1}}', "a dict where a key and its value"),
        ('{"dict": [["a", 1, 2]]}', "a list where a key and its value"),
        ('{"dict": [["a", 1], ["a", 2]]}', "key 'a' twice"),
        ('{"dict": [[[], 1]]}', "neither text nor a whole number"),
        ('{"dict": [[true, 1]]}', "neither text nor a whole number"),
        ('{"numpy": "b"}', "'b' is missing or used twice"),
        ('[{"numpy": "a"}, {"torch": "a"}]', "'a' is missing or used twice"),
        ('{"numpy": ["a"]}', "a list where text"),
        ('{"numpy-scalar": "a"}', r"scalar 'a' has the shape \(2,\)"),
        ('{"torch-bfloat16": "a"}', "holds float64"),
        ("[1]", "does not say where its array 'a' belongs"),
    ],
    ids=lambda text: text[:24],
)
def test_a_plain_part_that_flatten_did_not_write_is_refused(skeleton, seen):
    with pytest.raises(DataError, match=seen):
        unflatten({"a": np.zeros(2)}, skeleton)


def test_an_array_of_objects_is_never_put_into_a_state():
    with pytest.raises(DataError, match="holds object"):
        unflatten({"a": np.array([object()])}, '{"numpy": "a"}')


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["int", "float", "tuple", "dict", "numpy", "torch", "numpy-scalar", "other"]), x
            )
        ),
    )
)
@settings(max_examples=100, deadline=None)
def test_no_json_makes_anything_but_a_state_or_a_clear_refusal(document):
    with contextlib.suppress(DataError):
        unflatten({"a": np.zeros(2)}, json.dumps(document))


CODE_RUNNERS = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


@pytest.mark.parametrize("module", ["checkpoint", "checkpoint_folder", "manifest", "state_tree"], ids=lambda name: name)
def test_no_module_on_the_way_of_a_checkpoint_can_run_code_from_a_file(module):
    source = Path(__file__).parents[2] / "gaelp" / "training" / f"{module}.py"
    tree = ast.parse(source.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name.split(".")[0] for name in imported} & CODE_RUNNERS
    assert not names & {"eval", "exec", "compile", "__import__", "getattr"}
    assert not attributes & {"torch.load", "torch.save", "np.load", "np.save", "torch.jit", "torch.package"}
