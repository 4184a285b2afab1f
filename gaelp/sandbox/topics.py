"""Which topic of a product a keyword reaches: any text maps to one of eight topics, and each topic has texts."""

import hashlib
import itertools
import re
from collections.abc import Iterator

from gaelp.errors import BadInput

__all__ = ["TOPICS", "keywords_for", "topic_of"]

TOPICS = 8  # of every product
_MARKS = re.compile(r"[^\w\s]+")
_QUALITIES = (
    "",
    "best",
    "buy",
    "cheap",
    "compare",
    "local",
    "new",
    "online",
    "premium",
    "same day",
    "top rated",
    "used",
)
_THINGS = (
    "offers",
    "deals",
    "prices",
    "reviews",
    "shop",
    "store",
    "brands",
    "delivery",
    "gifts",
    "ideas",
    "guide",
    "sale",
)
_PLACES = ("", "near me", "today", "for beginners", "with free delivery", "this week")


def topic_of(keyword: str) -> int:
    """The topic, from 0, that searches for this text belong to; case, match marks and extra spaces do not matter."""
    words = " ".join(_MARKS.sub(" ", keyword.casefold()).split())
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest(), "big") % TOPICS


def keywords_for(topic: int, count: int = 3, about: str = "") -> tuple[str, ...]:
    """Keyword texts that reach this topic, the same ones each time; `about` is put into each text, such as `shoes`."""
    if not 0 <= topic < TOPICS:
        raise BadInput(f"saw topic {topic}; a product has the topics 0 to {TOPICS - 1}")
    texts = tuple(itertools.islice((text for text in _texts(about) if topic_of(text) == topic), count))
    if len(texts) < count:
        raise BadInput(f"saw count={count}; there are {len(texts)} texts for topic {topic}: ask for at most as many")
    return texts


def _texts(about: str) -> Iterator[str]:
    for place, quality, thing in itertools.product(_PLACES, _QUALITIES, _THINGS):
        yield " ".join(f"{quality} {about} {thing} {place}".split())
