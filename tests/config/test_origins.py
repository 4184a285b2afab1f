from hypothesis import given
from hypothesis import strategies as st

from gaelp.config.origins import Layer, Merged

KEYS = st.sampled_from("abc")
TREES = st.recursive(
    st.integers() | st.lists(st.integers(), max_size=2), lambda inner: st.dictionaries(KEYS, inner, max_size=3)
)
LAYERS = st.lists(st.dictionaries(KEYS, TREES, max_size=3), max_size=4)


def merged(*trees):
    result = Merged()
    for number, tree in enumerate(trees):
        result.add(Layer("config", tree, lambda _, number=number: str(number)))
    return result


def test_mappings_are_merged_and_everything_else_is_replaced():
    result = merged({"a": {"x": 1, "y": [1, 2]}, "b": None}, {"a": {"y": [3]}, "b": {"z": 1}})
    assert result.values == {"a": {"x": 1, "y": [3]}, "b": {"z": 1}}
    assert {path: origin.place for path, origin in result.origins.items() if path} == {
        ("a",): "1",  # last changed there
        ("a", "x"): "0",
        ("a", "y"): "1",
        ("a", "y", 0): "1",
        ("b",): "1",
        ("b", "z"): "1",
    }


def test_a_section_that_is_switched_off_leaves_no_origin_behind():
    result = merged({"a": {"x": {"y": 1}}}, {"a": None}, {"a": {"z": 2}})
    assert result.values == {"a": {"z": 2}}
    assert ("a", "x", "y") not in result.origins


def test_a_key_without_origin_has_that_of_the_section_around_it():
    assert merged({"a": {"x": 1}}).origin(("a", "missing", "deeper")).place == "0"


@given(LAYERS)
def test_each_leaf_comes_from_the_last_layer_that_gives_it(trees):
    result = merged(*trees)
    for path, origin in result.origins.items():
        if not path:
            continue
        value = result.values
        for key in path:
            value = value[key]
        source = trees[int(origin.place)]
        for key in path:
            source = source[key]
        assert isinstance(value, dict) or value == source


@given(LAYERS)
def test_layers_are_not_changed_by_being_merged(trees):
    before = repr(trees)
    merged(*trees)
    assert repr(trees) == before
