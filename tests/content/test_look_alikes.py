import pytest

from gaelp.content.look_alikes import LookAlikes


def test_a_shape_and_an_alphabet_give_the_letter_they_look_like(look_alikes):
    assert (look_alikes.shapes["а"], look_alikes.shapes["ο"]) == ("a", "o")


def test_plain_characters_are_not_listed_as_shapes():
    with pytest.raises(ValueError, match=r"letters.a: saw \['@'\]; allowed: characters beyond ASCII"):
        LookAlikes(why="a test", letters={"a": "@"}, alphabets=(), stand_ins={}, blots="*")
