import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput, DataError
from gaelp.training.rng_state import capture_rng, restore_rng
from gaelp.training.state_tree import flatten, unflatten


@pytest.fixture(autouse=True)
def global_generators_as_they_were():
    before = random.getstate(), torch.get_rng_state()
    yield
    random.setstate(before[0])
    torch.set_rng_state(before[1])


def sources(seed):
    return {
        "python": random,
        "python own": random.Random(seed),  # noqa: S311 - it is what is tested
        "market": np.random.default_rng(seed),
        "philox": np.random.Generator(np.random.Philox(seed)),
        "mersenne": np.random.Generator(np.random.MT19937(seed)),
        "sfc": np.random.Generator(np.random.SFC64(seed)),
        "torch": torch.default_generator,
        "torch own": torch.Generator().manual_seed(seed),
    }


def draws(found):
    """Draws of many kinds, some of which leave half a number behind in their generator."""
    values = []
    for source in found.values():
        if isinstance(source, np.random.Generator):
            values += [source.normal(), int(source.integers(9, dtype=np.uint32)), source.random(dtype=np.float32)]
        elif isinstance(source, torch.Generator):
            values += torch.randn(3, generator=source).tolist() + torch.randperm(5, generator=source).tolist()
        else:
            values += [source.gauss(0, 1), source.getrandbits(70), source.random()]
    values += [random.random(), float(torch.rand(()))]  # noqa: S311 - it is what is tested
    return values


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 3))
def test_restored_generators_draw_what_the_captured_ones_would_have(seed, warm_up):
    found = sources(seed)
    for _ in range(warm_up):
        draws(found)
    captured = unflatten(*flatten(capture_rng(found)))
    expected = [draws(found) for _ in range(3)]
    random.seed(99)
    torch.manual_seed(99)
    fresh = sources(seed ^ 1)
    restore_rng(fresh, captured)
    assert [draws(fresh) for _ in range(3)] == expected


def test_capturing_draws_nothing():
    one, other = np.random.default_rng(3), np.random.default_rng(3)
    capture_rng({"market": one})
    assert one.random() == other.random()


def test_generators_that_do_not_match_the_captured_names_are_refused():
    captured = capture_rng({"market": np.random.default_rng(1)})
    with pytest.raises(DataError, match=r"lacks \['agent'\] and holds \['market'\]"):
        restore_rng({"agent": np.random.default_rng(1)}, captured)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (np.random.Generator(np.random.Philox(1)), "'numpy PCG64', this run uses 'numpy Philox'"),
        (random, "this run uses 'python'"),
        (torch.Generator(), "this run uses 'torch cpu'"),
    ],
    ids=["numpy", "python", "torch"],
)
def test_a_generator_of_another_kind_is_refused(source, kinds):
    with pytest.raises(DataError, match=kinds):
        restore_rng({"market": source}, capture_rng({"market": np.random.default_rng(1)}))


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("market", {}),
        ("market", {"bit_generator": "PCG64", "state": {"state": "text", "inc": 1}, "has_uint32": 0, "uinteger": 0}),
        ("torch own", torch.zeros(3, dtype=torch.uint8)),
        ("torch own", torch.zeros(3)),
        ("torch own", None),
        ("python own", (3, (1, 2, 3), None)),
        ("python own", None),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_no_generator_is_left_changed(name, state):
    found, twins = sources(5), sources(5)
    captured = capture_rng(sources(6))
    captured[name]["state"] = state
    before = random.getstate(), torch.get_rng_state()
    with pytest.raises(DataError, match=rf"'{name}': the saved state does not fit"):
        restore_rng(found, captured)
    assert random.getstate() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    del found["python"], found["torch"], twins["python"], twins["torch"]
    assert draws(found)[:-2] == draws(twins)[:-2]


@pytest.mark.parametrize("saved", [None, {"kind": "numpy PCG64"}, {"kind": "other", "state": 1}])
def test_an_entry_that_capture_did_not_write_is_refused(saved):
    with pytest.raises(DataError, match="'market'"):
        restore_rng({"market": np.random.default_rng(1)}, {"market": saved})


@pytest.mark.parametrize("source", [7, np.random, torch])
def test_what_is_no_generator_is_refused_with_what_is_allowed(source):
    with pytest.raises(BadInput, match=r"'x': saw a .*; allowed: .*torch\.default_generator"):
        capture_rng({"x": source})
