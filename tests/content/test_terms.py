import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.content.folding import fold, squeeze
from gaelp.content.terms import compile_exception, compile_terms, find

# Five or more letters, so that every disguise leaves enough to read.
WORDS = ["casino", "cocaine", "escort", "bullshit", "millionaire", "viagra", "counterfeit", "lose weight fast"]
PREFIXES = ["", "Get ", "Order the best: ", "100 "]
SUFFIXES = ["", " now", ", today.", "!"]


@pytest.fixture(scope="module")
def search(look_alikes):
    def run(text, *terms, unless=()):
        folded = squeeze(fold(text, look_alikes.shapes))
        found = find(folded, compile_terms(terms, look_alikes), [compile_exception(phrase) for phrase in unless])
        return [(text[slice(*folded.span(match.start, match.end))], match.form) for match in found]

    return run


@pytest.fixture(scope="module")
def compiled(look_alikes):
    return {word: compile_terms([word], look_alikes) for word in WORDS}


def excerpts(look_alikes, terms, text):
    folded = squeeze(fold(text, look_alikes.shapes))
    return [text[slice(*folded.span(match.start, match.end))] for match in find(folded, terms, ())]


@st.composite
def disguised(draw):
    """A forbidden term as one trick or another writes it, and the honest text around it."""
    word = draw(st.sampled_from(WORDS))
    trick = draw(st.sampled_from(["signs", "spaces", "hidden", "homoglyphs", "leet", "drawn out", "case", "wide"]))
    rng = draw(st.randoms(use_true_random=False))
    return draw(st.sampled_from(PREFIXES)), word, trick, rng, draw(st.sampled_from(SUFFIXES))


def apply(labelled, word, trick, rng):
    tricks = {
        "signs": labelled.signs,
        "spaces": labelled.spaced,
        "hidden": labelled.zero_width,
        "homoglyphs": labelled.homoglyphs,
        "leet": labelled.leet,
        "drawn out": labelled.repeated,
        "case": labelled.mixed_case,
        "wide": labelled.fullwidth,
    }
    return tricks[trick](word, rng)


@given(disguised())
@settings(max_examples=400, deadline=None)
def test_a_disguised_term_is_found_with_its_own_excerpt(labelled, look_alikes, compiled, case):
    before, word, trick, rng, after = case
    hidden = apply(labelled, word, trick, rng)
    found = excerpts(look_alikes, compiled[word], before + hidden + after)
    assert len(found) == 1, (trick, hidden)
    # Invisible characters and signs behind the last letter need not be part of the excerpt.
    assert hidden.startswith(found[0])
    assert len(found[0]) >= len(hidden) - 2


@given(st.sampled_from(WORDS), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_two_tricks_at_once_do_not_help(labelled, look_alikes, compiled, word, rng):
    hidden = labelled.zero_width(labelled.homoglyphs(labelled.leet(word, rng), rng), rng)
    assert len(excerpts(look_alikes, compiled[word], f"Get {hidden} now")) == 1


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("classic assess asset passage Assam brass bass", ["ass", "asses"]),
        ("Essex Sussex Middlesex sextant", ["sex"]),
        ("cocktail cockatoo Hancock peacock", ["cock"]),
        ("analysis analyst canal banal", ["anal"]),
        ("Scunthorpe", ["cunt"]),
        ("Penistone", ["penis"]),
        ("grape drape therapist", ["rape", "rapist"]),
        ("a class as good as S-Class, as sold", ["ass"]),
        ("455 reviews, Galaxy A55, room 5ex", ["ass"]),
        ("it's hit after hit", ["shit"]),
        ("push-it button, fish it out", ["*shit*"]),
        ("good food", ["god", "fod"]),
        ("p.o.u.n.d.s", ["nudes"]),
        ("who receives it", ["whore*"]),
        ("with an AI", ["anal"]),
        ("we meet. # Next", ["meth"]),
        ("(until Monday)", ["cunt*"]),
        ("2^(s/5 - 1), 3%** and ***", ["ass", "xxx"]),
        ("s***t and c****** are not readable", ["shitstorm"]),
    ],
)
def test_honest_words_do_not_alarm(search, text, terms):
    assert search(text, *terms) == []


@pytest.mark.parametrize(
    ("text", "term", "excerpt", "form"),
    [
        ("kick ass now", "ass", "ass", "plain"),
        ("kick a$$ now", "ass", "a$$", "disguised"),
        ("kick @$$ now", "ass", "@$$", "disguised"),
        ("kick a s s now", "ass", "a s s", "disguised"),
        ("no sh*t here", "shit", "sh*t", "disguised"),
        ("no s**t here", "shit", "s**t", "disguised"),
        ("no sh it here", "shit", "sh it", "split"),
        ("via gra", "viagra", "via gra", "split"),
        ("Fuuuuuuuuuuuuuuck", "*fuck*", "Fuuuuuuuuuuuuuuck", "disguised"),
        ("motherfuckers", "*fuck*", "fuckers", "plain"),
        ("vlagra", "viagra", "vlagra", "disguised"),
        ("中casino中", "casino", "casino", "plain"),
        ("#makemoneyfast", "make money [fast|quick]", "makemoneyfast", "plain"),
        ("Make-money... quick", "make money [fast|quick]", "Make-money... quick", "plain"),
        ("earn $5,000 a week", "earn # a [day|week]", "earn $5,000 a week", "plain"),
        ("cures most kinds of cancer", "cures .. cancer", "cures most kinds of cancer", "plain"),
        ("100 percent safe", "100% safe", "100 percent safe", "plain"),
        ("an AR 15 kit", "AR-15", "AR 15", "plain"),
    ],
)
def test_a_term_is_found_as_written_and_in_disguise(search, text, term, excerpt, form):
    assert search(text, term) == [(excerpt, form)]


def test_a_number_of_words_in_between_is_bounded(search):
    assert search("cures a b c d cancer", "cures .. cancer") == []


def test_an_exception_covers_only_the_term_inside_it(search):
    assert search("a nail gun", "gun", unless=["nail gun*"]) == []
    assert search("nail-guns", "[gun|guns]", unless=["nail gun*"]) == []
    assert search("a nail gun and a gun", "gun", unless=["nail gun*"]) == [("gun", "plain")]
    assert search("a nail g-u-n", "gun", unless=["nail gun*"]) == [("g-u-n", "disguised")]


@pytest.mark.parametrize("bait", ["!", "1l|!", "f*u*", "a s ", "s$5z ", ". - ", "earn 1 1 ", "casi1l|!", "o0*()"])
def test_no_text_makes_the_search_slow(look_alikes, compiled, bait):
    terms = [term for found in compiled.values() for term in found]
    started = time.process_time()
    list(find(squeeze(fold(bait * (20_000 // len(bait)), look_alikes.shapes)), terms, ()))
    assert time.process_time() - started < 2
