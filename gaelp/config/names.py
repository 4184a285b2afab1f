"""Names that become files, folders or labels: what each may hold, said in words where one is refused."""

import re
from collections.abc import Callable, Iterable
from typing import Annotated

from pydantic import AfterValidator

from gaelp.config.problems import describe_value
from gaelp.errors import BadInput, ConfigError

__all__ = ["Name", "Slug", "Text", "check_name", "refuse_repeats"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME_IN_WORDS = (
    "1 to 64 of the letters A to Z and a to z, digits, '.', '_' and '-', with a letter or digit first. Rename it"
)
_SLUG = re.compile(r"(?=.{1,40}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SLUG_IN_WORDS = "1 to 40 lower-case letters and digits in words joined by '-', with a letter first. Rename it"
_TEXT = re.compile(r"\S(.*\S)?")
_TEXT_IN_WORDS = "one line of text that neither begins nor ends with a space. Give a name or a path"


def _matching(pattern: re.Pattern[str], in_words: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"saw {describe_value(text)}; allowed: {in_words}.")
        return text

    return check


_is_name = _matching(_NAME, _NAME_IN_WORDS)

# Becomes a folder, a file or a label: never leads out of its folder and needs no quoting anywhere.
Name = Annotated[str, AfterValidator(_is_name)]
Slug = Annotated[str, AfterValidator(_matching(_SLUG, _SLUG_IN_WORDS))]
Text = Annotated[str, AfterValidator(_matching(_TEXT, _TEXT_IN_WORDS))]


def check_name(name: str, place: str, *, error: type[BadInput] = ConfigError) -> str:
    """The name itself if it is a Name; else an error that begins with the place it came from, such as --name."""
    try:
        return _is_name(name)
    except ValueError as problem:
        raise error(f"{place}: {problem}") from None


def refuse_repeats(kind: str, names: Iterable[str]) -> None:
    """Raise from within a validator where two of a kind have the same name."""
    listed = list(names)
    for index, name in enumerate(listed):
        if name in listed[:index]:
            raise ValueError(f"two {kind}s are named {name!r}: every {kind} needs a name of its own")
