"""A creative as a responsive search ad: only texts of the creative itself, which people have approved."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from gaelp.content import Creative, creative_hash
from gaelp.errors import Refused
from gaelp.platforms.google_ads.connection import AdsConnection

__all__ = ["HASH_PARAMETER", "fill_search_ad", "hash_of_ad"]

HASH_PARAMETER = "gaelp"  # a custom parameter of the advert; it carries the creative's hash

_FEWEST_HEADLINES, _MOST_HEADLINES = 3, 15
_FEWEST_DESCRIPTIONS, _MOST_DESCRIPTIONS = 2, 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*\|\s*")


def fill_search_ad(connection: AdsConnection, ad: Any, creative: Creative) -> None:
    """Fill an `Ad` message with the texts, the landing page and the hash of a creative; Refused if it lacks texts."""
    headlines, descriptions = _headlines(creative), _descriptions(creative)
    for what, texts, fewest in (
        ("headlines", headlines, _FEWEST_HEADLINES),
        ("descriptions", descriptions, _FEWEST_DESCRIPTIONS),
    ):
        if len(texts) < fewest:
            raise Refused(
                f"creative {creative.id} has {len(texts)} {what}, a responsive search ad needs {fewest}: separate them"
                " with | in its headline or description, or fill in call_to_action and advertiser"
            )
    if not creative.landing_url:
        raise Refused(f"creative {creative.id} has no landing_url, and an advert leads somewhere: give one")
    ad.final_urls.append(creative.landing_url)
    for kind, texts in (("headlines", headlines), ("descriptions", descriptions)):
        for text in texts:
            asset = connection.message("AdTextAsset")
            asset.text = text
            getattr(ad.responsive_search_ad, kind).append(asset)
    parameter = connection.message("CustomParameter")
    parameter.key, parameter.value = HASH_PARAMETER, creative_hash(creative)
    ad.url_custom_parameters.append(parameter)


def hash_of_ad(ad: Any) -> str | None:
    """The hash of the creative that an advert shows; None if GAELP did not publish it."""
    return next((str(each.value) for each in ad.url_custom_parameters if each.key == HASH_PARAMETER), None)


def _headlines(creative: Creative) -> list[str]:
    host = (urlsplit(creative.landing_url).hostname or "").removeprefix("www.")
    texts = (*creative.headline.split("|"), creative.call_to_action, creative.advertiser, creative.display_url or host)
    return _distinct(texts)[:_MOST_HEADLINES]


def _descriptions(creative: Creative) -> list[str]:
    return _distinct(_SENTENCE.split(creative.description))[:_MOST_DESCRIPTIONS]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts if text.strip()))
