"""Checks of adverts: responsive search ads with their texts and landing pages, and names of labels."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from gaelp.sandbox.google.account_store import AccountStore
from gaelp.sandbox.google.failures import AdsError, FieldPath, Unsupported
from gaelp.sandbox.google.messages import Message

__all__ = ["check_ad_group_ad", "check_label"]

_HEADLINES, _DESCRIPTIONS = (3, 15), (2, 4)  # fewest and most
_HEADLINE_LENGTH, _DESCRIPTION_LENGTH, _PATH_LENGTH, _LABEL_LENGTH = 30, 90, 15, 80


def check_ad_group_ad(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """An advert in an ad group."""
    ad = message.ad
    kind = ad.WhichOneof("ad_data")
    if kind is None:
        yield AdsError("field_error", "REQUIRED", "The advert has no content.", (("ad", None), ("ad_data", None)))
        return
    if kind != "responsive_search_ad":
        raise Unsupported(f"adverts of type {kind}: this sandbox serves responsive_search_ad")
    yield from _check_urls(ad.final_urls)
    content, path = ad.responsive_search_ad, (("ad", None), ("responsive_search_ad", None))
    yield from _check_texts(content.headlines, (*path, ("headlines", None)), _HEADLINES, _HEADLINE_LENGTH)
    yield from _check_texts(content.descriptions, (*path, ("descriptions", None)), _DESCRIPTIONS, _DESCRIPTION_LENGTH)
    if content.path2 and not content.path1:
        yield AdsError("ad_error", "CANNOT_SET_PATH2_WITHOUT_PATH1", "path2 needs path1.", (*path, ("path2", None)))
    for name in ("path1", "path2"):
        yield from _check_length(getattr(content, name), (*path, (name, None)), _PATH_LENGTH)


def _check_urls(urls: Sequence[str]) -> Iterator[AdsError]:
    path: FieldPath = (("ad", None), ("final_urls", None))
    if not urls:
        yield AdsError("field_error", "REQUIRED_NONEMPTY_LIST", "An advert needs a final URL.", path)
    for index, url in enumerate(urls):
        place: FieldPath = (("ad", None), ("final_urls", index))
        parts = urlsplit(url)
        if not parts.scheme or "://" not in url:
            yield AdsError("url_field_error", "MISSING_PROTOCOL_IN_FINAL_URL", f"'{url}' has no protocol.", place, url)
        elif parts.scheme not in {"http", "https"}:
            yield AdsError(
                "url_field_error", "INVALID_PROTOCOL_IN_FINAL_URL", f"'{url}' is neither http nor https.", place, url
            )
        elif not parts.hostname:
            yield AdsError("url_field_error", "MISSING_HOST_IN_FINAL_URL", f"'{url}' has no host.", place, url)


def _check_texts(assets: Sequence[Message], path: FieldPath, count: tuple[int, int], length: int) -> Iterator[AdsError]:
    fewest, most = count
    name = path[-1][0]
    if not fewest <= len(assets) <= most:
        code = "TOO_FEW" if len(assets) < fewest else "TOO_MANY"
        text = f"A responsive search ad has {fewest} to {most} {name}, not {len(assets)}."
        yield AdsError("collection_size_error", code, text, path)
    for index, asset in enumerate(assets):
        yield from _check_length(asset.text, (*path[:-1], (name, index), ("text", None)), length)
    texts = [asset.text for asset in assets]
    if len(set(texts)) < len(texts):
        yield AdsError("asset_error", "DUPLICATE_ASSET", f"Two {name} are the same.", path)


def _check_length(text: str, path: FieldPath, length: int) -> Iterator[AdsError]:
    if len(text) > length:
        problem = f"'{text}' has {len(text)} characters, more than {length}."
        yield AdsError("string_length_error", "TOO_LONG", problem, path, text)


def check_label(message: Message, _before: Message | None, _store: AccountStore) -> Iterator[AdsError]:
    """The name of a label."""
    if len(message.name) > _LABEL_LENGTH:
        text = f"A label's name has at most {_LABEL_LENGTH} characters, not {len(message.name)}."
        yield AdsError("label_error", "INVALID_LABEL_NAME", text, (("name", None),), message.name)
