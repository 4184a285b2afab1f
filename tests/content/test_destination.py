import pytest

from gaelp.content.destination import check_destination, host_of
from gaelp.content.policy import Brand

BRAND = Brand(advertiser="demo-shop", allowed_domains=("shop.example",), why="a reason")


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.Shop.example/path?x=1", "www.shop.example"),
        ("shop.example/path", "shop.example"),
        ("shop.example.", "shop.example"),
        ("https://shop.example@evil.example", ""),
        ("javascript:alert(1)", ""),
        ("ftp://shop.example", ""),
        ("https://ѕhop.example", ""),
        ("https://127.0.0.1/x", ""),
        ("https://[::1", ""),
        ("https://shop.example:port", ""),
        ("shop.example/r?u=https://evil.test", "shop.example"),
        ("not an address", ""),
        ("", ""),
    ],
)
def test_the_host_is_read_only_from_a_plain_address(url, host):
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("display", "landing", "findings"),
    [
        ("shop.example", "https://www.shop.example/bread", 0),
        ("www.shop.example", "https://m.shop.example", 0),
        ("shop.example", "https://shop.example.evil.test", 2),
        ("shop.example", "https://notshop.example", 2),
        ("evil.test", "https://evil.test", 2),
        ("shop.example", "https://xn--shp-bna.shop.example", 1),
        ("shop.example", "javascript:alert(1)", 1),
        ("shop.example", "//www.shop.example/bread", 1),
        ("shop.example", "www.shop.example", 1),
        ("shop.example", "https://www.shop.example/br\tead", 1),
        ("shop.example", "https://www.sh\top.example/bread", 1),
        ("shop.example", "https://www.shop.example/bread\x00", 1),
        ("shop.example", "https://www.shop.example/br\u200bead", 1),
        ("shop\t.example", "https://www.shop.example/bread", 1),
    ],
)
def test_an_advert_leads_where_it_says_and_stays_at_home(advert, display, landing, findings):
    found = check_destination(advert(display_url=display, landing_url=landing), BRAND)
    assert len(found) == findings
    assert all(one.severity == "block" for one in found)


@pytest.mark.parametrize(
    "landing",
    [
        "http://www.shop.example/bread",
        "https://www.shop.example:8443/bread",
        "https://www.shop.example:80/bread",
        "https://www.shop.example/r?u=https://evil.test",
        "https://www.shop.example/r?u=https%3A%2F%2Fevil.test%2Fx",
        "https://www.shop.example/r?u=https%253A%252F%252Fevil.test",
        "https://www.shop.example/r?u=//evil.test",
        "https://www.shop.example/r?u=https:/evil.test",
        "https://www.shop.example/r?x=1&url=evil.test/x",
        "https://www.shop.example/r/https://evil.test",
        "https://www.shop.example/r?u=https://shop.example@evil.test",
        "https://www.shop.example/r?u=//shop.example@evil.test",
        "https://www.shop.example/r?u=https://127.0.0.1/",
        "https://www.shop.example/r?u=https://evil.test;.shop.example",
        "https://www.shop.example/#//evil.test",
        "https://www.shop.example/r?u=https://notshop.example",
    ],
)
@pytest.mark.parametrize("brand", [BRAND, None])
def test_an_address_that_may_lead_elsewhere_or_can_be_changed_on_the_way_waits_for_a_person(advert, landing, brand):
    [found] = check_destination(advert(landing_url=landing), brand)
    assert (found.rule, found.severity, found.field) == ("destination", "review", "landing_url")


@pytest.mark.parametrize(
    "landing",
    [
        "https://www.shop.example:443/bread",
        "https://www.shop.example/bread//rolls?size=2//3",
        "https://www.shop.example/login?next=https://m.shop.example/bread",
        "https://www.shop.example/login?next=/bread&link=photo.jpg&url=page.html",
        "https://www.shop.example/?utm_source=newsletter&email=anna@mail.test",
        "https://www.shop.example/class-action?at=10:30",
    ],
)
def test_an_honest_query_is_left_alone(advert, landing):
    assert check_destination(advert(landing_url=landing), BRAND) == []
