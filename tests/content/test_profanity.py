import sys

import pytest

from gaelp.content import load_policy
from gaelp.content.policy import ProfanityLimits
from gaelp.content.profanity import load_scorer, score_profanity
from gaelp.content.readings import plain_readings
from gaelp.content.terms import compile_exception
from gaelp.errors import ComponentMissing

LIMITS = ProfanityLimits(review_from=0.5, block_from=0.9, together_with=("profanity",), why="a reason")


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("y0u st1nk", "you stink"),
        ("b1ue", "blue"),
        ("s.t.u.p.i.d idea", "stupid idea"),
        ("s t u p i d idea", "stupid idea"),
        ("stuuuuupid", "stupid"),
        ("ѕtυpid", "stupid"),
        ("Galaxy A55 for 455!", "galaxy a55 for 455!"),
    ],
)
def test_a_scorer_is_shown_the_plain_words(look_alikes, text, reading):
    assert reading in plain_readings(text, look_alikes)


def test_leetspeak_that_the_classifier_misses_is_seen_in_its_plain_reading(look_alikes, advert):
    scorer = load_scorer()
    text = "The best fuck1ng coffee"
    assert scorer([text])[0] < 0.5
    score, [found] = score_profanity(advert(headline=text), LIMITS, look_alikes, scorer)
    assert score > 0.9
    assert (found.field, found.excerpt, found.severity) == ("headline", text, "block")


@pytest.mark.parametrize(("score", "severity"), [(0.49, None), (0.5, "review"), (0.89, "review"), (0.9, "block")])
def test_the_limits_decide_between_nothing_review_and_block(look_alikes, advert, score, severity):
    _, found = score_profanity(advert(), LIMITS, look_alikes, lambda texts: [score] * len(texts))
    assert {one.severity for one in found} == ({severity} if severity else set())


def test_innocent_phrases_are_not_scored(look_alikes, advert):
    shown = []
    innocent = [compile_exception("moby dick")]
    creative = advert(headline="Moby Dick, Illustrated")
    score_profanity(creative, LIMITS, look_alikes, lambda texts: shown.extend(texts) or [0.0] * len(texts), innocent)
    assert not any("dick" in text.lower() for text in shown)
    assert any("illustrated" in text for text in shown)


def test_a_classifier_that_is_not_installed_is_named_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "profanity_check", None)
    with pytest.raises(ComponentMissing, match=r"alt-profanity-check 1.9 or later. Install it"):
        load_scorer()


def test_the_limits_of_the_policy_are_in_order():
    limits = load_policy().profanity
    assert 0 < limits.review_from < limits.block_from < 1
