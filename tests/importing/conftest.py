"""Import into memory, with what a test needs to look at afterwards."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from gaelp.importing.file_import import ImportTerms, import_files
from gaelp.importing.row_source import named_after_content, open_file
from gaelp.types import Phase
from tests.importing.memory_store import MemoryStore


@dataclass
class Importer:
    folder: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    alerts: list = field(default_factory=list)

    @property
    def letters_path(self):
        return self.folder / "letters.csv"

    @property
    def letters(self):
        return self.letters_path.read_text() if self.letters_path.exists() else ""

    def write(self, text, name="log.csv"):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *paths, file_format="columns", mapping=None, **terms):
        given = {"campaign": "spring", "account": "a-1", "at": date(2024, 1, 31)} | terms
        return import_files(
            [named_after_content(open_file(path, file_format, mapping), path) for path in paths],
            ImportTerms(phase=Phase.HISTORY, key=b"a key of one home", now=datetime(2026, 1, 1, tzinfo=UTC), **given),
            self.store,
            work_folder=self.folder / "work",
            letters_path=self.letters_path,
            alert=self.alerts.append,
        )

    def rows(self, table):
        return self.store.tables[table].to_pylist()


@pytest.fixture
def importer(tmp_path):
    return Importer(tmp_path)
