"""A text whose language the rules cannot read waits for a person."""

import pytest

from gaelp.content.language import script_of


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


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
    assert [finding.field for finding in verdict.findings if finding.rule == "mislabelled-language"] == [field]


@pytest.mark.parametrize(("letter", "script"), [("a", "LATIN"), ("ａ", "LATIN"), ("а", "CYRILLIC"), ("α", "GREEK")])
def test_the_script_of_a_letter_is_that_of_its_plain_form(letter, script):
    assert script_of(letter) == script
