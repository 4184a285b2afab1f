"""Problems that a model finds across its keys, told at the key to change and in words of our own."""

from collections.abc import Sequence
from typing import NoReturn

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from gaelp.config.problems import KeyPath

__all__ = ["OWN_WORDS", "refuse_at"]

OWN_WORDS = "own_words"


def refuse_at(problems: Sequence[tuple[KeyPath, str]]) -> NoReturn:
    """Raise from within a validator: each text is told at its key path, counted from the model that refuses."""
    raise ValidationError.from_exception_data(
        "configuration",
        [
            InitErrorDetails(type=PydanticCustomError(OWN_WORDS, "{text}", {"text": text}), loc=path, input=None)
            for path, text in problems
        ],
    )
