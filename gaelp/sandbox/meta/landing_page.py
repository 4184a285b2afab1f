"""Where an advert leads: the link of a creative, and the product that it sells."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from gaelp.sandbox.meta.graph_error import GraphError, unsupported

__all__ = ["check_creative", "landing_page", "product_at"]

_LINK_DATA = frozenset({"link", "message", "name", "description", "caption", "call_to_action", "picture", "image_hash"})


def check_creative(body: Mapping[str, Any]) -> None:
    """Refuse a creative without a usable link."""
    story = body.get("object_story_spec")
    if story is not None:
        if unknown := sorted(story.keys() - {"page_id", "instagram_user_id", "link_data"}):
            raise unsupported(f"object_story_spec.{unknown[0]}", "page_id, instagram_user_id, link_data")
        if not story.get("page_id"):
            raise GraphError("object_story_spec has no page_id; name the page that advertises", blame="page_id")
        link_data = story.get("link_data")
        if not isinstance(link_data, Mapping):
            raise GraphError(f"object_story_spec.link_data must be an object; got {link_data!r}", blame="link_data")
        if unknown := sorted(link_data.keys() - _LINK_DATA):
            raise unsupported(f"link_data.{unknown[0]}", ", ".join(sorted(_LINK_DATA)))
    product_at(landing_page(body))


def landing_page(body: Mapping[str, Any]) -> str:
    """The link of a creative; an error if it has none."""
    link_data = (body.get("object_story_spec") or {}).get("link_data") or {}
    for link in (link_data.get("link"), body.get("link_url"), body.get("object_url")):
        if isinstance(link, str) and link:
            return link
    raise GraphError(
        "the creative has no link; give object_story_spec.link_data.link, link_url or object_url", blame="link"
    )


def product_at(link: str) -> str:
    """Host and path of a landing page, in lower case and without a slash at the end."""
    try:
        parts = urlsplit(link)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise GraphError(f"link must be a URL such as https://shop.example/bread; got {link[:80]!r}", blame="link")
    return f"{host}{parts.path.rstrip('/')}".lower()
