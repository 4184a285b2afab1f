import pytest

from gaelp.content.brand_rules import check_brand
from gaelp.content.policy import Brand, Disclaimer, NamedTerms, Tone, load_brand, load_policy
from gaelp.content.terms import compile_exception
from gaelp.content.text_rules import apply_rules, compile_rules, fold_fields

WHY = "a reason"


@pytest.fixture
def judge(look_alikes, advert):
    def run(brand_parts, **changes):
        creative = advert(**changes)
        brand = Brand(advertiser="demo-shop", allowed_domains=("shop.example",), why=WHY, **brand_parts)
        return check_brand(creative, brand, fold_fields(creative, look_alikes), look_alikes)

    return run


def test_a_competitor_is_found_even_in_disguise(judge):
    parts = {"competitors": NamedTerms(terms=("rivalmart",), why=WHY)}
    assert judge(parts) == []
    [found] = judge(parts, headline="Better than R1valMаrt")
    assert (found.rule, found.excerpt, found.severity, found.why) == ("competitor", "R1valMаrt", "block", WHY)


def test_a_required_sentence_is_asked_for_only_where_it_is_due(judge):
    wanted = Disclaimer(text="Terms apply.", field="landing_text", when=("prize draw",), why=WHY)
    parts = {"disclaimers": (wanted,)}
    assert judge(parts) == []
    [found] = judge(parts, headline="Join our prize draw")
    assert (found.rule, found.severity, found.field) == ("disclaimer", "block", "landing_text")
    assert judge(parts, headline="Join our prize draw", landing_text="Bread. TERMS\n apply. Now") == []


def test_a_sentence_without_a_condition_is_always_due(judge):
    wanted = Disclaimer(text="Capital at risk.", field="description", why=WHY)
    assert [found.rule for found in judge({"disclaimers": (wanted,)})] == ["disclaimer"]


@pytest.mark.parametrize(
    ("tone", "loud", "calm"),
    [
        ({"exclamation_marks_max": 0}, "Fresh Bread！", "Fresh Bread."),
        ({"emoji_max": 1}, "Bread 🍞🥖", "Bread 🍞"),
        ({"capital_words_max": 1}, "FRESH BREAD", "FRESH Bread"),
    ],
)
def test_a_tone_louder_than_the_brand_is_a_finding(judge, tone, loud, calm):
    parts = {"tone": Tone(why=WHY, **tone)}
    assert judge(parts, headline=calm) == []
    [found] = judge(parts, headline=loud)
    assert (found.rule, found.severity) == ("tone", "review")


def test_an_advertiser_may_use_its_own_marks(look_alikes, advert):

    creative = advert(headline="Official Apple Store")
    rules, fields = compile_rules(load_policy(), look_alikes), fold_fields(creative, look_alikes)
    assert [finding.rule for finding in apply_rules(rules, fields, min_age=18)] == ["borrowed-authority"]
    assert apply_rules(rules, fields, min_age=18, own_marks=[compile_exception("official apple store")]) == []


def test_the_example_brand_can_be_read():
    assert load_brand("demo-shop").advertiser == "demo-shop"
