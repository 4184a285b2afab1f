"""Keywords and topics: every text has one topic, every topic has texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.sandbox.topics import TOPICS, keywords_for, topic_of


@given(st.text())
def test_any_text_has_a_topic(text):
    assert 0 <= topic_of(text) < TOPICS


@pytest.mark.parametrize(
    "text", ["Running  Shoes", "[running shoes]", '"running shoes"', "+running +shoes", " RUNNING SHOES "]
)
def test_case_match_marks_and_spaces_do_not_matter(text):
    assert topic_of(text) == topic_of("running shoes")


def test_texts_keep_their_topics_between_versions():
    assert [topic_of(text) for text in ("running shoes", "trail shoes", "shoe repair", "boots")] == [5, 1, 4, 6]


@pytest.mark.parametrize("topic", range(TOPICS))
def test_a_topic_has_keywords_of_its_own(topic):
    texts = keywords_for(topic, 20, about="shoes")
    assert len(set(texts)) == 20
    assert all(topic_of(text) == topic and "shoes" in text for text in texts)


def test_a_topic_that_does_not_exist_and_too_many_texts_are_refused():
    with pytest.raises(BadInput, match="0 to 7"):
        keywords_for(8)
    with pytest.raises(BadInput, match="ask for at most as many"):
        keywords_for(0, 10_000)
