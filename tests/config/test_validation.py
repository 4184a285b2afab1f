from typing import Literal

import pytest
from pydantic import Field, SecretStr

from gaelp.config.base import Frozen
from gaelp.config.problems import Problem
from gaelp.config.validation import validated
from gaelp.errors import ConfigError, DataError


class Inner(Frozen):
    rate: float = Field(gt=0, le=1)
    kind: Literal["first", "second"] = "first"


class Outer(Frozen):
    inner: Inner
    names: tuple[str, ...] = Field(default=(), min_length=0, max_length=2)
    key: SecretStr | None = None


def refusal(values, **more):
    with pytest.raises(ConfigError) as refused:
        validated(Outer, values, lambda _: "here", **more)
    return str(refused.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"inner": {"rate": 2}}, "here: inner.rate: saw 2; allowed: greater than 0 and at most 1."),
        ({"inner": {"rate": "1"}}, "here: inner.rate: saw '1'; allowed: a number greater than 0 and at most 1."),
        ({"inner": {}}, "here: inner.rate: required key is missing. Add it."),
        ({"inner": 3}, "here: inner: saw 3; allowed: a mapping with the keys rate, kind."),
        (
            {"inner": {"rate": 1, "kind": "frist"}},
            "here: inner.kind: saw 'frist'; allowed: 'first' or 'second'. Did you mean first?",
        ),
        (
            {"inner": {"rate": 1, "raet": 1}},
            "here: inner.raet: unknown key; allowed here: rate, kind. Did you mean inner.rate?",
        ),
    ],
)
def test_a_message_names_place_key_value_and_what_is_allowed(values, message):
    assert refusal(values) == message


def test_a_secret_is_not_shown():
    assert refusal({"inner": {"rate": 1}, "key": 12345}).startswith("here: key: saw a value (not shown);")


def test_problems_found_earlier_are_reported_together_with_the_new_ones():
    text = refusal({"inner": {"rate": 2}}, earlier=[Problem("there", (), "cut off")])
    assert text.splitlines()[:2] == ["2 problems:", "  there: cut off"]
    with pytest.raises(DataError):
        validated(Outer, {}, lambda _: "here", error=DataError)


def test_valid_values_become_the_model():
    assert validated(Outer, {"inner": {"rate": 1}}, lambda _: "here").inner.kind == "first"
