"""A disguised text is also read in plain letters."""

import pytest

from gaelp.content.readings import plain_readings


@pytest.mark.parametrize(
    ("text", "reading"),
    [("v1agra", "viagra"), ("c.a.s.i.n.o", "casino"), ("freeeee", "fre"), ("Casino!", "casino!"), ("2026", "2026")],
)
def test_a_disguised_word_has_its_plain_reading(look_alikes, text, reading):
    assert reading in plain_readings(text, look_alikes)


def test_each_reading_is_there_once(look_alikes):
    readings = plain_readings("plain words", look_alikes)
    assert readings == ("plain words",)
