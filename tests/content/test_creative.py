"""The hash of a creative names exactly it."""

from gaelp.content import creative_hash


def test_any_edit_makes_another_creative_and_another_case(checker, advert):
    edits = {"headline": "Fresh Bread Every Day", "landing_url": "https://www.shop.example/b", "language": "en"}
    before = checker.check(advert())
    for field, value in edits.items():
        after = checker.check(advert(**{field: value}))
        assert after.creative_hash != before.creative_hash == creative_hash(advert())
        assert after.case != before.case
