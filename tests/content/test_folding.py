import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.content.folding import RUN_MAX, fold, squeeze

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)


@pytest.mark.parametrize(
    ("disguised", "read"),
    [
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("𝓶𝓪𝓽𝓱", "math"),
        ("Ⓒⓘⓡⓒⓛⓔ", "circle"),
        ("раураl", "paypal"),
        ("Ρrοfit", "profit"),
        ("zero\u200bwidth", "zerowidth"),
        ("bi\u202edi", "bidi"),
        ("so\u00adft", "soft"),
        ("e\u0301clair é", "eclair e"),
        ("ﬁne", "fine"),
        ("🅱🅾🅾", "boo"),
        ("𝗡ОТ\u2003ИEW", "not new"),
        ("STRASSE straße", "strasse strasse"),
    ],
)
def test_a_text_is_folded_to_what_the_eye_reads(disguised, read, look_alikes):
    assert fold(disguised, look_alikes.shapes).text == read


@given(ANY_TEXT)
@settings(max_examples=300, deadline=None)
def test_folding_twice_changes_nothing_more(look_alikes, text):
    once = fold(text, look_alikes.shapes).text
    assert fold(once, look_alikes.shapes).text == once


def test_every_single_character_of_the_common_blocks_folds_to_a_fixed_point(look_alikes):
    blocks = (range(0xD800), range(0xF900, 0x10500), range(0x1D400, 0x1D800), range(0x1F100, 0x1FB00))
    every = "".join(chr(code) for block in blocks for code in block)
    once = fold(every, look_alikes.shapes).text
    assert fold(once, look_alikes.shapes).text == once
    assert not any(unicodedata.category(one) in ("Cf", "Mn") for one in once)


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_each_folded_character_knows_the_one_it_came_from(look_alikes, text):
    folded = fold(text, look_alikes.shapes)
    assert len(folded.origins) == len(folded.text)
    assert list(folded.origins) == sorted(folded.origins)
    for place in range(len(folded.text)):
        start, end = folded.span(place, place + 1)
        assert folded.text[place] in fold(text[start:end], look_alikes.shapes).text


@given(st.text("ab \u200b", max_size=40))
@settings(max_examples=200, deadline=None)
def test_squeezing_shortens_runs_and_keeps_the_span_of_the_whole(look_alikes, text):
    folded = fold(text, look_alikes.shapes)
    squeezed = squeeze(folded)
    assert not any(one * (RUN_MAX + 1) in squeezed.text for one in "ab ")
    if folded.text:
        assert squeezed.span(0, len(squeezed.text)) == folded.span(0, len(folded.text))
    assert squeeze(squeezed) == squeezed
