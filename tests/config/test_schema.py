from typing import Annotated

import pytest
from pydantic import Field, SecretStr

from gaelp.config import Frozen
from gaelp.config.schema import holds_secret, keys_at, leaf_keys, secret_keys, types_at


class Inner(Frozen):
    number: int
    token: SecretStr | None = None


class Other(Frozen):
    word: str


class Outer(Frozen):
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    pair: tuple[int, Other] | None = None
    table: dict[str, list[Other]] = Field(default_factory=dict)
    either: Annotated[Inner | Other, Field()] | None = None
    plain: Annotated[int, Field(gt=0)] = 1


@pytest.mark.parametrize(
    ("path", "types"),
    [
        (("plain",), (int,)),
        (("inner",), (Inner,)),
        (("inner", "number"), (int,)),
        (("many", 3, "number"), (int,)),
        (("pair", 1, "word"), (str,)),
        (("pair", 5), ()),
        (("pair", "x"), ()),
        (("table", "any", 0, "word"), (str,)),
        (("either",), (Inner, Other)),
        (("either", "word"), (str,)),
        (("nothing",), ()),
        (("plain", "deeper"), ()),
    ],
)
def test_the_type_of_a_key_is_found_through_options_lists_and_mappings(path, types):
    assert types_at(Outer, path) == types


def test_the_keys_of_a_section_are_those_of_every_alternative():
    assert keys_at(Outer, ("either",)) == ("number", "token", "word")
    assert keys_at(Outer, ("plain",)) == ()


def test_leaves_and_secrets_are_found_through_optional_sections():
    assert ("inner", "number") in leaf_keys(Outer)
    assert ("inner",) not in leaf_keys(Outer)
    assert set(secret_keys(Outer)) == {("inner", "token"), ("either", "token")}


def test_a_section_with_a_secret_inside_holds_one():
    assert holds_secret(Outer)
    assert holds_secret(tuple[Inner, ...])
    assert not holds_secret(Other)
