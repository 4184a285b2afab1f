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
    ],
)
def test_an_advert_leads_where_it_says_and_stays_at_home(advert, display, landing, findings):
    found = check_destination(advert(display_url=display, landing_url=landing), BRAND)
    assert len(found) == findings
    assert all(one.severity == "block" for one in found)
