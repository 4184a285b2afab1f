import pytest

from gaelp.config.problems import Problem, describe_value, dotted, raise_problems
from gaelp.errors import ConfigError, DataError


def test_a_key_path_is_written_with_dots_and_brackets():
    assert dotted(("landscapes", 2, "name")) == "landscapes[2].name"
    assert dotted(()) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ({"a": 1}, "a mapping of 1 keys"),
        ([1, 2], "a list of 2"),
        ("a", "'a'"),
        (7, "7"),
    ],
)
def test_a_value_is_described_as_a_file_would_hold_it(value, text):
    assert describe_value(value) == text


def test_a_long_value_is_cut():
    assert len(describe_value("x" * 1000)) == 61


def test_one_problem_is_the_message_and_several_are_counted_and_listed_once():
    seed, name = Problem("a.yaml:1", ("run", "seed"), "saw 'x'"), Problem("a.yaml", (), "not a mapping")
    with pytest.raises(ConfigError) as single:
        raise_problems([seed])
    assert str(single.value) == "a.yaml:1: run.seed: saw 'x'"
    with pytest.raises(DataError) as several:
        raise_problems([seed, name, seed], error=DataError)
    assert str(several.value).splitlines() == [
        "2 problems:",
        "  a.yaml:1: run.seed: saw 'x'",
        "  a.yaml: not a mapping",
    ]
    raise_problems([])
