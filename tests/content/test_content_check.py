import pytest

from gaelp.config.places import find_file
from gaelp.content import Audience, ContentChecker, Creative, creative_hash, load_brand, load_policy
from gaelp.content.look_alikes import load_look_alikes
from gaelp.errors import ComponentMissing, ConfigError


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


@pytest.mark.parametrize(
    "field", ["advertiser", "headline", "description", "display_url", "landing_url", "landing_text", "language"]
)
@pytest.mark.parametrize("empty", ["", " \t"])
def test_a_missing_field_is_never_allowed(checker, advert, field, empty):
    verdict = checker.check(advert(**{field: empty}))
    assert verdict.outcome != "allow"
    assert any(one.rule == "missing-field" and one.field == field for one in verdict.findings)


def test_a_creative_that_is_nothing_but_a_name_is_blocked(checker):
    assert checker.check(Creative(id="empty")).outcome == "block"


@pytest.mark.parametrize("language", ["de", "xx", "english", "e n"])
def test_a_language_the_rules_do_not_know_waits_for_a_person(checker, advert, language):
    verdict = checker.check(advert(language=language))
    assert (verdict.outcome, rules(verdict)) == ("review", {"unknown-language"})


def test_another_script_under_the_name_of_english_waits_for_a_person(checker, advert):
    assert "foreign-script" in rules(checker.check(advert(headline="Свежий хлеб каждый день")))


@pytest.mark.parametrize(
    "text",
    [
        "Heilt Krebs garantiert",
        "Jetzt Waffen günstig kaufen",
        "Verdienen Sie viel Geld",
        "Gagnez votre argent vite",
        "Gana dinero rápido en casa",
        "Guadagna soldi subito",
        "Geneest kanker zonder pijn",
        "Ganhe dinheiro hoje",
    ],
)
@pytest.mark.parametrize("field", ["headline", "description", "landing_text"])
def test_another_language_under_the_name_of_english_waits_for_a_person(checker, advert, field, text):
    verdict = checker.check(advert(**{field: text}))
    assert verdict.outcome == "review"
    assert [one.field for one in verdict.findings if one.rule == "mislabelled-language"] == [field]


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


def test_hidden_characters_and_mixed_alphabets_are_findings_of_their_own(checker, advert):
    assert "hidden-character" in rules(checker.check(advert(headline="Fresh Br\u200bead Every Day")))
    assert "mixed-scripts" in rules(checker.check(advert(headline="Fresh Breаd Every Day")))
    assert checker.check(advert(headline="Fresh Bread 👩\u200d🍳 Café")).outcome == "allow"


def test_a_forbidden_term_is_seen_in_every_text_people_read(checker, advert):
    for field in ("headline", "description", "call_to_action", "display_url", "landing_text"):
        creative = advert(**{field: f"{getattr(advert(), field)} casino"})
        found = [one for one in checker.check(creative).findings if one.rule == "gambling"]
        assert [(one.field, one.excerpt, one.severity) for one in found] == [(field, "casino", "block")]


def test_a_term_cut_by_a_space_waits_for_a_person(checker, advert):
    verdict = checker.check(advert(headline="Our cas ino opens"))
    assert [(one.excerpt, one.severity) for one in verdict.findings if one.rule == "gambling"] == [
        ("cas ino", "review")
    ]


def test_any_edit_makes_another_creative_and_another_case(checker, advert):
    edits = {"headline": "Fresh Bread Every Day", "landing_url": "https://www.shop.example/b", "language": "en"}
    before = checker.check(advert())
    for field, value in edits.items():
        after = checker.check(advert(**{field: value}))
        assert after.creative_hash != before.creative_hash == creative_hash(advert())
        assert after.case != before.case


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("    why: Words made to demean a group of people.\n", "", "why"),
        ("    severity: block\n", "    severity: maybe\n", "severity"),
        ("id: slurs", "id: swearing", "swearing"),
        ("review_from: 0.6", "review_from: 0.99", "review_from"),
        ("languages: [en]", "languages: [en, sv]", "common_words: none for sv"),
    ],
)
def test_a_policy_that_is_wrong_is_refused_with_its_reason(tmp_path, old, new, seen):
    text = find_file("policy", "content").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "policy.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=seen):
        load_policy(str(path))
