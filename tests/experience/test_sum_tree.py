import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.experience.sum_tree import SumTree

WEIGHTS = st.floats(0, 1e6)


@st.composite
def changes(draw):
    capacity = draw(st.integers(1, 40))
    change = st.lists(st.tuples(st.integers(0, capacity - 1), WEIGHTS), max_size=20)
    return capacity, draw(st.lists(change, min_size=1, max_size=5))


def changed(capacity, batches):
    """A tree after batches of changes, and the same numbers as a plain list."""
    tree, plain = SumTree(capacity), [0.0] * capacity
    for batch in batches:
        tree.set(np.array([i for i, _ in batch], np.int64), np.array([w for _, w in batch]))
        for index, weight in batch:
            plain[index] = weight
    return tree, plain


@settings(max_examples=100, deadline=None)
@given(changes())
def test_each_node_is_the_sum_of_its_children_and_the_last_value_of_an_index_stays(change):
    tree, plain = changed(*change)
    inner = np.arange(1, len(tree.nodes) // 2)
    assert np.array_equal(tree.nodes[inner], tree.nodes[2 * inner] + tree.nodes[2 * inner + 1])
    assert tree.get(np.arange(tree.capacity)).tolist() == plain
    assert tree.total == pytest.approx(sum(plain))


@settings(max_examples=100, deadline=None)
@given(change=changes(), share=st.floats(0, 1))
def test_a_height_finds_the_index_where_the_running_sum_passes_it(change, share):
    tree, plain = changed(*change)
    if not tree.total:
        return
    [index] = tree.find(np.array([share * tree.total]))
    assert plain[index] > 0
    before, slack = sum(plain[:index]), 1e-9 * tree.total
    assert before - slack <= share * tree.total <= before + plain[index] + slack


@settings(max_examples=50, deadline=None)
@given(changes())
def test_the_leaves_alone_give_the_same_tree_bit_for_bit(change):
    tree, _ = changed(*change)
    again = SumTree(tree.capacity)
    again.set(np.arange(tree.capacity), tree.get(np.arange(tree.capacity)))
    assert np.array_equal(again.nodes, tree.nodes)


def test_a_million_changes_leave_no_rounding_error_behind():
    tree, rng = SumTree(64), np.random.default_rng(0)
    for _ in range(500):
        tree.set(rng.integers(0, 64, 2000), 10.0 ** rng.uniform(-12, 12, 2000))
    tree.set(np.arange(64), np.zeros(64))
    assert tree.total == 0.0


class Counting(np.ndarray):
    """Counts the elements that are read and written."""

    touched = 0

    def __getitem__(self, key):
        Counting.touched += np.size(key)
        return np.asarray(self)[key]

    def __setitem__(self, key, value):
        Counting.touched += np.size(key)
        np.asarray(self)[key] = value


def touched(levels, rows=16):
    tree = SumTree(2**levels)
    tree.set(np.arange(2**levels), np.ones(2**levels))
    tree.nodes = tree.nodes.view(Counting)
    Counting.touched = 0
    tree.set(np.arange(rows), np.full(rows, 2.0))
    tree.find(np.arange(rows, dtype=float))
    return Counting.touched


def test_the_work_grows_with_the_logarithm_of_the_capacity():
    small, middle, large = (touched(levels) for levels in (5, 10, 15))
    assert large - middle == middle - small > 0
    assert large < 16 * 15 * 6


def test_what_is_no_weight_or_no_index_is_refused_and_nothing_is_written():
    tree = SumTree(3)
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match=f"{wrong} is no weight"):
            tree.set(np.array([0, 1]), np.array([1.0, wrong]))
    for index in (-1, 3):
        with pytest.raises(BadInput, match=r"outside 0\.\.2"):
            tree.set(np.array([0, index]), np.ones(2))
    assert not tree.nodes.any()
    with pytest.raises(BadInput, match="every number is zero"):
        tree.find(np.zeros(1))
    with pytest.raises(BadInput, match="capacity=0"):
        SumTree(0)
