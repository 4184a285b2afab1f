"""What is missing, hidden or aimed at the wrong audience is a finding before any word is judged."""

import pytest

from gaelp.content import Audience


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


@pytest.mark.parametrize(
    "field", ["advertiser", "headline", "description", "display_url", "landing_url", "landing_text", "language"]
)
@pytest.mark.parametrize("empty", ["", " \t"])
def test_a_missing_field_is_never_allowed(checker, advert, field, empty):
    verdict = checker.check(advert(**{field: empty}))
    assert verdict.outcome != "allow"
    assert any(finding.rule == "missing-field" and finding.field == field for finding in verdict.findings)


@pytest.mark.parametrize(
    ("audience", "outcome"),
    [
        (Audience(), "review"),
        (Audience(min_age=12), "block"),
        (Audience(min_age=13), "allow"),
        (Audience(min_age=13, interests=("skating",)), "block"),
        (Audience(min_age=18, interests=("skating",)), "allow"),
        (Audience(min_age=30, max_age=20), "block"),
    ],
)
def test_the_age_of_the_audience_decides_too(checker, advert, audience, outcome):
    assert checker.check(advert(audience=audience)).outcome == outcome


def test_hidden_characters_and_mixed_alphabets_are_findings_of_their_own(checker, advert):
    assert "hidden-character" in rules(checker.check(advert(headline="Fresh Br\u200bead Every Day")))
    assert "mixed-scripts" in rules(checker.check(advert(headline="Fresh Breаd Every Day")))
    assert checker.check(advert(headline="Fresh Bread 👩\u200d🍳 Café")).outcome == "allow"
