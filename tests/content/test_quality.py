import pytest

from gaelp.content import load_policy
from gaelp.content.quality import score_quality, shown_length


@pytest.fixture
def parts(advert):
    limits = load_policy().quality

    def run(**changes):
        score, parts, findings = score_quality(advert(**changes), limits)
        return score, {part.name: part for part in parts}, [found.rule for found in findings]

    return run


@pytest.mark.parametrize(("text", "length"), [("", 0), ("abc", 3), ("面包", 4), ("ａ", 2), ("é", 1)])
def test_wide_characters_count_two(text, length):
    assert shown_length(text) == length


@pytest.mark.parametrize(
    ("headline", "description", "fits"),
    [("x" * 30, "y" * 90, True), ("x" * 31, "y" * 90, False), ("x" * 30, "y" * 91, False), ("面" * 16, "y", False)],
)
def test_what_is_longer_than_the_platform_shows_is_blocked(parts, headline, description, fits):
    _, found, rules = parts(headline=headline, description=description)
    assert (found["length"].score == 1) is fits
    assert ("quality-length" in rules) is not fits


def test_plain_words_read_easier_than_long_ones(parts):
    plain = parts(description="We bake good bread. You can buy it at noon.")[1]["readability"]
    heavy = parts(description="Organisational optimisation methodologies facilitate interdepartmental communication.")
    assert plain.score == 1
    assert heavy[1]["readability"].score < 0.1


def test_shouting_in_capitals_is_found(parts):
    _, found, rules = parts(headline="FRESH BREAD EVERY MORNING", description="BAKED BEFORE SUNRISE. ORDER")
    assert found["capitals"].score == 0
    assert "quality-capitals" in rules


def test_repeated_signs_are_found(parts):
    _, found, rules = parts(headline="Fresh Bread!!!", description="Order?? Now!!")
    assert found["punctuation"].score == 0
    assert "quality-punctuation" in rules
    assert parts()[1]["punctuation"].score == 1


def test_a_landing_page_about_something_else_is_found(parts):
    _, found, rules = parts(landing_text="Cheap flights to Lisbon and Porto with seats and bags.")
    assert found["landing-match"].score == 0
    assert "quality-landing-match" in rules
    assert parts()[1]["landing-match"].score == 1


def test_the_score_is_the_mean_of_its_parts(parts):
    score, found, _ = parts(headline="FRESH Bread")
    assert score == pytest.approx(sum(part.score for part in found.values()) / len(found))
