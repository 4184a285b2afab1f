import pytest

from gaelp.content import Audience, ContentChecker, Creative, load_brand, load_policy
from gaelp.content.look_alikes import load_look_alikes
from gaelp.errors import ComponentMissing


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


def test_a_clean_creative_is_allowed_with_its_scores(checker, advert):
    verdict = checker.check(advert())
    assert (verdict.outcome, verdict.findings) == ("allow", ())
    assert 0 <= verdict.profanity < 0.5
    assert verdict.quality > 0.8
    assert {part.name for part in verdict.quality_parts} == {
        "length",
        "readability",
        "capitals",
        "punctuation",
        "landing-match",
    }
    assert all(part.explanation for part in verdict.quality_parts)


def test_a_creative_that_is_nothing_but_a_name_is_blocked(checker):
    assert checker.check(Creative(id="empty")).outcome == "block"


@pytest.mark.parametrize(("min_age", "outcome"), [(21, "allow"), (18, "allow"), (17, "block"), (None, "block")])
def test_alcohol_is_for_an_audience_known_to_be_adult(checker, advert, min_age, outcome):
    words = "Organic wine from small growers. Order a case online and collect it."
    creative = advert(description=words, landing_text=words, audience=Audience(min_age=min_age))
    assert checker.check(creative).outcome == outcome


def test_a_scorer_that_cannot_be_loaded_means_review(advert):
    def missing():
        raise ComponentMissing("not installed")

    checker = ContentChecker(load_policy(), load_look_alikes(), scorer_source=missing)
    verdict = checker.check(advert())
    assert (verdict.outcome, rules(verdict), verdict.profanity) == ("review", {"profanity-not-checked"}, None)


@pytest.mark.parametrize(
    "scorer",
    [
        lambda texts: [float("nan")] * len(texts),
        lambda texts: [-1.0] * len(texts),
        lambda texts: [0.0],
        lambda texts: 1 / 0,
    ],
)
def test_a_scorer_that_fails_or_talks_nonsense_means_block(advert, scorer):
    checker = ContentChecker(load_policy(), load_look_alikes(), scorer_source=lambda: scorer)
    verdict = checker.check(advert())
    assert (verdict.outcome, rules(verdict)) == ("block", {"profanity-not-checked"})


def test_an_exception_in_any_part_means_block_and_the_other_parts_still_speak(advert, monkeypatch):
    checker = ContentChecker(load_policy(), load_look_alikes(), scorer_source=lambda: lambda texts: [0.99] * len(texts))
    for name in (
        "check_form",
        "fold_fields",
        "fold_unseen",
        "apply_rules",
        "check_destination",
        "check_links",
        "check_brand",
        "score_quality",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"gaelp.content.check.{name}", lambda *_, **__: 1 / 0)
            verdict = checker.check(advert())
        assert verdict.outcome == "block"
        assert any(rule.endswith("-not-checked") for rule in rules(verdict)), name
        assert verdict.profanity == 0.99, name


@pytest.mark.parametrize("advertiser", ["nobody", "../content/policy", "demo-shop.yaml", "/etc/passwd", "a b"])
def test_an_advertiser_without_rules_of_its_own_waits_for_a_person(checker, advert, advertiser):
    verdict = checker.check(advert(advertiser=advertiser))
    assert (verdict.outcome, rules(verdict)) == ("review", {"unknown-advertiser"})


def test_rules_of_another_advertiser_are_not_borrowed(advert):
    checker = ContentChecker(load_policy(), load_look_alikes(), brand_of=lambda _: load_brand("demo-shop"))
    assert "unknown-advertiser" in rules(checker.check(advert(advertiser="other-shop")))
