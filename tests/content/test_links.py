"""Addresses in the advert's own words."""

import time

import pytest

from gaelp.content.links import check_links
from gaelp.content.policy import load_brand, load_policy

FIELDS = ["headline", "description", "call_to_action"]


@pytest.fixture(scope="module")
def policy():
    return load_policy()


@pytest.fixture(scope="module")
def brand():
    return load_brand("demo-shop")


@pytest.fixture
def links(advert, brand, policy, look_alikes):
    """The excerpts of foreign addresses in a text of the advert."""
    return lambda text, field="headline": [
        one.excerpt for one in check_links(advert(**{field: text}), brand, policy, look_alikes)
    ]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("see http://evil.example/x", "http://evil.example"),
        ("[bread](http://evil.example)", "http://evil.example"),
        ("evil.example/x", "evil.example"),
        ("Go to Evil.Example.", "Evil.Example"),
        ("www.evil.anything", "www.evil.anything"),
        ("EVIL.CO.UK", "EVIL.CO.UK"),
        ("t.me/x", "t.me"),
        ("mail me@evil.com", "evil.com"),
        ("evil[.]com", "evil[.]com"),
        ("evil(dot)com", "evil(dot)com"),
        ("evil。com", "evil。com"),
        ("e\u200bvil．com", "e\u200bvil．com"),
        ("evil%2Ecom", "evil%2Ecom"),
        ("...evil.com", "evil.com"),
        ("_evil.com_", "evil.com"),
        ("http://10.0.0.1/x", "http://10.0.0.1"),
        ("10.0.0.1/x", "10.0.0.1"),
        ("https:evil.com", "evil.com"),
        ("mailto:me@shop.example", "mailto:me@shop.example"),
    ],
)
def test_a_foreign_address_in_the_text_is_found(links, field, text, excerpt):
    assert links(text, field) == [excerpt]


@pytest.mark.parametrize(
    "text",
    [
        "shop.example.evil.com",
        "notshop.example",
        "shop.example-evil.com",
        "https://shop.example@evil.com",
        "shop.example@evil.com",
        "shop.example..evil.com",
        "ѕһор.example",
    ],
)
def test_an_address_that_only_looks_like_the_advertisers_is_foreign(links, text):
    assert len(links(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Order at shop.example",
        "WWW.SHOP.EXAMPLE/bread",
        "https://m.shop.test/x?y=1",
        "hi@shop.example",
        "Open 9.am, 24.12. to 1.1.",
        "Sold until noon.In stock, e.g. rolls",
        "M.Sc. and Ph.D. gowns, U.K. sizes",
        "Node.js, 4.5kg, No.1, v2.0.1, etc.",
        "St.Ives and Mr.Smith...and more",
    ],
)
def test_the_advertisers_own_address_and_plain_full_stops_pass(links, text):
    assert links(text) == []


def test_a_foreign_address_waits_for_a_person(checker, advert):
    verdict = checker.check(advert(call_to_action="Order: evil.example"))
    [found] = verdict.findings
    assert (verdict.outcome, found.rule, found.field) == ("review", "foreign-link", "call_to_action")
    assert "allowed: shop.example, shop.test" in found.why


def test_without_brand_rules_only_the_landing_host_is_at_home(advert, policy, look_alikes):
    creative = advert(headline="shop.example, shop.test")
    assert [one.excerpt for one in check_links(creative, None, policy, look_alikes)] == ["shop.test"]
    nowhere = advert(headline="shop.example", landing_url="")
    assert "are not known" in check_links(nowhere, None, policy, look_alikes)[0].why


@pytest.mark.parametrize("bait", ["a", "a.", "a-", "a.-", "http:", "www.", "a[.]", "-_a"])
def test_no_text_makes_the_search_for_addresses_slow(links, bait):
    started = time.process_time()
    links(bait * (5_000 // len(bait)), "description")
    assert time.process_time() - started < 2
