"""The file of rejected rows: file, line, reason and redacted text; it exists only if a row was rejected."""

import csv
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from gaelp.config.private_files import make_private_folder
from gaelp.importing.bad_rows import BadRow
from gaelp.importing.redaction import redact_text

__all__ = ["DeadLetters", "dead_letters"]

_READ_CHARACTERS = 4_000
_SHOWN_CHARACTERS = 2_000


class DeadLetters:
    """Writes rejected rows as they are found."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self._file: TextIO | None = None

    def add(self, file_name: str, rows: Iterable[BadRow]) -> None:
        """Append these rows of a file."""
        for row in rows:
            csv.writer(self._opened(), lineterminator="\n").writerow(
                (file_name, row.line, row.reason, _shown(row.text))
            )
            self.rows += 1

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> TextIO:
        if self._file is None:
            make_private_folder(self.path.parent)
            handle = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
            self._file = os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="")
            csv.writer(self._file, lineterminator="\n").writerow(("file", "line", "reason", "text"))
        return self._file


@contextmanager
def dead_letters(path: Path) -> Iterator[DeadLetters]:
    """The file of rejected rows of one import."""
    letters = DeadLetters(path)
    try:
        yield letters
    finally:
        letters.close()


def _shown(text: str) -> str:
    """The beginning of a row without personal data; a word that is cut in two is dropped."""
    if len(text) > _READ_CHARACTERS:
        text = text[:_READ_CHARACTERS].rpartition(" ")[0]
    text = redact_text(text.replace("\0", "\\0"))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
