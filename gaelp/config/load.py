"""Load any YAML file into its model, with errors that name file, line, key, what was seen and what is allowed."""

from pathlib import Path
from typing import TypeVar

from gaelp.config.base import Frozen
from gaelp.config.document import read_document
from gaelp.config.file_kind import check_kind
from gaelp.config.places import find_file
from gaelp.config.secret_sources import hide_secrets
from gaelp.config.validation import validated
from gaelp.errors import BadInput, ConfigError

__all__ = ["load_model"]

Model = TypeVar("Model", bound=Frozen)


def load_model(
    model: type[Model], path_or_name: str | Path, folder: str | Path = "", *, error: type[BadInput] = ConfigError
) -> Model:
    """One YAML file as a model.

    A path (a Path, or text with a slash or ending in .yaml) is read as it is; a name is looked up as
    configs/<folder>/<name>.yaml, in the current folder and then beside the package.
    """
    document = read_document(find_file(path_or_name, folder, error=error), error=error)
    check_kind(model, document, error=error)
    values, secrets = hide_secrets(model, document.values, document.place)
    return validated(model, values, document.place, earlier=[*document.problems, *secrets], error=error)
