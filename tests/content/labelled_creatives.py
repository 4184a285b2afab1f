"""Creatives with known labels: clean_copy.txt, violations.txt, and seeded disguises of the latter.

Every third text, with all its disguises, is held out and counted apart: what was fitted to the others shows there.
"""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaelp.content import Audience, Creative

HERE = Path(__file__).resolve().parent
SEED = 20_240_131
DISGUISES_EACH = 2

Part = Literal["tuning", "held-out"]
Disguise = Callable[[str, random.Random], str]


@dataclass(frozen=True)
class Labelled:
    """A creative, the category of what is forbidden in it ("" if nothing), and how that was disguised."""

    creative: Creative
    category: str
    disguise: str
    part: Part


def labelled_creatives() -> list[Labelled]:
    """The whole set, the same at every call."""
    return [*_clean(), *_violating()]


# Disguises: each takes the forbidden words and returns them as an evader would write them.

LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7", "l": "1", "b": "8", "g": "9"}
HOMOGLYPHS = {
    "a": "аα",
    "c": "сϲ",
    "e": "еε",
    "i": "іι",
    "k": "к",
    "n": "ո",
    "o": "оο",
    "p": "рρ",
    "s": "ѕ",
    "x": "х",
    "y": "у",
}
INVISIBLE = "\u200b\u200c\u200d\u2060\u00ad\u202e"


def leet(text: str, rng: random.Random) -> str:
    """At most every second letter that has one becomes a digit or a sign."""
    places = [place for place, one in enumerate(text) if one.lower() in LEET]
    chosen = set(rng.sample(places, min(len(places), max(1, sum(map(str.isalpha, text)) // 3))))
    return "".join(rng.choice(LEET[one.lower()]) if place in chosen else one for place, one in enumerate(text))


def homoglyphs(text: str, rng: random.Random) -> str:
    return "".join(
        rng.choice(HOMOGLYPHS[character.lower()]) if character.lower() in HOMOGLYPHS else character
        for character in text
    )


def zero_width(text: str, rng: random.Random) -> str:
    return "".join(character + rng.choice(INVISIBLE) for character in text)


def spaced(text: str, rng: random.Random) -> str:
    return " ".join(text) if rng.random() < 0.5 else "  ".join(" ".join(word) for word in text.split())


def signs(text: str, rng: random.Random) -> str:
    sign = rng.choice([".", "-", "*", "_", "·", "🔥"])
    return " ".join(sign.join(word) for word in text.split())


def mixed_case(text: str, rng: random.Random) -> str:
    return "".join(rng.choice([character.upper(), character.lower()]) for character in text)


def repeated(text: str, rng: random.Random) -> str:
    letters = [place for place, one in enumerate(text) if one.isalpha()]
    chosen = rng.choice(letters)
    return text[:chosen] + text[chosen] * rng.randint(3, 5) + text[chosen + 1 :]


def fullwidth(text: str, rng: random.Random) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)


def mathematical(text: str, rng: random.Random) -> str:
    start = rng.choice([0x1D41A, 0x1D4EA, 0x1D5BA])
    return "".join(chr(start + ord(one.lower()) - ord("a")) if one.isascii() and one.isalpha() else one for one in text)


def joined(text: str, rng: random.Random) -> str:
    before, after = rng.choice(["Get", "Best", "My"]), rng.choice(["Now", "Here", ""])
    return before + "".join(word[:1].upper() + word[1:].lower() for word in text.split()) + after


def entities(text: str, rng: random.Random) -> str:
    forms = ("&#{0};", "&#x{0:x};", "&#{0:05d}")
    return "".join(
        rng.choice(forms).format(ord(character)) if character.isalpha() and rng.random() < 0.4 else character
        for character in text
    )


def tags(text: str, rng: random.Random) -> str:
    place = rng.randint(1, len(text) - 1)
    return text[:place] + rng.choice(["<b>{}</b>", "<!-- x -->{}", '<i class="x">{}</i>']).format(text[place:])


def percent(text: str, rng: random.Random) -> str:
    return "".join(
        f"%{ord(character):02x}" if character.isalpha() and rng.random() < 0.4 else character for character in text
    )


DISGUISES: dict[str, Disguise] = {
    "leet": leet,
    "homoglyphs": homoglyphs,
    "zero-width": zero_width,
    "spaced": spaced,
    "signs": signs,
    "mixed case": mixed_case,
    "repeated": repeated,
    "fullwidth": fullwidth,
    "mathematical": mathematical,
    "joined": joined,
    "entities": entities,
    "tags": tags,
    "percent": percent,
}


def _clean() -> Iterator[Labelled]:
    for number, cells in enumerate(_rows("clean_copy.txt")):
        _, headline, description, page, *age = cells
        creative = _creative(f"clean-{number}", headline, description, page, int(age[0]) if age else 18)
        yield Labelled(creative, "", "", _part(number))


def _violating() -> Iterator[Labelled]:
    rng = random.Random(SEED)  # noqa: S311 - it disguises words, it keeps no secret
    for number, (category, headline, description) in enumerate(_rows("violations.txt")):
        names = rng.sample(sorted(DISGUISES), DISGUISES_EACH)
        for disguise in ("", *names):
            texts = [_disguised(text, disguise, rng) for text in (headline, description)]
            page = re.sub(r"\[\[.*?\]\]", "", f"{headline} {description}")
            creative = _creative(f"{category}-{number}-{disguise or 'plain'}", *texts, page, 18)
            yield Labelled(creative, category, disguise or "plain", _part(number))


def _disguised(text: str, disguise: str, rng: random.Random) -> str:
    return re.sub(r"\[\[(.*?)\]\]", lambda found: DISGUISES[disguise](found[1], rng) if disguise else found[1], text)


def _part(number: int) -> Part:
    return "held-out" if number % 3 == 2 else "tuning"


def _rows(name: str) -> list[list[str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.split(" | ")] for line in lines if line and not line.startswith("#")]


def _creative(name: str, headline: str, description: str, page: str, min_age: int) -> Creative:
    return Creative(
        id=name,
        advertiser="demo-shop",
        headline=headline,
        description=description,
        call_to_action="Learn more",
        display_url="www.shop.example",
        landing_url="https://www.shop.example/offer",
        landing_text=page,
        language="en",
        audience=Audience(min_age=min_age),
    )
