"""Problems that a model finds across its keys, reported at the key to change with a message of ours."""

from collections.abc import Sequence
from typing import NoReturn

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from gaelp.config.problems import KeyPath

__all__ = ["CUSTOM_MESSAGE", "refuse_at"]

CUSTOM_MESSAGE = "custom_message"


def refuse_at(problems: Sequence[tuple[KeyPath, str]]) -> NoReturn:
    """Raise from within a validator: each text is reported at its key path, counted from the model that refuses."""
    raise ValidationError.from_exception_data(
        "configuration",
        [
            InitErrorDetails(type=PydanticCustomError(CUSTOM_MESSAGE, "{text}", {"text": text}), loc=path, input=None)
            for path, text in problems
        ],
    )
